#include "plugin/library.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <initializer_list>

#include "base/error.hpp"
#include "base/printable.hpp"

namespace drift {
namespace {

constexpr std::size_t longest_name = 40, longest_text = 400;
constexpr std::array known_dtypes{Dtype::BF16, Dtype::F16, Dtype::F32, Dtype::F64};

std::string shown(const std::string& path) { return "plug-in " + escaped(path, 300); }

void check_file(const std::string& path) {
  struct stat seen = {};
  if (::stat(path.c_str(), &seen) != 0 || ::access(path.c_str(), R_OK) != 0)
    throw Error(Fault::io, shown(path) + " cannot be read: " + std::strerror(errno));
  require(S_ISREG(seen.st_mode), Fault::usage,
          shown(path) + " is no file that could be loaded, wanted a shared object (.so)");
}

/// Loading runs the library's constructors: they are foreign code like the rest.
void* load(const std::string& path, PluginLibrary& out) {
  const std::string name = path.find('/') == std::string::npos ? "./" + path : path;
  const std::string who = escaped(path, 300);
  void* handle = nullptr;
  const Watchdog watchdog(shown(path), out.deadline_seconds, Watchdog::Late::jump);
  const Ending ending = call_guarded(who.c_str(), out.modes, watchdog,
                                     [&] { handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL); });
  require(ending.is_well(), ending.fault, shown(path) + " " + ending.text + " while it was loaded");
  if (handle != nullptr) return handle;
  const char* reason = ::dlerror();
  throw Error(Fault::usage,
              shown(path) + " cannot be loaded (wanted a shared object for this machine with all libraries " +
                  "that it needs): " + escaped(reason != nullptr ? reason : "no reason given", 600));
}

template <class Function>
Function* symbol(void* handle, const std::string& path, const char* name) {
  void* found = ::dlsym(handle, name);
  require(found != nullptr, Fault::usage,
          shown(path) + " does not export " + name +
              " (it is not a drift-audit plug-in, or C++ gave the function another " +
              "name: it has to be extern \"C\" and visible)");
  return reinterpret_cast<Function*>(found);
}

/// What describe() filled in, with its strings copied while a wild pointer is still caught.
struct Told {
  drift_plugin_info info = {};
  char name[longest_text + 1] = {}, summary[longest_text + 1] = {}, claims[longest_text + 1] = {};
};

void copy_text(const char* from, char* to) {
  if (from != nullptr) std::memcpy(to, from, ::strnlen(from, longest_text));
}

Told ask(decltype(&drift_plugin_describe) describe, const std::string& path, PluginLibrary& out) {
  Told told;
  told.info.struct_size = sizeof told.info;
  int status = 0;
  const std::string who = escaped(path, 300);
  const Watchdog watchdog(shown(path), out.deadline_seconds, Watchdog::Late::jump);
  const Ending ending = call_guarded(who.c_str(), out.modes, watchdog, [&] {
    status = describe(&told.info);
    if (status != 0 || told.info.abi != DRIFT_PLUGIN_ABI) return;
    copy_text(told.info.name, told.name);
    copy_text(told.info.summary, told.summary);
    copy_text(told.info.claims, told.claims);
  });
  require(ending.is_well(), ending.fault, shown(path) + " " + ending.text + " in drift_plugin_describe");
  require(status == 0, Fault::usage,
          shown(path) + " does not want to be used here: drift_plugin_describe returned " +
              std::to_string(status));
  require(told.info.abi == DRIFT_PLUGIN_ABI, Fault::usage,
          shown(path) + " is made for another version of the interface, seen ABI " +
              std::to_string(told.info.abi) + ", wanted " + std::to_string(int{DRIFT_PLUGIN_ABI}) +
              " (compile it again with this version's drift_plugin.h)");
  return told;
}

std::string checked_name(const std::string& name, const std::string& path) {
  const bool is_plain = !name.empty() && name.size() <= longest_name &&
                        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string::npos;
  require(is_plain, Fault::usage,
          shown(path) + " has a name that cannot stand in reports, seen '" + escaped(name, 80) +
              "', wanted 1 to " + std::to_string(longest_name) + " of a-z, 0-9 and '-'");
  for (const char* taken : {"all", "oracle", "recorded", "none"})
    require(name != taken, Fault::usage,
            shown(path) + " is named '" + name + "', a word of the reports' own");
  require(
      find_formula(name) == nullptr, Fault::usage,
      shown(path) + " is named '" + name + "' like a built-in formula (reports could not tell them apart)");
  return name;
}

Claims checked_claims(const std::string& text, const std::string& path) {
  Claims out;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    std::string word = text.substr(at, comma - at);
    at = comma + 1;
    std::erase(word, ' ');
    if (word == "tp")
      out.tp = true;
    else if (word == "bounds")
      out.bounds = true;
    else if (word == "padded-width")
      out.padded_width = true;
    else if (word == "rows")
      out.rows = true;
    else if (word == "chunking")
      out.chunking = true;
    else if (word == "backend")
      out.backend = true;
    else
      require(word.empty() || word == "replicated", Fault::usage,
              shown(path) + " claims '" + escaped(word, 80) +
                  "', which is no claim; wanted any of tp, bounds, padded-width, rows, chunking, backend, "
                  "replicated");
  }
  return out;
}

