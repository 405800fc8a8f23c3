// The one resolver: command line, then the dump's metadata, then the default. Reads no tensor data.

#include <cmath>

#include "audit/case.hpp"
#include "audit/options.hpp"
#include "audit/resolve_parts.hpp"
#include "base/error.hpp"
#include "dump/facts.hpp"
#include "dump/text.hpp"

namespace drift {
namespace {

constexpr std::int64_t chunk_bytes = std::int64_t{64} << 20;

bool typed(const Config& config, const std::string& name) { return config.typed.contains(name); }

/// Who is to blame for a value: the user who typed it, or the dump.
Fault blame(const Config& config, const std::string& name) {
  return typed(config, name) ? Fault::usage : Fault::input;
}
std::string origin(const Config& config, const std::string& name, const std::string& key) {
  return typed(config, name) ? "--" + name : "the dump's metadata (" + key + ")";
}

struct Resolver {
  Case& out;
  const DumpFile& dump;
  DumpFacts facts;

  Config& config() { return out.config; }

  /// Take `value` from the dump for an option that was not typed; say aloud when a typed one overrides it.
  template <class T>
  void from_metadata(const std::string& name, const std::optional<T>& value, T Config::*member) {
    if (!value) return;
    if (!typed(config(), name)) {
      config().*member = *value;
      set_source(name, "metadata");
    } else if (config().*member != *value) {
      out.warnings.push_back("--" + name + " " + text(config().*member) +
                             " overrides the dump's metadata, which says " + text(*value));
    }
  }
  static std::string text(double value) { return to_text(value); }
  static std::string text(std::int64_t value) { return std::to_string(value); }
  static std::string text(const std::string& value) { return value; }

  void set_source(const std::string& name, const std::string& source) {
    for (auto& [key, value] : out.sources)
      if (key == key_of(name)) value = source;
  }

  void names() {
    out.roles = find_roles(dump, role_names(config()));
    check_facts(dump, facts, out.roles, overridden_facts(config()));
    out.warnings.insert(out.warnings.end(), facts.warnings.begin(), facts.warnings.end());
    out.warnings.insert(out.warnings.end(), out.roles.warnings.begin(), out.roles.warnings.end());
    config().logits = out.roles.logits.name;
    config().targets = out.roles.targets.name;
    config().mask = out.roles.mask ? out.roles.mask->name : "";
    config().recorded.clear();
    for (const Recorded& recorded : out.roles.recorded) config().recorded.push_back(word_of(recorded));
    from_metadata("ignore-index", facts.ignore_index, &Config::ignore_index);
  }

  /// A temperature a row is read with the rows; a scalar beside it would be a second answer to one question.
  void temperature_of_rows() {
    if (!out.roles.temperature) return;
    const TensorInfo& tensor = *out.roles.temperature;
    if (typed(config(), "temperature")) {
      out.warnings.push_back("--temperature " + to_text(config().temperature) +
                             " overrides the dump's tensor " + describe(tensor));
      out.roles.temperature.reset();
      return;
    }
    require(!facts.temperature, Fault::input,
            dump.shown_path() + ": both the metadata (temperature " + to_text(facts.temperature.value_or(0)) +
                ") and " + describe(tensor) +
                " say what logits are divided by; wanted one of them, or --temperature");
  }

  void check_width(const TensorInfo& kept_mask) const {
    const std::int64_t width = kept_mask.shape.back();
    require(width == out.real_vocab || width == out.padded_vocab, Fault::input,
            dump.shown_path() + ": " + describe(kept_mask) + " is neither as wide as the vocabulary, " +
                std::to_string(out.real_vocab) + ", nor as the logits, " + std::to_string(out.padded_vocab));
  }

