#include "plugin/kernel_call.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "base/printable.hpp"
#include "plugin/named_errors.hpp"
#include "plugin/plugin_group.hpp"
#include "plugin/whole_rows.hpp"

namespace drift {
namespace {

const float no_value = std::bit_cast<float>(0x7fc00000u);
constexpr std::int64_t fence = 64;  // floats before and after an output: 256 bytes, so that it stays aligned
constexpr std::uint32_t fence_bits = 0xffd5a5a5u;  // a NaN that no arithmetic makes

/// One output with fences around it; what is not written stays NaN.
class FencedOutput {
 public:
  FencedOutput(Backend& on, std::int64_t rows)
      : on_(on), rows_(rows), memory_(on.allocate((rows + 2 * fence) * 4)) {
    std::vector<float> blank(static_cast<std::size_t>(rows + 2 * fence), std::bit_cast<float>(fence_bits));
    std::fill_n(blank.begin() + fence, rows, no_value);
    on_.upload(blank.data(), memory_.data(), memory_.bytes());
  }
  float* values() { return memory_.as<float>() + fence; }

  /// The rows, or nothing if a fence was written over.
  std::optional<std::vector<float>> taken() {
    std::vector<float> all(static_cast<std::size_t>(rows_ + 2 * fence));
    on_.download(memory_.data(), all.data(), memory_.bytes());
    const auto is_whole = [](float value) { return std::bit_cast<std::uint32_t>(value) == fence_bits; };
    if (!std::all_of(all.begin(), all.begin() + fence, is_whole) ||
        !std::all_of(all.end() - fence, all.end(), is_whole))
      return std::nullopt;
    return std::vector<float>(all.begin() + fence, all.end() - fence);
  }

