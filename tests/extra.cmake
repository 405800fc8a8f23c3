# arch.*: the architecture's promises, checked on the sources and on what this build's compiler and linker saw; then the
# tests that need a launcher (mpi.cmake) and the cases that go through the program (cases.cmake).

# The set-up of what every architecture check is called with.
set(scripts ${CMAKE_SOURCE_DIR}/scripts)
set(third_party_include
    "$<JOIN:$<TARGET_PROPERTY:MPI::MPI_C,INTERFACE_INCLUDE_DIRECTORIES>,;>"
    "$<JOIN:$<TARGET_PROPERTY:nlohmann_json::nlohmann_json,INTERFACE_INCLUDE_DIRECTORIES>,;>"
    "$<JOIN:$<TARGET_PROPERTY:CLI11::CLI11,INTERFACE_INCLUDE_DIRECTORIES>,;>"
    "$<JOIN:$<TARGET_PROPERTY:spdlog::spdlog,INTERFACE_INCLUDE_DIRECTORIES>,;>"
    ${XXHASH_INCLUDE_DIR})
set(nvcc "")
if(DRIFT_HAVE_CUDA)
  set(nvcc --nvcc ${CMAKE_CUDA_COMPILER})
  list(APPEND third_party_include ${CUDAToolkit_INCLUDE_DIRS})
  if(DRIFT_HAVE_NCCL)
    list(APPEND third_party_include ${NCCL_INCLUDE_DIR})
  endif()
endif()

add_test(NAME arch.layers COMMAND ${Python3_EXECUTABLE} ${scripts}/check_layers.py ${CMAKE_SOURCE_DIR})
add_test(NAME arch.text COMMAND ${Python3_EXECUTABLE} ${scripts}/check_text.py ${CMAKE_SOURCE_DIR})
add_test(NAME arch.oracle
         COMMAND ${Python3_EXECUTABLE} ${scripts}/check_oracle.py ${CMAKE_BINARY_DIR} ${CMAKE_SOURCE_DIR}
                 --archive $<TARGET_FILE_NAME:drift_oracle>)
set_tests_properties(arch.oracle PROPERTIES SKIP_RETURN_CODE 77)
add_test(NAME arch.headers
         COMMAND ${Python3_EXECUTABLE} ${scripts}/check_headers.py --root ${CMAKE_SOURCE_DIR}
                 --compiler ${CMAKE_CXX_COMPILER} ${nvcc} --include "${third_party_include}")
add_test(NAME arch.checks COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_SOURCE_DIR}/arch/checks_test.py)
set_tests_properties(arch.checks PROPERTIES ENVIRONMENT "CXX=${CMAKE_CXX_COMPILER};PYTHONDONTWRITEBYTECODE=1")
set_tests_properties(arch.layers arch.text arch.oracle arch.headers arch.checks PROPERTIES LABELS arch TIMEOUT 900)
set_tests_properties(arch.headers PROPERTIES PROCESSORS 2)

include(mpi.cmake OPTIONAL)
include(cases.cmake OPTIONAL)
