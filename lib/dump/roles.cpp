#include "dump/roles.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "dump/text.hpp"

namespace drift {
namespace {

using Names = std::span<const std::string_view>;

// What training and serving stacks call these tensors.
constexpr std::array<std::string_view, 4> logits_names{"logits", "vocab_parallel_logits", "raw_logits",
                                                       "output.logits"};
constexpr std::array<std::string_view, 3> shifted_names{"target_ids", "targets", "labels"};
constexpr std::array<std::string_view, 4> unshifted_names{"input_ids", "token_ids", "tokens", "responses"};
constexpr std::array<std::string_view, 7> target_names{"target_ids", "targets", "labels",   "input_ids",
                                                       "token_ids",  "tokens",  "responses"};
constexpr std::array<std::string_view, 7> mask_names{
    "mask", "active_mask", "loss_mask", "response_mask", "completion_mask", "token_mask", "token_loss_mask"};
constexpr std::array<std::string_view, 2> temperature_names{"temperature", "temperatures"};

std::string joined(Names names) {
  std::string out;
  for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out;
}

std::vector<const TensorInfo*> present(const DumpFile& dump, Names names) {
  std::vector<const TensorInfo*> out;
  for (const std::string_view name : names)
    if (const TensorInfo* tensor = dump.find(name)) out.push_back(tensor);
  return out;
}

[[noreturn]] void refuse(const DumpFile& dump, const std::string& why) {
  throw Error(Fault::input, dump.shown_path() + ": " + why);
}

const TensorInfo& named(const DumpFile& dump, const std::string& option, const std::string& name) {
  if (const TensorInfo* tensor = dump.find(name)) return *tensor;
  refuse(dump,
         "no tensor " + in_quotes(name) + " (" + option + "), the file has: " + list_of(dump.tensors()));
}

/// The one tensor of a list; nullptr if there is none.
const TensorInfo* only_one(const DumpFile& dump, const std::string& role, Names names) {
  const auto there = present(dump, names);
  if (there.size() > 1) {
    std::string seen;
    for (const TensorInfo* tensor : there) seen += (seen.empty() ? "" : ", ") + describe(*tensor);
    refuse(dump, "which tensor holds the " + role + " is ambiguous: seen " + seen + ", wanted one of " +
                     joined(names) + " (name it with --" + role + ")");
  }
  return there.empty() ? nullptr : there.front();
}

std::string by_name_or_list(const std::string& typed, Names names) {
  return typed.empty() ? "the only one present of: " + joined(names) : "named on the command line";
}

std::vector<std::int64_t> without_ones(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> out;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(out),
               [](std::int64_t size) { return size != 1; });
  return out;
}

/// One element a row, in the rows' order: their own shape, or flat; dimensions of 1 do not matter.
bool one_per_row(const TensorInfo& tensor, const Roles& roles) {
  const auto shape = without_ones(tensor.shape);
  return tensor.elements == roles.rows &&
         (shape.size() <= 1 || shape == without_ones(roles.leading) || shape == roles.recorded_shape);
}

std::string wanted_shape(const Roles& roles) {
  return shape_text(roles.leading) +
         (roles.leading.size() > 1 ? " or [" + std::to_string(roles.rows) + "]" : "") +
         (roles.has_logits() ? " (logits are " + shape_text(roles.logits.shape) + ")"
                             : " (as " + in_quotes(roles.recorded.front().name) + ")");
}

void need_one_per_row(const DumpFile& dump, const Roles& roles, const std::string& role,
                      const TensorInfo& tensor) {
  if (one_per_row(tensor, roles)) return;
  refuse(dump, role + " " + describe(tensor) + " does not match the " +
                   (roles.has_logits() ? "logits' rows" : "recorded values") + ", wanted " +
                   wanted_shape(roles));
}

/// Why a tensor cannot hold the recorded values of the rows; "" if it can.
std::string not_one_float_a_row(const TensorInfo& tensor, const Roles& roles) {
  if (tensor.elements != roles.rows)
    return "it has " + std::to_string(tensor.elements) + " values for " + std::to_string(roles.rows) +
           " rows";
  if (!one_per_row(tensor, roles))
    return "its shape does not match the " + std::string(roles.has_logits() ? "logits' rows" : "other's") +
           " (is it transposed?), wanted " + wanted_shape(roles);
  if (!is_logits_dtype(tensor.dtype)) return "it has the wrong type, wanted BF16, F16, F32 or F64";
  return "";
}

/// Tensors that change what the right log-probs are, in ways that this version does not compute.
void refuse_unsupported(const DumpFile& dump) {
  for (const TensorInfo& tensor : dump.tensors()) {
    if (tensor.name.starts_with("cu_seqlens"))
      refuse(dump, describe(tensor) +
                       " cannot be audited yet: it means packed sequences (rows at their borders "
                       "would be compared with the wrong tokens)");
  }
}

void find_targets(const DumpFile& dump, const RoleNames& names, Roles& roles) {
  const Names list = names.targets_are_input_ids ? Names(target_names) : Names(shifted_names);
  const TensorInfo* found =
      names.targets.empty() ? only_one(dump, "targets", list) : &named(dump, "--targets", names.targets);
  const auto unshifted = present(dump, unshifted_names);
  const auto ask_for_the_shift = [&](const std::string& what, const TensorInfo& tensor) {
    refuse(dump,
           what + describe(tensor) +
               " looks like token ids that are not shifted yet (a shift by one changes every log-prob, so "
               "none is guessed): give --targets-are input-ids if row s predicts token s + 1, or --targets " +
               "NAME --targets-are shifted if it is aligned");
  };
  if (!found && !unshifted.empty()) ask_for_the_shift("no targets: ", *unshifted.front());
  const bool is_unshifted = std::find(unshifted.begin(), unshifted.end(), found) != unshifted.end();
  if (found && is_unshifted && !names.targets_are_input_ids && !names.targets_are_typed)
    ask_for_the_shift("targets ", *found);
  if (!found)
    refuse(dump, "no targets: wanted one of " + joined(shifted_names) +
                     " (or name it with --targets), the file has: " + list_of(dump.tensors()));
  const Dtype dtype = found->dtype;
  if (dtype != Dtype::I32 && dtype != Dtype::I64 && dtype != Dtype::U32)
    refuse(dump, "targets " + describe(*found) + " have the wrong type, wanted I32, I64 or U32");
  roles.targets = *found;
  need_one_per_row(dump, roles, "targets", *found);
  roles.why.push_back("targets: " + describe(*found) + ", " + by_name_or_list(names.targets, list) +
                      (names.targets_are_input_ids
                           ? "; row s is scored against token s + 1 of its sequence, the last "
                             "row of a sequence has no target"
                           : "; already shifted: row s is scored against element s"));
  if (!names.targets_are_input_ids)
    for (const TensorInfo* tensor : unshifted)
      if (tensor->name != found->name)
        roles.why.push_back("not used: " + describe(*tensor) +
                            " (targets only with --targets-are input-ids)");
}

void find_mask(const DumpFile& dump, const RoleNames& names, Roles& roles) {
  const TensorInfo* found =
      names.mask.empty() ? only_one(dump, "mask", mask_names) : &named(dump, "--mask", names.mask);
  if (!found) {
    roles.why.push_back("mask: none of " + joined(mask_names) +
                        "; rows are active where the target is not the ignore index");
    return;
  }
  need_one_per_row(dump, roles, "mask", *found);
  roles.mask = *found;
  roles.why.push_back("mask: " + describe(*found) + ", " + by_name_or_list(names.mask, mask_names));
}

void find_recorded(const DumpFile& dump, const RoleNames& names, Roles& roles) {
  const auto add = [&](const Recorded& recorded, const std::string& because) {
    roles.recorded.push_back(recorded);
    roles.why.push_back("recorded: " + (recorded.file.empty() ? "" : printable(recorded.file) + ": ") +
                        describe(recorded.tensor) + (recorded.kind == RecordedKind::lse ? " (LSE)" : "") +
                        ", " + because);
  };
  for (const Recorded& recorded : named_recorded(dump, names.recorded)) {
    if (const std::string why = not_one_float_a_row(recorded.tensor, roles); !why.empty())
      refuse(recorded.in(dump),
             "recorded log-probs " + describe(recorded.tensor) + " cannot be compared: " + why);
    add(recorded, "named on the command line");
  }
  for (const Recorded& recorded : listed_recorded(dump)) {
    const TensorInfo& tensor = recorded.tensor;
    if (!names.recorded.empty()) {
      if (std::none_of(roles.recorded.begin(), roles.recorded.end(),
                       [&](const Recorded& used) { return used.name == tensor.name; }))
        roles.why.push_back("not used: " + describe(tensor) + " (--recorded names others)");
    } else if (const std::string why = not_one_float_a_row(tensor, roles); why.empty()) {
      add(recorded, "a known name with one value a row");
    } else {
      // Nobody asked for this one: a tensor of that name for another purpose must not stop the audit.
      const std::string text = describe(tensor) + " is not compared: " + why;
      roles.why.push_back("not used: " + text);
      roles.warnings.push_back(text);
    }
  }
  if (roles.recorded.empty())
    roles.why.push_back(
        "recorded: nothing, so a run is a self-check only (known names: " + known_recorded_names() + ")");
}

/// Without logits: the recorded tensors say how many rows there are, and all must say the same.
void find_pairs(const DumpFile& dump, const RoleNames& names, Roles& roles) {
  roles.recorded = names.recorded.empty() ? listed_recorded(dump) : named_recorded(dump, names.recorded);
  require(roles.recorded.size() >= 2, Fault::input,
          dump.shown_path() + ": no logits: wanted one of " + joined(logits_names) +
              " (or name it with --logits), or at least two recorded tensors to compare with each other (" +
              known_recorded_names() + "; --recorded A,FILE:B names both), the file has: " + list_of(dump.tensors()));
  const TensorInfo& first = roles.recorded.front().tensor;
  roles.leading = roles.recorded_shape = without_ones(first.shape);
  if (roles.leading.size() != 2) roles.leading = {first.elements};
  roles.rows = first.elements;
  roles.batch = roles.leading.size() == 2 ? roles.leading[0] : 1;
  roles.sequence = roles.leading.back();
  require(roles.rows > 0, Fault::input,
          dump.shown_path() + ": " + describe(first) + " is empty: there is nothing to compare");
  roles.why.push_back("logits: none, so recorded tensors are compared with each other only");
  for (const Recorded& recorded : roles.recorded) {
    if (const std::string why = not_one_float_a_row(recorded.tensor, roles); !why.empty())
      refuse(recorded.in(dump),
             "not comparable with " + describe(first) + ": " + describe(recorded.tensor) + ": " + why);
    roles.why.push_back("recorded: " + describe(recorded.tensor));
  }
}

void find_temperature(const DumpFile& dump, Roles& roles) {
  const auto there = present(dump, temperature_names);
  if (there.size() > 1)
    refuse(dump, "both " + describe(*there[0]) + " and " + describe(*there[1]) +
                     " say what logits are divided by; wanted one of them");
  const TensorInfo* found = there.empty() ? nullptr : there.front();
  if (!found) return;
  const std::string wanted =
      "wanted " + wanted_shape(roles) + ", or one a sequence, [" + std::to_string(roles.batch) + "]";
  if (found->elements != 1 && found->elements != roles.batch && !one_per_row(*found, roles))
    refuse(dump, describe(*found) + " does not match the logits' rows, " + wanted);
  if (!is_logits_dtype(found->dtype))
    refuse(dump, describe(*found) + " has the wrong type, wanted BF16, F16, F32 or F64");
  roles.temperature = *found;
  roles.why.push_back("temperature: " + describe(*found) +
                      (found->elements == roles.rows    ? ", one a row"
                       : found->elements == roles.batch ? ", one a sequence"
                                                        : ", one for all"));
}

bool is_whole(const TensorInfo& tensor) {
  return tensor.dtype == Dtype::I32 || tensor.dtype == Dtype::I64 || tensor.dtype == Dtype::U32;
}

void find_kept_sets(const DumpFile& dump, Roles& roles) {
  const TensorInfo* ids = dump.find("kept_ids");
  const TensorInfo* offsets = dump.find("kept_offsets");
  const TensorInfo* mask = dump.find("kept_mask");
  if (offsets && !ids) refuse(dump, describe(*offsets) + " needs kept_ids, which it cuts into rows");
  if (ids && mask)
    refuse(dump, "both " + describe(*ids) + " and " + describe(*mask) +
                     " say which tokens a sampler kept; wanted one");
  if (ids && !is_whole(*ids)) refuse(dump, describe(*ids) + " has the wrong type, wanted I32, I64 or U32");
  if (offsets) {
    if (!is_whole(*offsets) || offsets->elements != roles.rows + 1)
      refuse(dump, describe(*offsets) + " cannot cut kept_ids into rows, wanted " +
                       std::to_string(roles.rows + 1) + " whole numbers, one more than rows");
    roles.kept_offsets = *offsets;
  } else if (ids && (ids->elements % roles.rows != 0 || ids->shape.size() != roles.leading.size() + 1 ||
                     !std::equal(roles.leading.begin(), roles.leading.end(), ids->shape.begin()))) {
    refuse(dump, describe(*ids) + " has no kept_offsets, so it must be " + shape_text(roles.leading) +
                     " with one more dimension (negative ids fill up)");
  }
  if (ids) roles.kept_ids = *ids;
  if (mask) {
    const bool fits = mask->shape.size() == roles.leading.size() + 1 &&
                      std::equal(roles.leading.begin(), roles.leading.end(), mask->shape.begin()) &&
                      mask->shape.back() > 0 && mask->shape.back() <= roles.padded_vocab;
    if (!fits || (mask->dtype != Dtype::BOOL && mask->dtype != Dtype::U8))
      refuse(dump, describe(*mask) + " does not match the logits " + shape_text(roles.logits.shape) +
                       ", wanted BOOL or U8 of that shape or with the real vocabulary last");
    roles.kept_mask = *mask;
  }
  if (roles.has_kept_sets())
    roles.why.push_back("kept set: " + describe(ids ? *ids : *mask) +
                        ": log-probs are renormalised over the tokens that the sampler kept");
}

std::optional<TensorInfo> counterpart(const DumpFile& other, const std::string& role, const std::string& name,
                                      Names names) {
  if (const TensorInfo* tensor = other.find(name)) return *tensor;
  const TensorInfo* found = only_one(other, role, names);
  return found ? std::optional(*found) : std::nullopt;
}

}  // namespace

