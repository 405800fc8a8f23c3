# The layers as libraries. Folders are globbed: a new file is built and tested because it exists.

# The oracle links nothing of ours, on purpose (tests: arch.oracle).
file(GLOB oracle_files CONFIGURE_DEPENDS lib/oracle/*.cpp)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  file(GLOB oracle_simd_files CONFIGURE_DEPENDS lib/oracle/x86/*.cpp)
else()
  file(GLOB oracle_simd_files CONFIGURE_DEPENDS lib/oracle/portable/*.cpp)
endif()
list(APPEND oracle_files ${oracle_simd_files})
if(DRIFT_HAVE_CUDA)
  file(GLOB oracle_cuda_files CONFIGURE_DEPENDS cuda/oracle/*.cu)
  list(APPEND oracle_files ${oracle_cuda_files})
else()
  list(APPEND oracle_files lib/oracle/without_cuda/oracle_cuda.cpp)
endif()
add_library(drift_oracle STATIC ${oracle_files})
target_include_directories(drift_oracle PUBLIC lib)
target_link_libraries(drift_oracle PRIVATE drift_flags)
target_compile_options(drift_oracle PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O3> $<$<COMPILE_LANGUAGE:CUDA>:-fmad=false>)

# Everything that knows no GPU, no MPI and no command line.
file(GLOB core_files CONFIGURE_DEPENDS lib/base/*.cpp lib/topology/*.cpp lib/dump/*.cpp lib/kernels/*.cpp lib/backend/*.cpp
     lib/comm/*.cpp lib/stats/*.cpp lib/report/*.cpp lib/explain/*.cpp lib/plugin/*.cpp lib/audit/*.cpp lib/formulas/registry.cpp)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  file(GLOB simd_files CONFIGURE_DEPENDS lib/kernels/x86/*.cpp)
else()
  file(GLOB simd_files CONFIGURE_DEPENDS lib/kernels/portable/*.cpp)
endif()
list(APPEND core_files ${simd_files})
configure_file(lib/base/build_info.cpp.in generated/build_info.cpp @ONLY)
list(APPEND core_files ${CMAKE_BINARY_DIR}/generated/build_info.cpp)
include(schemas)  # schemas/*.json -> generated/schemas.cpp
list(APPEND core_files ${DRIFT_SCHEMAS_CPP})
add_library(drift_core STATIC ${core_files})
target_include_directories(drift_core PUBLIC lib)
target_include_directories(drift_core SYSTEM PRIVATE ${XXHASH_INCLUDE_DIR})
target_link_libraries(drift_core PUBLIC drift_oracle Threads::Threads ${CMAKE_DL_LIBS} PRIVATE drift_flags nlohmann_json::nlohmann_json)
file(GLOB kernel_files CONFIGURE_DEPENDS lib/kernels/*.cpp lib/kernels/x86/*.cpp lib/kernels/portable/*.cpp)
# -fno-trapping-math: loops with selects vectorise. It changes exception flags, which nobody reads, and no value.
set_source_files_properties(${kernel_files} PROPERTIES COMPILE_OPTIONS "-O3;-fno-trapping-math")
set_source_files_properties(lib/base/digest.cpp PROPERTIES COMPILE_OPTIONS -O3 COMPILE_DEFINITIONS XXH_INLINE_ALL)

# OBJECT: the linker may not drop a formula that nobody names.
file(GLOB formula_files CONFIGURE_DEPENDS lib/formulas/*.cpp)
list(REMOVE_ITEM formula_files ${CMAKE_SOURCE_DIR}/lib/formulas/registry.cpp)
add_library(drift_formulas OBJECT ${formula_files})
target_link_libraries(drift_formulas PUBLIC drift_core PRIVATE drift_flags)

file(GLOB mpi_files CONFIGURE_DEPENDS lib/comm/mpi/*.cpp)
add_library(drift_mpi STATIC ${mpi_files})
target_link_libraries(drift_mpi PUBLIC drift_core PRIVATE drift_flags MPI::MPI_C)
# mpi.h's C++ classes left the MPI standard in 2012 and need a library of their own.
target_compile_definitions(drift_mpi PRIVATE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)

# One of two sets of files answers "what GPUs are there": no #if anywhere.
if(DRIFT_HAVE_CUDA)
  file(GLOB cuda_files CONFIGURE_DEPENDS cuda/backend/*.cpp cuda/backend/*.cu cuda/kernels/*.cu)
  if(DRIFT_HAVE_NCCL)
    file(GLOB nccl_files CONFIGURE_DEPENDS cuda/comm/*.cpp)
  else()
    file(GLOB nccl_files CONFIGURE_DEPENDS cuda/without_nccl/*.cpp)
  endif()
  add_library(drift_cuda STATIC ${cuda_files} ${nccl_files})
  target_include_directories(drift_cuda PUBLIC cuda)
  target_link_libraries(drift_cuda PUBLIC drift_core CUDA::cudart PRIVATE drift_flags)
  if(DRIFT_HAVE_NCCL)
    target_link_libraries(drift_cuda PUBLIC drift_nccl)
  endif()
  # Same bits as the CPU: no contraction. torch_log_softmax.cu must equal torch's bits and keeps nvcc's default.
  file(GLOB cuda_kernel_files CONFIGURE_DEPENDS cuda/kernels/*.cu)
  list(REMOVE_ITEM cuda_kernel_files ${CMAKE_SOURCE_DIR}/cuda/kernels/torch_log_softmax.cu)
  set_source_files_properties(${cuda_kernel_files} PROPERTIES COMPILE_OPTIONS -fmad=false)
else()
  file(GLOB cuda_files CONFIGURE_DEPENDS cuda/without_cuda/*.cpp)
  add_library(drift_cuda STATIC ${cuda_files})
  target_include_directories(drift_cuda PUBLIC cuda)
  target_link_libraries(drift_cuda PUBLIC drift_core PRIVATE drift_flags)
endif()

file(GLOB app_files CONFIGURE_DEPENDS cmd/drift-audit/*.cpp)
list(REMOVE_ITEM app_files ${CMAKE_SOURCE_DIR}/cmd/drift-audit/main.cpp)
add_library(drift_app STATIC ${app_files})  # everything but main, so that tests can link it
target_include_directories(drift_app PUBLIC cmd)
target_link_libraries(drift_app PUBLIC drift_core drift_mpi drift_cuda CLI11::CLI11 spdlog::spdlog PRIVATE drift_flags)
add_executable(drift-audit cmd/drift-audit/main.cpp)
target_link_libraries(drift-audit PRIVATE drift_app drift_formulas drift_flags)
install(TARGETS drift-audit)
