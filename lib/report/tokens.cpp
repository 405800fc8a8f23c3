#include "report/tokens.hpp"

#include <numeric>
#include <set>

#include "base/error.hpp"
#include "dump/dump_file.hpp"
#include "dump/dump_writer.hpp"

namespace drift {
namespace {

template <class T>
TensorData tensor(const std::string& name, Dtype dtype, std::span<const T> values, std::size_t rows) {
  require(values.size() == rows, Fault::internal,
          "tokens: column " + name + " has " + std::to_string(values.size()) + " rows, wanted " +
              std::to_string(rows));
  return {name, dtype, {static_cast<std::int64_t>(rows)}, std::as_bytes(values)};
}

template <class T>
std::vector<T> column(const DumpFile& file, const std::string& name, Dtype dtype, std::int64_t rows) {
  const TensorInfo* info = file.find(name);
  require(info != nullptr, Fault::input,
          file.path() + ": has no tensor '" + name + "': not the tokens of a report");
  require(info->dtype == dtype && info->shape == std::vector<std::int64_t>{rows}, Fault::input,
          file.path() + ": tensor '" + name + "' is not " + std::string(drift::name(dtype)) + " [" +
              std::to_string(rows) + "]: not the tokens of a report");
  std::vector<T> out(static_cast<std::size_t>(rows));
  file.read(info->offset, std::as_writable_bytes(std::span(out)));
  return out;
}

}  // namespace

void write_tokens(const std::string& path, const TokenColumns& columns) {
  const std::size_t rows = columns.active.size();
  std::vector<std::int64_t> row(rows);
  std::iota(row.begin(), row.end(), std::int64_t{0});
  std::vector<TensorData> tensors{tensor<std::int64_t>("row", Dtype::I64, row, rows),
                                  tensor("active", Dtype::BOOL, columns.active, rows)};
  if (!columns.target.empty()) tensors.push_back(tensor("target", Dtype::I64, columns.target, rows));
  if (!columns.owner.empty()) tensors.push_back(tensor("owner", Dtype::I32, columns.owner, rows));
  std::set<std::string> taken{"row", "active", "target", "owner"};
  for (const auto& [name, values] : columns.values) {
    std::string free = name;
    while (!taken.insert(free).second) free = "recorded." + free;
    tensors.push_back(tensor(free, Dtype::F32, values, rows));
  }
  write_dump(path, tensors);
}

TokenTable read_tokens(const std::string& path) {
  const DumpFile file = DumpFile::open(path);
  const TensorInfo* first = file.find("active");
  require(first != nullptr && first->shape.size() == 1, Fault::input,
          path + ": has no row of flags 'active': not the tokens of a report");
  const std::int64_t rows = first->shape[0];
  TokenTable out;
  out.active = column<std::uint8_t>(file, "active", Dtype::BOOL, rows);
  if (file.find("target") != nullptr) out.target = column<std::int64_t>(file, "target", Dtype::I64, rows);
  if (file.find("owner") != nullptr) out.owner = column<std::int32_t>(file, "owner", Dtype::I32, rows);
  for (const TensorInfo& info : file.tensors())
    if (info.dtype == Dtype::F32)
      out.values.emplace_back(info.name, column<float>(file, info.name, Dtype::F32, rows));
  return out;
}

}  // namespace drift
