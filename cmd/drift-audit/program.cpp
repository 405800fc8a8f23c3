// From the command line to the exit status; the only catch of what nobody else caught.

#include <chrono>
#include <thread>

#include "base/error.hpp"
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
  int operator()(const PlanRequest& request) const { return plan(request, process, console); }
  int operator()(const CompareRequest& request) const { return compare(request, console); }
  int operator()(const InspectRequest& request) const { return inspect(request, console); }
  int operator()(const GenerateCommand& request) const { return generate(request, console); }
  int operator()(const FormulasRequest&) const { return list_formulas(console); }
  int operator()(const SchemaRequest& request) const { return print_schema(request, console); }
};

/// mpirun ends the job at the first status that is not 0: rank 0 lets the others out of MPI_Finalize, the
/// others let rank 0 say its last line.
int after_the_others(const Process& process, int code) {
  if (process.launched && code != 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(process.speaks() ? 100 : 300));
  return code;
}

}  // namespace

int run_program(const Process& process) noexcept {
  Console console(process.speaks());
  try {
    const std::vector<std::string> words(process.argv.begin() + (process.argv.empty() ? 0 : 1),
                                         process.argv.end());
    const int code = std::visit(Dispatch{process, console}, parse_command_line(words));
    if (console.flush() || code > 1) return after_the_others(process, code);
    console.error("stdout did not take all of the output (a full disk or a closed pipe)");
    return after_the_others(process, static_cast<int>(Fault::io));
  } catch (const Error& error) {
    console.error(error.what());
    return after_the_others(process, error.exit_code());
  } catch (const std::bad_alloc&) {
    console.error("out of memory");
    return after_the_others(process, static_cast<int>(Fault::device));
  } catch (const std::exception& error) {
    console.error(std::string("a bug in drift-audit: ") + error.what());
    return after_the_others(process, static_cast<int>(Fault::internal));
  }
}

}  // namespace drift
