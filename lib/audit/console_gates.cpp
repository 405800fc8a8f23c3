#include "audit/console_gates.hpp"

#include "report/gate.hpp"

namespace drift {

const GateReport* limit_of(const AggregateReport& report, const std::string& formula,
                           const std::string& quantity) {
  if (!report.gates) return nullptr;
  for (const GateReport& gate : *report.gates)
    if (gate.name == "candidates." + formula + "." + quantity) return &gate;
  return nullptr;
}

std::vector<const GateReport*> expressions(const AggregateReport& report) {
  std::vector<const GateReport*> out;
  if (report.gates)
    for (const GateReport& gate : *report.gates)
      if (is_expression(gate)) out.push_back(&gate);
  return out;
}

namespace {

template <class IsAbout>
Gated gated_where(const AggregateReport& report, IsAbout is_about_it) {
  Gated out = Gated::no;
  for (const GateReport* gate : expressions(report)) {
    if (!is_about_it(parse_gate(gate->name))) continue;
    if (!gate->passed) return Gated::failed;
    out = Gated::passed;
  }
  return out;
}

}  // namespace

Gated gated(const AggregateReport& report, std::size_t index, const std::string& reference) {
  return gated_where(report, [&](const Gate& gate) {
    return is_about(gate, index, (*report.recorded)[index].name, reference);
  });
}

Gated gated_pair(const AggregateReport& report, std::size_t index) {
  return gated_where(
      report, [&](const Gate& gate) { return is_about_pair(gate, index, (*report.pairs)[index].name); });
}

}  // namespace drift