 private:
  Backend& on_;
  std::int64_t rows_;
  Buffer memory_;
};

std::int64_t number_at(const FormulaInput& in, std::int64_t row) {
  std::int64_t out = 0;
  in.on.download(in.row_index + row, &out, sizeof out);
  return out;
}

/// What the kernel may read but not write. On a GPU looking costs as much as the copy to it did, so nobody
/// looks.
Digest digest_of_inputs(const FormulaInput& in) {
  Digester out;
  const auto rows = static_cast<std::size_t>(in.logits.rows);
  out.update(std::as_bytes(std::span(in.targets, rows)));
  out.update(std::as_bytes(std::span(in.row_index, rows)));
  const auto row_bytes = static_cast<std::size_t>(in.logits.columns.size() * in.logits.bytes_per_element());
  if (row_bytes > 0)
    for (std::int64_t r = 0; r < in.logits.rows; ++r) out.update({in.logits.row(r), row_bytes});
  return out.finish();
}

drift_plugin_call described(const FormulaInput& in, const LogitsView& logits) {
  drift_plugin_call call = {};
  call.struct_size = sizeof call;
  call.abi = DRIFT_PLUGIN_ABI;
  call.memory = in.on.host_memory() ? DRIFT_MEMORY_HOST : DRIFT_MEMORY_CUDA;
  call.dtype = plugin_bit(logits.rule.stored);
  call.rounded_dtype = plugin_bit(logits.rule.candidate);
  call.temperature_order = plugin_bit(logits.rule.order);
  call.temperature = logits.rule.temperature;
  call.rows = logits.rows;
  call.pitch = logits.pitch;
  call.column_begin = logits.columns.begin;
  call.column_end = logits.columns.end;
  call.vocab = logits.vocab;
  call.padded_vocab = in.bounds.bounds.back();
  call.first_row = number_at(in, 0);
  call.last_row = number_at(in, logits.rows - 1);
  call.logits = logits.data;
  call.targets = in.targets;
  call.row_numbers = in.row_index;
  call.stream = in.on.native_stream();
  return call;
}

std::string where(const drift_plugin_call& call) {
  return "over rows " + std::to_string(call.first_row) + " to " + std::to_string(call.last_row) +
         ", columns " + std::to_string(call.column_begin) + " to " + std::to_string(call.column_end) +
         " (TP rank " + std::to_string(call.tp_rank) + " of " + std::to_string(call.tp_size) + ")";
}

/// Calls it; throws unless it ended well by its own account.
void enter(const PluginLibrary& plugin, const drift_plugin_call& call, PluginGroup& group, FloatModes& modes,
           const Watchdog& watchdog) {
  std::array<char, 512> message = {};
  int status = 0;
  const Ending ending = call_guarded(plugin.facts.name.c_str(), modes, watchdog, [&] {
    status = plugin.log_prob(&call, message.data(), message.size());
  });
  group.rethrow();
  const std::string subject = "plug-in " + plugin.facts.name + " ";
  require(ending.is_well(), ending.fault, subject + ending.text + " " + where(call));
  message.back() = '\0';
  const std::string said = message.front() != '\0' ? escaped(message.data()) : "no reason given";
  require(status == 0, Fault::device,
          subject + "returned error " + std::to_string(status) + " " + where(call) + ": " + said);
  group.finish();
}

void call_named(const PluginLibrary& plugin, const FormulaInput& in, RowResult out,
                const std::string& subject) {
  const std::int64_t rows = in.logits.rows;
  require(in.logits.rule.temperature == 1.0f ||
              (plugin.facts.temperature_orders & plugin_bit(in.logits.rule.order)) != 0,
          Fault::usage,
          subject + " does not know this order of dividing by a temperature (--temperature-order)");

  const bool is_gathered = plugin.facts.wants_whole_rows && in.tp.size() > 1;
  const WholeRows whole = is_gathered ? gather_whole_rows(in) : WholeRows{};
  drift_plugin_call call = described(in, is_gathered ? whole.logits : in.logits);
  const std::unique_ptr<Collective> alone =
      plugin.facts.wants_whole_rows ? make_solo_collective(in.on) : nullptr;
  const std::array<std::int64_t, 2> whole_bounds{0, call.padded_vocab};
  call.tp_rank = alone ? 0 : in.tp.rank();
  call.tp_size = alone ? 1 : in.tp.size();
  call.vocab_bounds = alone ? whole_bounds.data() : in.bounds.bounds.data();

  FencedOutput lse(in.on, rows), logp(in.on, rows);
  call.lse = lse.values();
  call.logp = logp.values();
  FloatModes modes = plugin.modes;  // ranks may be threads: each call has its own
  const bool is_host = in.on.host_memory();
  const bool is_watched = is_host && !is_gathered;
  const Digest before = is_watched ? digest_of_inputs(in) : Digest{};
  // A GPU's driver cannot be left in the middle, and what waits for a kernel that never ends waits for ever.
  Watchdog watchdog(subject, plugin.deadline_seconds, is_host ? Watchdog::Late::jump : Watchdog::Late::end);
  PluginGroup group(subject, in.on, alone ? *alone : in.tp, modes, watchdog);
  group.fill(call);

  enter(plugin, call, group, modes, watchdog);
  if (is_watched) {
    const Watchdog::Pause ours(watchdog);
    require(digest_of_inputs(in) == before, Fault::device,
            subject + " wrote into its inputs " + where(call) +
                " (other candidates read them too; copy them first)");
  }

  std::optional<std::vector<float>> lse_values, logp_values;
  try {  // on a GPU under the watchdog still: this waits for the kernels
    lse_values = lse.taken();
    logp_values = logp.taken();
  } catch (const Error& error) {  // work that it left queued
    throw Error(error.fault(), subject + " failed after its call " + where(call) + ": " + error.what());
  }
  require(lse_values && logp_values, Fault::device,
          subject + " wrote outside its outputs " + where(call) + ", wanted " + std::to_string(rows) +
              " values in each");

  std::vector<std::int64_t> targets(static_cast<std::size_t>(rows));
  in.on.download(in.targets, targets.data(), rows * 8);
  for (std::size_t r = 0; r < targets.size(); ++r)
    if (targets[r] < 0) (*logp_values)[r] = no_value;
  in.on.upload(lse_values->data(), out.lse, rows * 4);
  in.on.upload(logp_values->data(), out.logp, rows * 4);
}

}  // namespace

void call_kernel(const PluginLibrary& plugin, const FormulaInput& in, RowResult out) {
  if (in.logits.rows == 0) return;
  const std::string subject = "plug-in " + plugin.facts.name;
  name_errors(subject, [&] { call_named(plugin, in, out, subject); });
}

}  // namespace drift