  /// What the sampler kept: typed, else the dump's own kept sets, else what the metadata says.
  void truncation() {
    const bool is_typed = typed(config(), "top-k") || typed(config(), "top-p") || typed(config(), "min-p");
    const bool is_raw = facts.logprob_mode == "raw", has_sets = out.roles.has_kept_sets();
    if (is_raw && !is_typed && (has_sets || facts.top_k || facts.top_p || facts.min_p))
      out.warnings.push_back(
          "the dump's metadata says that its log-probs are raw: they are compared over the whole "
          "vocabulary, whatever the sampler kept");
    if (!is_raw && (is_typed || !has_sets)) {
      from_metadata("top-k", facts.top_k, &Config::top_k);
      from_metadata("top-p", facts.top_p, &Config::top_p);
      from_metadata("min-p", facts.min_p, &Config::min_p);
    }
    out.truncation = {.top_k = config().top_k, .top_p = config().top_p, .min_p = config().min_p};
    if (!has_sets || is_raw) return;
    if (is_typed) {
      out.warnings.push_back("--top-k, --top-p and --min-p override the dump's kept sets");
      return;
    }
    if (out.roles.kept_mask) check_width(*out.roles.kept_mask);
    out.has_kept_sets = true;  // the sets are what top-k and the others came to
    out.truncation = {};
  }

  void vocabulary() {
    out.padded_vocab = out.roles.padded_vocab;
    const std::int64_t padded = out.padded_vocab;
    from_metadata("real-vocab", facts.real_vocab_size, &Config::real_vocab);
    if (config().real_vocab == 0) config().real_vocab = padded;
    const std::int64_t real = config().real_vocab;
    require(1 <= real && real <= padded, blame(config(), "real-vocab"),
            origin(config(), "real-vocab", "real_vocab_size") + " says that " + std::to_string(real) +
                " columns count, wanted 1 to " + std::to_string(padded) + ", the last dimension of " +
                in_quotes(out.roles.logits.name));
    out.real_vocab = real;
    out.vocab = config().padding == "include" ? padded : real;
  }

  void temperature() {
    from_metadata("temperature", facts.temperature, &Config::temperature);
    const double t = config().temperature;
    const float narrow = static_cast<float>(t);
    require(std::isfinite(t) && t > 0 && std::isfinite(narrow) && narrow > 0, blame(config(), "temperature"),
            origin(config(), "temperature", "temperature") + " cannot be " + to_text(t) +
                " (logits are divided by it), wanted a number above 0 that fp32 can hold");
  }

  void value_rule() {
    const Dtype stored = out.roles.logits.dtype;
    const std::string& wanted = config().candidate_dtype;
    Dtype candidate = stored == Dtype::F64 ? Dtype::F32 : stored;
    if (wanted == "bf16") candidate = Dtype::BF16;
    if (wanted == "f16") candidate = Dtype::F16;
    if (wanted == "f32") candidate = Dtype::F32;
    out.candidate = {.stored = stored,
                     .candidate = candidate,
                     .order = config().temperature_order == "native"       ? TemperatureOrder::native
                              : config().temperature_order == "reciprocal" ? TemperatureOrder::reciprocal
                                                                           : TemperatureOrder::f32,
                     .temperature = static_cast<float>(config().temperature)};
    out.input_is_rounded = candidate != stored && candidate != Dtype::F32;
    check_order(out.candidate);
  }

  void topology() {
    from_metadata("cp-layout", facts.cp_layout, &Config::cp_layout);
    const std::string& layout = config().cp_layout;
    require(layout == "contiguous" || layout == "zigzag", Fault::input,
            "cp_layout in the metadata is '" + layout + "', wanted contiguous or zigzag");
    out.layout = layout == "zigzag" ? CpLayout::zigzag : CpLayout::contiguous;
    out.grid = {static_cast<int>(config().tp), static_cast<int>(config().cp)};
    out.bounds = config().vocab_bounds.empty()
                     ? even_bounds(out.padded_vocab, out.grid.tp)
                     : checked_bounds(config().vocab_bounds, out.grid.tp, out.padded_vocab);
  }

