# drift_bench_gpu needs a GPU to run and nothing but CUDA to build.

if(DRIFT_HAVE_CUDA)
  add_executable(drift_bench_gpu gpu_kernels.cu)
  target_link_libraries(drift_bench_gpu PRIVATE drift_cuda drift_flags)
endif()
