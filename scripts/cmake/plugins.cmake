# Plug-ins: the examples, and the C interface for others to build against.

# drift_add_plugin(<target> <folder> <file>): <file> as <stem>.so in <folder> of the build's plugins
function(drift_add_plugin target folder file)
  get_filename_component(stem ${file} NAME_WE)
  add_library(${target} MODULE ${file})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/lib/plugin)
  target_compile_features(${target} PRIVATE c_std_11)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C,CXX>:-O2 -Wall -Wextra>)
  target_link_libraries(${target} PRIVATE m Threads::Threads)
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME ${stem} C_EXTENSIONS ON
                        LIBRARY_OUTPUT_DIRECTORY ${DRIFT_PLUGIN_DIR}/${folder})
endfunction()

set(DRIFT_PLUGIN_DIR ${CMAKE_BINARY_DIR}/plugins)
drift_add_plugin(example_cpu_log_prob "" ${CMAKE_SOURCE_DIR}/examples/plugin/cpu_log_prob.c)
set(example_plugins example_cpu_log_prob)
if(DRIFT_HAVE_CUDA)
  drift_add_plugin(example_cuda_log_prob "" ${CMAKE_SOURCE_DIR}/examples/plugin/cuda_log_prob.cu)
  list(APPEND example_plugins example_cuda_log_prob)
endif()
install(FILES lib/plugin/drift_plugin.h TYPE INCLUDE)