  /// One rank compares pairs; there is nothing to cut among more.
  void without_logits() {
    const bool is_asked = typed(config(), "tp") || typed(config(), "cp");
    require(!is_asked || (config().tp == 1 && config().cp == 1), Fault::usage,
            "the dump has no logits, so pairs of recorded tensors are compared by one rank (there is no "
            "vocabulary to cut), "
            "seen --tp " +
                std::to_string(config().tp) + " --cp " + std::to_string(config().cp) + ", wanted 1 and 1");
    for (const char* name : {"plugin", "require", "row-stats"})
      require(
          !typed(config(), name), Fault::usage,
          "--" + std::string(name) + " needs logits, and the dump has none (pairs of recorded tensors only)");
    out.grid = {1, 1};
    out.bounds = {{0, 0}};
    out.rows_per_chunk = config().rows_per_chunk;
    choose_pairs(out);
    require(!out.pairs.empty(), Fault::input,
            dump.shown_path() +
                ": there are no logits, and no two recorded tensors of one kind: nothing to compare");
    name_idle_options(out);
  }

  void chunks() {
    if (config().rows_per_chunk == 0) {
      const std::int64_t row_bytes = out.padded_vocab * bytes(out.roles.logits.dtype);
      config().rows_per_chunk = std::max<std::int64_t>(1, std::min(out.roles.rows, chunk_bytes / row_bytes));
    }
    out.rows_per_chunk = config().rows_per_chunk;
  }
};

}  // namespace

void check_order(const ValueRule& rule) {
  const float t = rule.temperature;
  const float factor = rule.order == TemperatureOrder::native       ? rounded_to(rule.candidate, t)
                       : rule.order == TemperatureOrder::reciprocal ? 1.0f / t
                                                                    : t;
  const std::string order = rule.order == TemperatureOrder::native       ? "native"
                            : rule.order == TemperatureOrder::reciprocal ? "reciprocal"
                                                                         : "f32";
  require(factor > 0 && std::isfinite(factor), Fault::usage,
          "--temperature-order " + order + " cannot use the temperature " + to_text(static_cast<double>(t)) +
              ": its factor would be " + to_text(static_cast<double>(factor)));
}

RoleNames role_names(const Config& config) {
  return {.logits = config.logits,
          .targets = config.targets,
          .mask = config.mask,
          .recorded = config.recorded,
          .targets_are_input_ids = config.targets_are == "input-ids",
          .targets_are_typed = typed(config, "targets-are")};
}

Overridden overridden_facts(const Config& config) {
  Overridden out;
  for (const auto& [option, fact] : {std::pair("temperature", "temperature"),
                                     {"real-vocab", "real_vocab_size"},
                                     {"ignore-index", "ignore_index"},
                                     {"top-k", "top_k"},
                                     {"top-p", "top_p"},
                                     {"min-p", "min_p"},
                                     {"cp-layout", "cp_layout"}})
    if (typed(config, option)) out.insert(fact);
  return out;
}

Case resolve(const Config& config, const DumpFile& dump, const std::string& backend) {
  check_options(config);
  Case out;
  out.config = config;
  out.warnings = dump.warnings();
  for (const auto& [key, value] : case_values(config)) out.sources.emplace_back(key, "default");
  Resolver resolver{out, dump, read_facts(dump, overridden_facts(config))};
  resolver.set_source("dump", "option");
  for (const std::string& name : config.typed) resolver.set_source(name, "option");

  resolver.names();
  if (!out.has_logits()) {
    resolver.without_logits();
    return out;
  }
  resolver.vocabulary();
  resolver.temperature_of_rows();
  resolver.temperature();
  resolver.truncation();
  resolver.value_rule();
  resolver.topology();
  resolver.chunks();
  choose_formulas(out, backend);
  choose_pairs(out);
  name_idle_options(out);
  return out;
}

}  // namespace drift
