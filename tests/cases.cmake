# Cases through the program: one executable, one ctest entry a theme, each with a time limit.

file(GLOB case_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/cases/*_test.cpp)
add_executable(test_cases ${case_files} ${CMAKE_CURRENT_SOURCE_DIR}/cases/valid_reports.cpp)
target_include_directories(test_cases SYSTEM PRIVATE ${VALIJSON_INCLUDE_DIR})
target_link_libraries(test_cases PRIVATE drift_test_main drift_core drift_cuda drift_flags nlohmann_json::nlohmann_json)
add_dependencies(test_cases drift-audit)
foreach(theme values identity options status sweep dumps readme pairs meaning explain plugin gpu)
  add_test(NAME case.${theme} COMMAND test_cases [${theme}])
  set_tests_properties(case.${theme} PROPERTIES LABELS case TIMEOUT 900 ENVIRONMENT "${launch_environment}")
endforeach()