TensorInfo find_logits(const DumpFile& dump, const RoleNames& names) {
  const TensorInfo* found =
      names.logits.empty() ? only_one(dump, "logits", logits_names) : &named(dump, "--logits", names.logits);
  if (!found)
    refuse(dump, "no logits: wanted one of " + joined(logits_names) +
                     " (or name it with --logits), the file has: " + list_of(dump.tensors()));
  if (!is_logits_dtype(found->dtype)) {
    const bool narrow = name(found->dtype).starts_with("F");
    refuse(dump,
           "logits " + describe(*found) + " cannot be audited (" +
               (narrow ? "what a value of 8 bits or fewer stands for depends on scales that are not in it"
                       : "they are not real floating-point numbers") +
               "), wanted BF16, F16, F32 or F64");
  }
  if (found->shape.size() != 2 && found->shape.size() != 3)
    refuse(dump, "logits " + describe(*found) + " have the wrong shape, wanted [T, V] or [B, S, V]");
  if (found->elements == 0)
    refuse(dump, "logits " + describe(*found) + " are empty: there is nothing to compare");
  return *found;
}

Roles find_roles(const DumpFile& dump, const RoleNames& names) {
  Roles roles;
  refuse_unsupported(dump);
  const bool without_logits = names.logits.empty() && present(dump, logits_names).empty();
  if (without_logits) {
    find_pairs(dump, names, roles);
    const bool has_targets =
        !names.targets.empty() || names.targets_are_input_ids || !present(dump, shifted_names).empty();
    if (has_targets) find_targets(dump, names, roles);
    find_mask(dump, names, roles);
    return roles;
  }
  roles.logits = find_logits(dump, names);
  const auto& shape = roles.logits.shape;
  roles.padded_vocab = shape.back();
  roles.leading.assign(shape.begin(), shape.end() - 1);
  roles.rows = roles.logits.elements / roles.padded_vocab;
  roles.batch = shape.size() == 3 ? shape[0] : 1;
  roles.sequence = roles.rows / roles.batch;
  roles.why.push_back("logits: " + describe(roles.logits) + ", " +
                      by_name_or_list(names.logits, logits_names));
  find_targets(dump, names, roles);
  find_mask(dump, names, roles);
  find_recorded(dump, names, roles);
  find_temperature(dump, roles);
  find_kept_sets(dump, roles);
  for (const char* name : {"position_ids", "global_position"})
    if (dump.find(name))
      roles.warnings.push_back(std::string(name) +
                               " is not used: rows are taken in the order in which they are stored");
  return roles;
}

std::optional<TensorInfo> counterpart_targets(const DumpFile& other, const std::string& name) {
  return counterpart(other, "targets", name, shifted_names);
}

std::optional<TensorInfo> counterpart_mask(const DumpFile& other, const std::string& name) {
  return counterpart(other, "mask", name, mask_names);
}

}  // namespace drift
