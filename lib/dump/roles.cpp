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
constexpr std::array<std::string_view, 10> log_prob_names{
    "log_probs",           "old_log_probs",           "prev_logprobs",       "trainer_logprobs",
    "old_per_token_logps", "rollout_log_probs",       "generation_logprobs", "inference_logprobs",
    "rollout_logprobs",    "sampling_per_token_logps"};

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

/// One element a row, in the logits' order: their leading dimensions, or flat; dimensions of 1 do not matter.
bool one_per_row(const TensorInfo& tensor, const Roles& roles) {
  const auto leading = std::span(roles.logits.shape).first(roles.logits.shape.size() - 1);
  const auto shape = without_ones(tensor.shape);
  return tensor.elements == roles.rows && (shape.size() <= 1 || shape == without_ones(leading));
}

std::string wanted_shape(const Roles& roles) {
  const auto leading = std::span(roles.logits.shape).first(roles.logits.shape.size() - 1);
  return shape_text(leading) + (leading.size() > 1 ? " or [" + std::to_string(roles.rows) + "]" : "") +
         " (logits are " + shape_text(roles.logits.shape) + ")";
}

void need_one_per_row(const DumpFile& dump, const Roles& roles, const std::string& role,
                      const TensorInfo& tensor) {
  if (one_per_row(tensor, roles)) return;
  refuse(dump,
         role + " " + describe(tensor) + " does not match the logits' rows, wanted " + wanted_shape(roles));
}

/// Why a tensor cannot hold the recorded log-probs of the rows; "" if it can.
std::string not_log_probs(const TensorInfo& tensor, const Roles& roles) {
  if (tensor.elements != roles.rows)
    return "it has " + std::to_string(tensor.elements) + " values for " + std::to_string(roles.rows) +
           " rows";
  if (!one_per_row(tensor, roles))
    return "its shape does not match the logits' rows (is it transposed?), wanted " + wanted_shape(roles);
  if (!is_logits_dtype(tensor.dtype)) return "it has the wrong type, wanted BF16, F16, F32 or F64";
  return "";
}

/// Tensors that change what the right log-probs are, in ways that this version does not compute.
void refuse_unsupported(const DumpFile& dump) {
  for (const TensorInfo& tensor : dump.tensors()) {
    std::string why;
    if (tensor.name == "temperature" || tensor.name == "temperatures")
      why = "a temperature per row or sequence (one scalar for all rows would give other log-probs)";
    if (tensor.name.starts_with("cu_seqlens"))
      why = "packed sequences (rows at their borders would be compared with the wrong tokens)";
    if (tensor.name == "kept_ids" || tensor.name == "kept_offsets")
      why = "a truncated vocabulary (the LSE runs over the kept tokens only)";
    if (!why.empty()) refuse(dump, describe(tensor) + " cannot be audited yet: it means " + why);
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
  const auto add = [&](const TensorInfo& tensor, const std::string& because) {
    roles.recorded.push_back(tensor);
    roles.why.push_back("recorded: " + describe(tensor) + ", " + because);
  };
  for (const std::string& name : names.recorded) {
    const TensorInfo& tensor = named(dump, "--recorded", name);
    const bool twice = std::any_of(roles.recorded.begin(), roles.recorded.end(),
                                   [&](const TensorInfo& other) { return other.name == tensor.name; });
    if (const std::string why = not_log_probs(tensor, roles); !why.empty())
      refuse(dump, "recorded log-probs " + describe(tensor) + " cannot be compared: " + why);
    if (!twice) add(tensor, "named on the command line");
  }
  for (const TensorInfo* tensor : present(dump, log_prob_names)) {
    if (!names.recorded.empty()) {
      if (std::find(names.recorded.begin(), names.recorded.end(), tensor->name) == names.recorded.end())
        roles.why.push_back("not used: " + describe(*tensor) + " (--recorded names others)");
    } else if (const std::string why = not_log_probs(*tensor, roles); why.empty()) {
      add(*tensor, "a known name with one value a row");
    } else {
      // Nobody asked for this one: a tensor of that name for another purpose must not stop the audit.
      const std::string text = describe(*tensor) + " is not compared: " + why;
      roles.why.push_back("not used: " + text);
      roles.warnings.push_back(text);
    }
  }
  if (roles.recorded.empty())
    roles.why.push_back(
        "recorded: nothing, so a run is a self-check only (known names: " + joined(log_prob_names) + ")");
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
  roles.logits = find_logits(dump, names);
  const auto& shape = roles.logits.shape;
  roles.padded_vocab = shape.back();
  roles.rows = roles.logits.elements / roles.padded_vocab;
  roles.batch = shape.size() == 3 ? shape[0] : 1;
  roles.sequence = roles.rows / roles.batch;
  roles.why.push_back("logits: " + describe(roles.logits) + ", " +
                      by_name_or_list(names.logits, logits_names));
  refuse_unsupported(dump);
  find_targets(dump, names, roles);
  find_mask(dump, names, roles);
  find_recorded(dump, names, roles);
  for (const char* name : {"position_ids", "global_position"})
    if (dump.find(name))
      roles.warnings.push_back(std::string(name) +
                               " is not used: rows are taken in the order in which they are stored");
  return roles;
}

}  // namespace drift
