// From the command line to the exit status; the only catch of what nobody else caught.

#include <cstdio>

#include "base/error.hpp"
#include "comm/mpi/parting.hpp"
#include "drift-audit/commands.hpp"

namespace drift {
namespace {

struct Dispatch {
  const Process& process;
  Console& console;

  int operator()(const TextRequest& request) const {
    console.print(request.text);
    return 0;
  }
  int operator()(const RunRequest& request) const { return run(request, process, console); }
  int operator()(const ExplainRequest& request) const { return explain(request, process, console); }
  int operator()(const PlanRequest& request) const { return plan(request, process, console); }
  int operator()(const CompareRequest& request) const { return compare(request, console); }
  int operator()(const InspectRequest& request) const { return inspect(request, console); }
  int operator()(const GenerateCommand& request) const { return generate(request, console); }
  int operator()(const FormulasRequest&) const { return list_formulas(console); }
  int operator()(const MetricsRequest&) const { return list_metrics(console); }
  int operator()(const SchemaRequest& request) const { return print_schema(request, console); }
};

/// The end of a rank that has no MPI to agree through (a typing error, a file that is not there): all ranks
/// come to the same status by themselves, and each must get to return it.
int with_the_others(const Process& process, int code) {
  if (!process.launched || code == 0) return code;
  outlive_the_launchers_signal();
  std::fflush(nullptr);
  end_at(common_moment(), code);
}

}  // namespace

int run_program(const Process& process) noexcept {
  Console console(process.speaks());
  try {
    const std::vector<std::string> words(process.argv.begin() + (process.argv.empty() ? 0 : 1),
                                         process.argv.end());
    const int code = std::visit(Dispatch{process, console}, parse_command_line(words));
    if (console.flush() || code > 1) return with_the_others(process, code);
    console.error("stdout did not take all of the output (a full disk or a closed pipe)");
    return with_the_others(process, static_cast<int>(Fault::io));
  } catch (const Error& error) {
    console.error(error.what());
    return with_the_others(process, error.exit_code());
  } catch (const std::bad_alloc&) {
    console.error("out of memory");
    return with_the_others(process, static_cast<int>(Fault::device));
  } catch (const std::exception& error) {
    console.error(std::string("a bug in drift-audit: ") + error.what());
    return with_the_others(process, static_cast<int>(Fault::internal));
  }
}

}  // namespace drift
