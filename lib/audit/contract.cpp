#include "audit/contract.hpp"

#include "audit/options.hpp"
#include "base/build_info.hpp"
#include "base/digest.hpp"
#include "base/error.hpp"
#include "plugin/plugin.hpp"
#include "report/case_id.hpp"
#include "report/environment.hpp"

namespace drift {
namespace {

struct Signature {
  Digest contract, header, build, environment;
  std::int64_t dump_bytes;
};

std::string seen_by(int rank, const std::string& theirs, const std::string& ours) {
  return "rank " + std::to_string(rank) + " has " + theirs + ", rank 0 has " + ours;
}

}  // namespace

std::string contract_fingerprint(const Case& run) {
  NamedValues agreed = case_values(run.config);
  agreed.emplace_back("contract_bounds", run.bounds.bounds);
  agreed.emplace_back("contract_vocab", std::vector<std::int64_t>{run.vocab, run.real_vocab, run.padded_vocab,
                                                                  run.rows_per_chunk});
  agreed.emplace_back("contract_rows", std::vector<std::int64_t>{run.roles.batch, run.roles.sequence});
  std::vector<std::string> ids;
  for (const Formula* formula : run.formulas) ids.emplace_back(formula->id);
  agreed.emplace_back("contract_formulas", ids);
  std::vector<std::string> plugins;
  for (const std::string& path : run.config.plugin) plugins.push_back(plugin_digest(path));
  agreed.emplace_back("contract_plugins", plugins);
  return fingerprint(agreed);
}

std::vector<int> compare_contracts(const Case& run, const DumpFile& dump, const Environment& environment,
                                   Control& world) {
  const BuildInfo& build = build_info();
  const std::string built_as = std::string(build.version) + " " + std::string(build.revision) + " " +
                               std::string(build.compiler) + " " + std::string(build.cuda);
  Digester headers;
  std::int64_t dump_bytes = dump.bytes();
  headers.update(std::as_bytes(std::span(dump.header_digest())));
  for (const Recorded& recorded : run.roles.recorded) {
    if (!recorded.other) continue;
    headers.update(std::as_bytes(std::span(recorded.other->header_digest())));
    dump_bytes += recorded.other->bytes();
  }
  const Signature mine{.contract = digest(std::string_view(contract_fingerprint(run))),
                       .header = headers.finish(),
                       .build = digest(std::string_view(built_as)),
                       .environment = digest(std::string_view(digest_of(environment))),
                       .dump_bytes = dump_bytes};
  std::vector<Signature> all(static_cast<std::size_t>(world.size()));
  world.all_gather(&mine, all.data(), sizeof mine);

  std::vector<int> differing;
  const Signature& first = all[0];
  for (int rank = 1; rank < world.size(); ++rank) {
    const Signature& other = all[static_cast<std::size_t>(rank)];
    if (other.environment != first.environment) differing.push_back(rank);
    if (rank != world.rank()) continue;  // the rank that differs says so: the report then names it
    require(other.dump_bytes == first.dump_bytes && other.header == first.header, Fault::input,
            "ranks opened different dumps (their shards would not fit together): " +
                seen_by(rank, std::to_string(other.dump_bytes) + " bytes with header " + hex(other.header),
                        std::to_string(first.dump_bytes) + " bytes with header " + hex(first.header)));
    require(other.build == first.build, Fault::comm,
            "ranks run different builds of drift-audit (their numbers could differ for that alone): " +
                seen_by(rank, "build " + hex(other.build).substr(0, 12),
                        "build " + hex(first.build).substr(0, 12)));
    require(other.contract == first.contract, Fault::comm,
            "ranks were given different options (they would wait for each other): " +
                seen_by(rank, "contract " + hex(other.contract).substr(0, 12),
                        "contract " + hex(first.contract).substr(0, 12)));
  }
  return differing;
}

}  // namespace drift
