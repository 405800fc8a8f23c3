# One floating-point rule for the whole project: IEEE operations in the order written. No contraction, no fast-math; the
# few kernels that must equal a peer's bits say so, per file, in targets.cmake.

add_library(drift_flags INTERFACE)
target_compile_options(drift_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wconversion -Wshadow -ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr -Xcompiler=-Wall,-Wextra,-ffp-contract=off>)
if(DRIFT_WERROR)  # restrict: GCC 12 sees overlaps in std::string that are not there
  target_compile_options(drift_flags INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-Werror;-Wno-error=restrict>"
                          $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
if(DRIFT_SANITIZE)
  target_compile_options(drift_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${DRIFT_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g>)
  target_link_options(drift_flags INTERFACE -fsanitize=${DRIFT_SANITIZE})
endif()
