// Commands about reports and schemas.

#include "base/error.hpp"
#include "drift-audit/commands.hpp"
#include "report/compare.hpp"
#include "report/schemas.hpp"

namespace drift {

int compare(const CompareRequest& request, const Console& console) {
  const CompareResult result = compare_reports(request.old_path, request.new_path);
  console.print(result.text);
  return result.exit_code;
}

int print_schema(const SchemaRequest& request, const Console& console) {
  std::string names;
  for (const Schema& schema : schemas()) {
    if (schema.name == request.name) {
      console.print(schema.text);
      return 0;
    }
    names += (names.empty() ? "" : ", ") + schema.name;
  }
  throw Error(Fault::usage, "there is no schema '" + request.name + "'; wanted one of " + names);
}

}  // namespace drift
