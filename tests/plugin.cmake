# Plug-ins that tests load: the examples, and one a fault from tests/plugin/faulty.

file(GLOB faulty_files CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/plugin/faulty/*.c
     ${CMAKE_CURRENT_SOURCE_DIR}/plugin/faulty/*.cpp)
set(test_plugins ${example_plugins})
foreach(file IN LISTS faulty_files)
  get_filename_component(stem ${file} NAME_WE)
  drift_add_plugin(faulty_${stem} faulty ${file})
  list(APPEND test_plugins faulty_${stem})
endforeach()
target_compile_definitions(drift_test_main PUBLIC DRIFT_PLUGIN_DIR="${DRIFT_PLUGIN_DIR}")
add_dependencies(drift_test_main ${test_plugins})
