#pragma once

// One audit through the binary, with what it left behind.

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cases/valid_reports.hpp"
#include "dump/columns.hpp"
#include "support/catch.hpp"
#include "support/drift_audit.hpp"
#include "support/tiny_dump.hpp"

namespace drift::test {

struct Audit {
  Ran ran;
  std::string folder;
  nlohmann::json aggregate;  ///< null if there is none

  bool has_report() const { return !aggregate.is_null(); }
  nlohmann::json drift(const std::string& quantity, std::size_t candidate = 0) const {
    return aggregate.at("candidates").at(candidate).at("drift").at(quantity);
  }
  nlohmann::json digests(std::size_t candidate = 0) const {
    return aggregate.at("candidates").at(candidate).at("digests");
  }
  /// A column of tokens.safetensors.
  std::vector<float> column(const std::string& name) const {
    const DumpFile tokens = DumpFile::open(folder + "/tokens.safetensors");
    const TensorInfo* tensor = tokens.find(name);
    INFO("column " << name);
    REQUIRE(tensor != nullptr);
    return read_floats(tokens, *tensor);
  }
};

/// `drift-audit run DUMP --out OUT OPTIONS` on `ranks` ranks; 1: without a launcher. CPU unless the options
/// say otherwise.
inline Audit audit_case(const std::string& dump, const std::string& out, int ranks,
                        std::vector<std::string> options = {}, const How& how = {}) {
  std::vector<std::string> words{"run", dump, "--out", out};
  if (std::find(options.begin(), options.end(), "--backend") == options.end())
    options.insert(options.end(), {"--backend", "cpu"});
  words.insert(words.end(), options.begin(), options.end());
  Audit audit{.ran = ranks == 1 ? drift_audit(words, how) : drift_audit_on(ranks, words, how),
              .folder = out,
              .aggregate = nullptr};
  const std::string path = out + "/aggregate.json";
  if (std::filesystem::exists(path)) audit.aggregate = nlohmann::json::parse(file_text(path));
  CHECK(invalid_reports(out) == "");
  return audit;
}

/// A case on tp x cp ranks in a folder of its own.
class CaseFolder {
 public:
  Audit run(TinyDump dump, int tp, int cp = 1, std::vector<std::string> options = {}) {
    const std::string number = std::to_string(next_++);
    const std::string path = dump.write(folder_.path("case" + number + ".safetensors"));
    return run(path, tp, cp, std::move(options));
  }
  Audit run(const std::string& path, int tp, int cp = 1, std::vector<std::string> options = {}) {
    options.insert(options.begin(), {"--tp", std::to_string(tp), "--cp", std::to_string(cp)});
    return audit_case(path, folder_.path("out" + std::to_string(next_++)), tp * cp, std::move(options));
  }
  std::string path(const std::string& name = "") const { return folder_.path(name); }

 private:
  TemporaryFolder folder_;
  int next_ = 0;
};

inline bool skipped_without_mpirun() {
  static const bool missing = !has_mpirun();
  if (missing) WARN("SKIPPED: mpirun is not installed, so only worlds of one rank can run");
  return missing;
}

/// The oracle and the candidate give `lse` and `logp` in row 0, up to the cases' tolerance for inputs of this
/// size.
inline void check_row(const Audit& audit, double lse, double logp,
                      const std::string& formula = "fixed-tree") {
  constexpr double tolerance = 2e-6;
  INFO(audit.ran.all());
  REQUIRE(audit.has_report());
  CHECK(audit.ran.exit_code == 0);
  CHECK(std::abs(audit.column("oracle_lse").at(0) - lse) <= tolerance);
  CHECK(std::abs(audit.column("oracle_logp").at(0) - logp) <= tolerance);
  CHECK(std::abs(audit.column(formula + "_lse").at(0) - lse) <= tolerance);
  CHECK(std::abs(audit.column(formula + "_logp").at(0) - logp) <= tolerance);
}

/// One row of logits with its target.
inline TinyDump one_row(const std::vector<float>& logits, std::int64_t target, bool bf16 = false) {
  TinyDump dump;
  const std::vector<std::int64_t> shape{1, static_cast<std::int64_t>(logits.size())};
  if (bf16)
    dump.bf16("logits", shape, logits);
  else
    dump.f32("logits", shape, logits);
  dump.i64("targets", {1}, {target});
  return dump;
}

}  // namespace drift::test
