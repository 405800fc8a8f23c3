#include "audit/inputs.hpp"

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
              std::string(ignored ? "an active row has no target" : "an active row's target is outside the vocabulary") +
                  " (its log-prob does not exist): row " + std::to_string(row) + " of " + in_quotes(run.roles.targets.name) +
                  " holds " + std::to_string(target) + (ignored ? ", the ignore-index" : "") +
                  "; wanted a column in [0, " + std::to_string(run.real_vocab) + ")" +
                  (run.roles.mask ? ", or the row masked out" : ", or the ignore-index " +
                                                                     std::to_string(run.config.ignore_index)));
}

}  // namespace

Inputs read_inputs(const Case& run, const DumpFile& dump) {
  const Roles& roles = run.roles;
  const auto rows = static_cast<std::size_t>(roles.rows);
  Inputs in;
  in.targets = read_integers(dump, roles.targets);
  if (run.config.targets_are == "input-ids")
    in.targets = shifted_targets(in.targets, roles.batch, roles.sequence, run.config.ignore_index);
  in.targets_digest = hex(digest_of(dump, roles.targets));

  if (roles.mask) {
    in.active = read_mask(dump, *roles.mask);
    in.mask_digest = hex(digest_of(dump, *roles.mask));
  } else {
    in.active.resize(rows);
    for (std::size_t r = 0; r < rows; ++r) in.active[r] = in.targets[r] != run.config.ignore_index;
  }
  for (std::size_t r = 0; r < rows; ++r) {
    if (!in.active[r]) {
      in.targets[r] = -1;
      continue;
    }
    ++in.active_rows;
    const std::int64_t target = in.targets[r];
    if (target == run.config.ignore_index || target < 0 || target >= run.real_vocab)
      refuse_target(run, static_cast<std::int64_t>(r), target);
  }
  require(in.active_rows > 0, Fault::input,
          "no row is active (nothing would be compared, and an empty audit must not pass): " +
              (roles.mask ? "mask " + in_quotes(roles.mask->name) + " marks none of " + std::to_string(roles.rows) + " rows"
                          : "every target is the ignore-index " + std::to_string(run.config.ignore_index)));

  for (const TensorInfo& tensor : roles.recorded) {
    in.recorded.push_back(read_floats(dump, tensor));
    in.recorded_digests.push_back(hex(digest_of(dump, tensor)));
  }
  return in;
}

}  // namespace drift