void check_bits(std::uint32_t bits, std::uint32_t known, bool is_needed, const char* member,
                const std::string& path) {
  require((bits & ~known) == 0 && (bits != 0 || !is_needed), Fault::usage,
          shown(path) + " sets " + member + " to what this version does not know, seen " +
              std::to_string(bits) + ", wanted a sum of bits of " + std::to_string(known) +
              (is_needed ? ", one at least" : ""));
}

double checked_bound(double bound, const char* member, const std::string& path) {
  require(std::isfinite(bound) && bound >= 0, Fault::usage,
          shown(path) + " sets " + member + " to " + std::to_string(bound) +
              ", wanted an error in nats, or 0 for the default");
  return bound;
}

Dtype checked_output(std::uint32_t bit, const std::string& path) {
  if (bit == 0) return Dtype::F32;
  for (const Dtype dtype : {Dtype::F32, Dtype::BF16, Dtype::F16})
    if (bit == plugin_bit(dtype)) return dtype;
  throw Error(Fault::usage, shown(path) + " sets output_dtype to " + std::to_string(bit) +
                                ", wanted the bit of F32, BF16 or F16");
}

}  // namespace

std::uint32_t plugin_bit(Dtype dtype) {
  switch (dtype) {
    case Dtype::BF16: return DRIFT_DTYPE_BF16;
    case Dtype::F16: return DRIFT_DTYPE_F16;
    case Dtype::F32: return DRIFT_DTYPE_F32;
    case Dtype::F64: return DRIFT_DTYPE_F64;
    default: return 0;
  }
}

std::uint32_t plugin_bit(TemperatureOrder order) {
  switch (order) {
    case TemperatureOrder::native: return DRIFT_TEMPERATURE_NATIVE;
    case TemperatureOrder::reciprocal: return DRIFT_TEMPERATURE_RECIPROCAL;
    case TemperatureOrder::f32: break;
  }
  return DRIFT_TEMPERATURE_F32;
}

std::string dtype_names(std::uint32_t bits) {
  std::string out;
  for (const Dtype dtype : known_dtypes)
    if (bits & plugin_bit(dtype)) out += (out.empty() ? "" : ", ") + std::string(name(dtype));
  return out.empty() ? "none" : out;
}

PluginLibrary open_plugin(const std::string& path, double deadline_seconds) {
  check_file(path);
  PluginLibrary out;
  out.deadline_seconds = deadline_seconds;
  void* handle = load(path, out);
  auto* describe = symbol<decltype(drift_plugin_describe)>(handle, path, "drift_plugin_describe");
  out.log_prob = symbol<decltype(drift_plugin_log_prob)>(handle, path, "drift_plugin_log_prob");

  const Told told = ask(describe, path, out);
  constexpr std::uint32_t all_dtypes = DRIFT_DTYPE_BF16 | DRIFT_DTYPE_F16 | DRIFT_DTYPE_F32 | DRIFT_DTYPE_F64;
  check_bits(told.info.memories, DRIFT_MEMORY_HOST | DRIFT_MEMORY_CUDA, true, "memories", path);
  check_bits(told.info.dtypes, all_dtypes, true, "dtypes", path);
  check_bits(told.info.rounds_to, all_dtypes, false, "rounds_to", path);
  check_bits(told.info.temperature_orders,
             DRIFT_TEMPERATURE_F32 | DRIFT_TEMPERATURE_NATIVE | DRIFT_TEMPERATURE_RECIPROCAL, false,
             "temperature_orders", path);
  check_bits(told.info.wants_whole_rows, 1, false, "wants_whole_rows", path);
  out.facts = {.name = checked_name(told.name, path),
               .summary = escaped(told.summary, longest_text),
               .claims = checked_claims(told.claims, path),
               .memories = told.info.memories,
               .dtypes = told.info.dtypes,
               .rounds_to = told.info.rounds_to,
               .temperature_orders = told.info.temperature_orders,
               .wants_whole_rows = told.info.wants_whole_rows == 1,
               .output = checked_output(told.info.output_dtype, path),
               .lse_bound = checked_bound(told.info.lse_bound, "lse_bound", path),
               .logp_bound = checked_bound(told.info.logp_bound, "logp_bound", path)};
  return out;
}

}  // namespace drift
