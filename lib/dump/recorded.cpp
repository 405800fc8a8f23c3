#include "dump/recorded.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>

#include "base/error.hpp"
#include "dump/text.hpp"

namespace drift {
namespace {

// What training and serving stacks call them: trainers first.
constexpr std::array<std::string_view, 5> trainer_names{"log_probs", "old_log_probs", "prev_logprobs",
                                                        "trainer_logprobs", "old_per_token_logps"};
constexpr std::array<std::string_view, 5> rollout_names{"rollout_log_probs", "generation_logprobs",
                                                        "inference_logprobs", "rollout_logprobs",
                                                        "sampling_per_token_logps"};

/// A word of --recorded, taken apart.
struct Word {
  std::string place;  ///< NAME or FILE:NAME
  RecordedKind kind = RecordedKind::logp;
};

Word split_kind(const DumpFile& dump, const std::string& word) {
  const std::size_t equals = word.rfind('=');
  if (equals == std::string::npos || dump.find(word)) return {word};
  const std::string kind = word.substr(equals + 1);
  if (kind == "lse") return {word.substr(0, equals), RecordedKind::lse};
  if (kind == "logp") return {word.substr(0, equals), RecordedKind::logp};
  return {word};
}

class Finder {
 public:
  explicit Finder(const DumpFile& dump) : dump_(dump) {}

  Recorded operator()(const std::string& word) {
    const auto [place, kind] = split_kind(dump_, word);
    if (const TensorInfo* tensor = dump_.find(place)) return {place, "", *tensor, kind, nullptr};
    const std::size_t colon = colon_of(place);
    if (colon == std::string::npos)
      throw Error(Fault::input, dump_.shown_path() + ": no tensor " + in_quotes(place) +
                                    " (--recorded), the file has: " + list_of(dump_.tensors()));
    const std::string file = place.substr(0, colon), name = place.substr(colon + 1);
    std::error_code unseen;
    if (std::filesystem::equivalent(file, dump_.path(), unseen))  // by whatever path: it is no second file
      if (const TensorInfo* tensor = dump_.find(name)) return {name, "", *tensor, kind, nullptr};
    const std::shared_ptr<const DumpFile> other = open(file);
    const TensorInfo* tensor = other->find(name);
    if (tensor == nullptr)
      throw Error(Fault::input, other->shown_path() + ": no tensor " + in_quotes(name) +
                                    " (--recorded), the file has: " + list_of(other->tensors()));
    return {place, file, *tensor, kind, other};
  }

 private:
  /// Where FILE ends and NAME begins: the last colon with a file before it, else the last one.
  static std::size_t colon_of(const std::string& place) {
    std::error_code unseen;
    for (std::size_t at = place.rfind(':'); at != std::string::npos && at > 0; at = place.rfind(':', at - 1))
      if (std::filesystem::exists(place.substr(0, at), unseen)) return at;
    const std::size_t last = place.rfind(':');
    return last == 0 ? std::string::npos : last;
  }

  std::shared_ptr<const DumpFile> open(const std::string& path) {
    std::error_code unseen;
    const auto canonical = std::filesystem::canonical(path, unseen);  // two spellings of a path are one file
    std::shared_ptr<const DumpFile>& file = open_[unseen ? path : canonical.string()];
    if (!file) file = std::make_shared<const DumpFile>(DumpFile::open(path));
    return file;
  }

  const DumpFile& dump_;
  std::map<std::string, std::shared_ptr<const DumpFile>> open_;
};

}  // namespace

std::vector<Recorded> named_recorded(const DumpFile& dump, const std::vector<std::string>& words) {
  Finder find(dump);
  std::vector<Recorded> out;
  for (const std::string& word : words) {
    Recorded found = find(word);
    const auto same = std::find_if(out.begin(), out.end(), [&](const Recorded& r) {
      return r.other == found.other && r.tensor.name == found.tensor.name;
    });
    if (same == out.end()) {
      out.push_back(std::move(found));
      continue;
    }
    require(same->kind == found.kind, Fault::usage,
            "--recorded names " + in_quotes(found.name) + " as logp and as lse; wanted one of them");
  }
  return out;
}

std::string word_of(const Recorded& recorded) {
  return recorded.kind == RecordedKind::lse ? recorded.name + "=lse" : recorded.name;
}

std::vector<Recorded> listed_recorded(const DumpFile& dump) {
  std::vector<Recorded> out;
  for (const auto& names : {trainer_names, rollout_names})
    for (const std::string_view name : names)
      if (const TensorInfo* tensor = dump.find(name))
        out.push_back({tensor->name, "", *tensor, RecordedKind::logp, nullptr});
  return out;
}

std::string known_recorded_names() {
  std::string out;
  for (const auto& names : {trainer_names, rollout_names})
    for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

bool is_rollout_name(std::string_view name) {
  return std::find(rollout_names.begin(), rollout_names.end(), name) != rollout_names.end();
}

}  // namespace drift
