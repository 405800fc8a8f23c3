#include "audit/inputs.hpp"

#include <cmath>

#include "audit/identity.hpp"
#include "audit/options.hpp"
#include "audit/resolve_parts.hpp"
#include "base/digest.hpp"
#include "base/error.hpp"
#include "dump/columns.hpp"
#include "dump/shifted_targets.hpp"
#include "dump/text.hpp"

namespace drift {
namespace {

void refuse_target(const Case& run, std::int64_t row, std::int64_t target) {
  const bool ignored = target == run.config.ignore_index;
  throw Error(Fault::input,
              std::string(ignored ? "an active row has no target"
                                  : "an active row's target is outside the vocabulary") +
                  " (its log-prob does not exist): row " + std::to_string(row) + " of " +
                  in_quotes(run.roles.targets.name) + " holds " + std::to_string(target) +
                  (ignored ? ", the ignore-index" : "") + "; wanted a column in [0, " +
                  std::to_string(run.real_vocab) + ")" +
                  (run.roles.mask ? ", or the row masked out"
                                  : ", or the ignore-index " + std::to_string(run.config.ignore_index)));
}

void read_targets(const Case& run, const DumpFile& dump, Inputs& in) {
  const Roles& roles = run.roles;
  if (roles.targets.name.empty()) return;
  in.stored_targets = read_integers(dump, roles.targets);
  if (run.config.targets_are == "input-ids")
    in.stored_targets =
        shifted_targets(in.stored_targets, roles.batch, roles.sequence, run.config.ignore_index);
  in.targets_digest = hex(digest_of(dump, roles.targets));
}

/// By the dump's own mask or targets, else by what another file of recorded tensors says.
void read_activity(const Case& run, const DumpFile& dump, Inputs& in) {
  const auto rows = static_cast<std::size_t>(run.roles.rows);
  in.active.assign(rows, 1);
  if (const auto stated = stated_activity(run, dump)) {
    in.active = stated->rows;
    if (stated->mask) {
      in.mask = stated->mask;
      if (stated->file != &dump) in.mask->name = stated->file->path() + ":" + in.mask->name;
      in.mask_digest = hex(digest_of(*stated->file, *stated->mask));
    }
  }
  if (in.mask) return;
  for (std::size_t r = 0; r < in.stored_targets.size(); ++r)  // a row without a target is active in no case
    if (in.stored_targets[r] == run.config.ignore_index) in.active[r] = 0;
}

/// Targets of the active rows. Without logits there is no vocabulary that they must lie in.
void check_targets(const Case& run, Inputs& in) {
  in.targets.assign(static_cast<std::size_t>(run.roles.rows), -1);
  for (std::size_t r = 0; r < in.active.size(); ++r) {
    if (!in.active[r]) continue;
    ++in.active_rows;
    if (in.stored_targets.empty()) continue;
    const std::int64_t target = in.stored_targets[r];
    const bool is_outside = target < 0 || (run.has_logits() && target >= run.real_vocab);
    if (run.has_logits() && (target == run.config.ignore_index || is_outside))
      refuse_target(run, static_cast<std::int64_t>(r), target);
    if (!is_outside) in.targets[r] = target;
  }
}

std::vector<Range> sequences_of(const Roles& roles) {
  std::vector<Range> out;
  for (std::int64_t b = 0; b < roles.batch; ++b)
    out.push_back({b * roles.sequence, (b + 1) * roles.sequence});
  return out;
}

void read_temperature(const Case& run, const DumpFile& dump, Inputs& in) {
  if (!run.roles.temperature) return;
  const TensorInfo& tensor = *run.roles.temperature;
  const std::vector<float> values = read_floats(dump, tensor);
  in.temperature_digest = hex(digest_of(dump, tensor));
  const std::int64_t each = run.roles.rows / tensor.elements;  // rows that share one
  for (std::size_t i = 0; i < values.size(); ++i) {
    ValueRule rule = run.candidate;
    rule.temperature = values[i];
    require(std::isfinite(values[i]) && values[i] > 0, Fault::input,
            dump.shown_path() + ": " + describe(tensor) + ": element " + std::to_string(i) + " is " +
                to_text(static_cast<double>(values[i])) +
                " (logits are divided by it), wanted a finite number above 0");
    check_order(rule);
    in.temperature.insert(in.temperature.end(), static_cast<std::size_t>(each), values[i]);
  }
}

}  // namespace

Inputs read_inputs(const Case& run, const DumpFile& dump) {
  const Roles& roles = run.roles;
  Inputs in;
  read_targets(run, dump, in);
  read_activity(run, dump, in);
  check_targets(run, in);
  require(in.active_rows > 0, Fault::input,
          "no row is active (nothing would be compared, and an empty audit must not pass): " +
              (in.mask ? "mask " + in_quotes(in.mask->name) + " marks none of " + std::to_string(roles.rows) +
                             " rows"
                       : "every target is the ignore-index " + std::to_string(run.config.ignore_index)));
  in.sequences = sequences_of(roles);
  read_temperature(run, dump, in);
  for (const Recorded& recorded : roles.recorded) {
    if (const std::int64_t rounded = rounded_values(recorded.in(dump), recorded.tensor))
      in.warnings.push_back(std::to_string(rounded) + " F64 values of " + printable(recorded.name) +
                            " are compared after rounding to fp32, which does not hold them exactly");
    in.recorded.push_back(read_floats(recorded.in(dump), recorded.tensor));
    in.recorded_digests.push_back(hex(digest_of(recorded.in(dump), recorded.tensor)));
  }
  return in;
}

ValueRule rule_of_row(const Inputs& inputs, ValueRule rule, std::int64_t row) {
  if (!inputs.temperature.empty()) rule.temperature = inputs.temperature[static_cast<std::size_t>(row)];
  return rule;
}

}  // namespace drift
