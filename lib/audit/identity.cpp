#include "audit/identity.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <string_view>

#include "base/error.hpp"
#include "dump/columns.hpp"
#include "dump/text.hpp"

namespace drift {
namespace {

constexpr std::array<std::string_view, 4> metadata_keys{"policy_version", "checkpoint", "tokenizer",
                                                        "sequence_ids"};
constexpr std::array<std::string_view, 12> row_keys{
    "sequence_ids", "sequence_id",     "sample_ids", "sample_index", "sample_indices", "request_ids",
    "position_ids", "global_position", "input_ids",  "token_ids",    "tokens",         "responses"};

/// The files of a run, the dump first, each once.
std::vector<const DumpFile*> files_of(const Case& run, const DumpFile& dump) {
  std::vector<const DumpFile*> out{&dump};
  for (const Recorded& recorded : run.roles.recorded)
    if (recorded.other && std::find(out.begin(), out.end(), recorded.other.get()) == out.end())
      out.push_back(recorded.other.get());
  return out;
}

[[noreturn]] void refuse(const DumpFile& a, const DumpFile& b, const std::string& why) {
  throw Error(Fault::input, "not comparable: " + a.shown_path() + " and " + b.shown_path() + " " + why);
}

/// A column of whole numbers that two files both have. `use` of another length than the column (one value a
/// sequence, say), or empty: every element counts.
void compare_numbers(const DumpFile& a, const DumpFile& b, const std::string& what,
                     std::vector<std::int64_t> first, std::vector<std::int64_t> second,
                     const std::vector<std::uint8_t>& use) {
  if (first.size() != second.size())
    refuse(a, b,
           "have " + std::to_string(first.size()) + " and " + std::to_string(second.size()) + " " + what);
  std::int64_t differ = 0, row = -1;
  for (std::size_t r = 0; r < first.size(); ++r) {
    if (use.size() == first.size() && !use[r]) {
      first[r] = second[r] = 0;  // not looked at
      continue;
    }
    if (first[r] != second[r] && differ++ == 0) row = static_cast<std::int64_t>(r);
  }
  if (differ == 0) return;
  const auto at = static_cast<std::size_t>(row);
  const std::string where = "first in row " + std::to_string(row) + ": " + std::to_string(first[at]) +
                            " and " + std::to_string(second[at]);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  if (first == second)
    refuse(a, b,
           "hold the same " + what +
               " in another order: a permutation of rows (different CP layout, sort or shuffle?), " + where);
  refuse(a, b, "differ in " + std::to_string(differ) + " " + what + " (not the same tokens), " + where);
}

bool is_whole(const TensorInfo& tensor) {
  switch (tensor.dtype) {
    case Dtype::U8:
    case Dtype::I8:
    case Dtype::U16:
    case Dtype::I16:
    case Dtype::U32:
    case Dtype::I32:
    case Dtype::I64: return true;
    default: return false;
  }
}

/// Files of which something was compared with another's.
using Witnessed = std::set<const DumpFile*>;

/// Compares `find`'s tensor of each file with that of the first file that has one.
void compare_where_both(const std::vector<const DumpFile*>& files, const std::string& what,
                        const std::function<std::optional<TensorInfo>(const DumpFile&)>& find,
                        const std::vector<std::uint8_t>& use, Witnessed& witnessed) {
  const DumpFile* first = nullptr;
  std::vector<std::int64_t> values;
  for (const DumpFile* file : files) {
    const std::optional<TensorInfo> tensor = find(*file);
    if (!tensor) continue;
    if (first == nullptr) {
      first = file;
      values = read_integers(*file, *tensor);
    } else {
      compare_numbers(*first, *file, what, values, read_integers(*file, *tensor), use);
      witnessed.insert({first, file});
    }
  }
}

std::optional<TensorInfo> targets_of(const Case& run, const DumpFile& dump, const DumpFile& file) {
  const TensorInfo& own = run.roles.targets;
  if (&file != &dump) return counterpart_targets(file, own.name);
  return own.name.empty() ? std::nullopt : std::optional(own);
}

/// What this one file says; empty: nothing.
std::optional<Activity> activity_of(const Case& run, const DumpFile& dump, const DumpFile& file) {
  const auto& own = run.roles.mask;
  const auto mask = &file == &dump ? own : counterpart_mask(file, own ? own->name : "");
  if (mask) {
    if (mask->elements != run.roles.rows)
      refuse(
          dump, file,
          "have " + std::to_string(run.roles.rows) + " rows and a mask of " + std::to_string(mask->elements));
    return Activity{read_mask(file, *mask), &file, mask};
  }
  const auto targets = targets_of(run, dump, file);
  if (!targets || targets->elements != run.roles.rows || run.config.targets_are == "input-ids")
    return std::nullopt;
  Activity out{{}, &file, std::nullopt};
  bool says_anything = false;
  for (const std::int64_t target : read_integers(file, *targets)) {
    out.rows.push_back(target != run.config.ignore_index);
    says_anything |= target == run.config.ignore_index;
  }
  return says_anything ? std::optional(out) : std::nullopt;
}

/// All that say which rows are active must say the same.
void compare_activity(const Case& run, const DumpFile& dump, const std::vector<const DumpFile*>& files,
                      Witnessed& witnessed) {
  std::optional<Activity> first;
  for (const DumpFile* file : files) {
    std::optional<Activity> stated = activity_of(run, dump, *file);
    if (!stated) continue;
    if (!first) {
      first = std::move(stated);
      continue;
    }
    compare_numbers(*first->file, *file, "mask values", {first->rows.begin(), first->rows.end()},
                    {stated->rows.begin(), stated->rows.end()}, {});
    witnessed.insert({first->file, file});
  }
}

void compare_metadata(const std::vector<const DumpFile*>& files, std::vector<std::string>& warnings) {
  const auto differing = [&](const std::string& key, auto&& found) {
    const DumpFile* first = nullptr;
    for (const DumpFile* file : files) {
      const auto at = file->metadata().find(key);
      if (at == file->metadata().end()) continue;
      if (first == nullptr)
        first = file;
      else if (const std::string& before = first->metadata().at(key); before != at->second)
        found(*first, *file, "say " + key + " " + in_quotes(before) + " and " + in_quotes(at->second));
    }
  };
  for (const std::string_view key : metadata_keys)
    differing(std::string(key),
              [](const DumpFile& a, const DumpFile& b, const std::string& why) { refuse(a, b, why); });
  for (const char* key : {"temperature", "top_k", "top_p", "min_p", "logprob_mode"})
    differing(key, [&](const DumpFile& a, const DumpFile& b, const std::string& why) {
      warnings.push_back(a.shown_path() + " and " + b.shown_path() + " " + why);
    });
}

}  // namespace

std::optional<Activity> stated_activity(const Case& run, const DumpFile& dump) {
  for (const DumpFile* file : files_of(run, dump))
    if (auto stated = activity_of(run, dump, *file)) return stated;
  return std::nullopt;
}

std::vector<std::string> check_identity(const Case& run, const DumpFile& dump) {
  std::vector<std::string> warnings;
  const std::vector<const DumpFile*> files = files_of(run, dump);
  if (files.size() == 1) return warnings;
  compare_metadata(files, warnings);

  Witnessed witnessed;
  compare_activity(run, dump, files, witnessed);
  const std::optional<Activity> activity = stated_activity(run, dump);
  const std::vector<std::uint8_t> active = activity ? activity->rows : std::vector<std::uint8_t>{};
  compare_where_both(
      files, "targets", [&](const DumpFile& file) { return targets_of(run, dump, file); }, active, witnessed);
  for (const std::string_view key : row_keys)
    compare_where_both(
        files, std::string(key),
        [&](const DumpFile& file) -> std::optional<TensorInfo> {
          const TensorInfo* tensor = file.find(key);
          return tensor && is_whole(*tensor) ? std::optional(*tensor) : std::nullopt;
        },
        active, witnessed);
  for (const DumpFile* file : files)
    if (!witnessed.contains(file) && (file != &dump || !witnessed.empty()))
      warnings.push_back(
          "nothing says that " + file->shown_path() +
          " is about the same tokens as the other files (no targets, mask or ids in both): only the "
          "number of values was checked");
  return warnings;
}

}  // namespace drift
