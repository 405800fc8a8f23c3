#include "dump/dump_writer.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "dump/header.hpp"
#include "dump/layout.hpp"

namespace drift {
namespace {

/// Offsets filled in, in the given order, and everything checked that the reader checks.
std::vector<TensorInfo> placed(const std::string& path, std::span<const TensorSpec> tensors) {
  std::vector<TensorInfo> out;
  std::uint64_t at = 0;
  for (const TensorSpec& spec : tensors) {
    TensorInfo info{.name = spec.name, .dtype = spec.dtype, .shape = spec.shape};
    std::uint64_t elements = 1;
    for (const std::int64_t size : spec.shape) elements *= static_cast<std::uint64_t>(size);
    const std::uint64_t size = elements * static_cast<std::uint64_t>(bits(spec.dtype)) / 8;
    const std::string why = place_tensor(info, at, at + size);  // does the products again, checked
    require(why.empty(), Fault::internal, path + ": tensor " + spec.name + ": " + why);
    at += size;
    out.push_back(std::move(info));
  }
  return out;
}

std::string header_text(const std::string& path, std::span<const TensorInfo> tensors,
                        const Metadata& metadata) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  if (!metadata.empty()) json["__metadata__"] = metadata;
  for (const TensorInfo& tensor : tensors)
    json[tensor.name] = {{"dtype", name(tensor.dtype)},
                         {"shape", tensor.shape},
                         {"data_offsets", {tensor.offset, tensor.offset + tensor.bytes}}};
  std::string text = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // data starts aligned
  const std::size_t kept = parse_header(path, text).tensors.size();
  require(kept == tensors.size(), Fault::internal, path + ": two tensors to write have the same name");
  return text;
}

}  // namespace

DumpWriter::DumpWriter(const std::string& path, std::span<const TensorSpec> tensors, const Metadata& metadata)
    : file_(path) {
  const std::vector<TensorInfo> infos = placed(path, tensors);
  const std::string text = header_text(path, infos, metadata);
  if (!infos.empty()) missing_ = infos.back().offset + infos.back().bytes;
  const std::uint64_t length = text.size();
  file_.need(static_cast<std::int64_t>(sizeof length + length) + missing_);
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(std::as_bytes(std::span(text)));
}

void DumpWriter::append(std::span<const std::byte> bytes) {
  missing_ -= static_cast<std::int64_t>(bytes.size());
  require(missing_ >= 0, Fault::internal, "DumpWriter: more bytes than the tensors have");
  file_.write(bytes);
}

void DumpWriter::commit() {
  require(missing_ == 0, Fault::internal,
          "DumpWriter: " + std::to_string(missing_) + " bytes were never written");
  file_.commit();
}

void write_dump(const std::string& path, std::span<const TensorData> tensors, const Metadata& metadata) {
  std::vector<TensorData> sorted(tensors.begin(), tensors.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const TensorData& a, const TensorData& b) { return bits(a.dtype) > bits(b.dtype); });
  std::vector<TensorSpec> specs;
  for (const TensorData& tensor : sorted) specs.push_back({tensor.name, tensor.dtype, tensor.shape});
  const std::vector<TensorInfo> infos = placed(path, specs);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    require(static_cast<std::int64_t>(sorted[i].bytes.size()) == infos[i].bytes, Fault::internal,
            path + ": tensor " + specs[i].name + ": bytes do not match the shape");
  DumpWriter writer(path, specs, metadata);
  for (const TensorData& tensor : sorted) writer.append(tensor.bytes);
  writer.commit();
}

}  // namespace drift
