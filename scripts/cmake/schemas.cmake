# Builds schemas/*.json into the program, so that `drift-audit schema NAME` needs no file beside it.

file(GLOB schema_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/schemas/*.json)
set(DRIFT_SCHEMAS_CPP ${CMAKE_BINARY_DIR}/generated/schemas.cpp)
set(rows "")
foreach(file IN LISTS schema_files)
  get_filename_component(stem ${file} NAME)
  string(REPLACE ".schema.json" "" stem ${stem})
  file(READ ${file} text)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  string(LENGTH "${text}" length)
  string(APPEND rows "    {\"${stem}\", std::string()")
  set(at 0)
  while(at LESS length)  # a string literal may hold 64 KiB at most
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND rows "\n         + R\"schema(${piece})schema\"")
    math(EXPR at "${at} + 8000")
  endwhile()
  string(APPEND rows "},\n")
endforeach()
file(CONFIGURE OUTPUT ${DRIFT_SCHEMAS_CPP} CONTENT [[
#include "report/schemas.hpp"

namespace drift {

const std::vector<Schema>& schemas() {
  static const std::vector<Schema> all{
@rows@  };
  return all;
}

}  // namespace drift
]] @ONLY)
