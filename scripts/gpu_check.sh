#!/usr/bin/env bash
# Everything that needs a GPU, in one go: build with CUDA, all tests, memory and race checks of the kernels, NCCL waits that
# must end, speed. Prints a table last; exit status 0 only if every step passed.
#
#   scripts/gpu_check.sh [build-dir]          from the repository's root; the folder may be absent
#
# Environment:  DRIFT_EXTRA_INCLUDE  a folder with xxhash.h and valijson/, where the system has none
#               DRIFT_GPU_ARCH       CMAKE_CUDA_ARCHITECTURES, default "native"
#               DRIFT_GPU_STEPS      steps to run, default "build ctest memcheck racecheck nccl bench"
#               DRIFT_GPU_LOG        one file with every step's whole output, default <build-dir>/gpu-check.log
#               DRIFT_TEST_DATA, DRIFT_PEER_BITS  as for the tests
set -u -o pipefail

build=${1:-build-gpu}
steps=" ${DRIFT_GPU_STEPS:-build ctest memcheck racecheck nccl bench} "
logs=$build/gpu-check
rm -rf "$logs"
mkdir -p "$logs"
table=()
failed=0

# step NAME LIMIT_S COMMAND...: run, keep the log, note the outcome; the end of the log if it failed.
step() {
  local name=$1 limit=$2 begin=$SECONDS outcome=ok rc
  shift 2
  timeout -k 10 "$limit" "$@" >"$logs/$name.log" 2>&1
  rc=$?
  if [ $rc -ne 0 ]; then
    outcome="FAILED (exit $rc)"
    [ $rc -eq 124 ] && outcome="FAILED (over $limit s)"
    failed=1
    echo "--- $name: $outcome"
    tail -n 40 "$logs/$name.log"
  fi
  table+=("$(printf '%-22s %-22s %5d s' "$name" "$outcome" $((SECONDS - begin)))")
  return $rc
}

wanted() { [[ $steps == *" $1 "* ]]; }

finish() {
  cp "$build/Testing/Temporary/LastTest.log" "$logs/tests.log" 2>/dev/null
  tail -n +1 "$logs"/*.log >"${DRIFT_GPU_LOG:-$build/gpu-check.log}"
  [ -f "$logs/bench.log" ] && cat "$logs/bench.log"
  grep -h 'SKIPPED' "$logs"/*.log 2>/dev/null | sort | uniq -c
  echo
  printf '%s\n' "${table[@]}"
  exit $failed
}

if wanted build; then
  options=(-S . -B "$build" -DDRIFT_CUDA=ON -DDRIFT_BENCHMARKS=ON -DCMAKE_BUILD_TYPE=Release
           "-DCMAKE_CUDA_ARCHITECTURES=${DRIFT_GPU_ARCH:-native}")
  command -v ninja >/dev/null && [ ! -f "$build/Makefile" ] && options+=(-G Ninja)
  if [ -n "${DRIFT_EXTRA_INCLUDE:-}" ]; then
    options+=("-DXXHASH_INCLUDE_DIR=$DRIFT_EXTRA_INCLUDE" "-DVALIJSON_INCLUDE_DIR=$DRIFT_EXTRA_INCLUDE")
  fi
  step configure 120 cmake "${options[@]}" || finish
  step build 580 cmake --build "$build" --parallel "$(nproc)" || finish
fi

gpu_tests=$build/tests/test_cuda
if wanted ctest; then step ctest 580 ctest --test-dir "$build" --output-on-failure --parallel 4; fi
if wanted memcheck; then
  step memcheck 300 compute-sanitizer --tool memcheck --error-exitcode 9 --report-api-errors no "$gpu_tests" '~[large]' 'cuda*'
fi
if wanted racecheck; then
  for name in 'cuda row_max*' 'cuda row_sum_exp*' 'cuda row_moments: rows*' 'cuda torch_log_softmax: close*' 'cuda tree_sum: rows*'; do
    step "racecheck-$(tr -cd 'a-z_' <<<"${name#cuda }")" 200 \
      compute-sanitizer --tool racecheck --error-exitcode 9 "$gpu_tests" "$name"
  done
fi
if wanted nccl; then  # each in a process of its own: what matters is also that the process ends
  step nccl-one-rank 120 "$gpu_tests" 'nccl: one rank*'
  step nccl-no-peer 60 "$gpu_tests" '[.lonely]'
  step nccl-alarm 60 "$gpu_tests" '[.alarmed]'
fi
if wanted bench; then step bench 200 "$build/benchmarks/drift_bench_gpu"; fi
finish
