# Control over real MPI: one mpirun line a test, each with a time limit. Without mpirun they are skipped and say so.

add_executable(drift_mpi_checks comm/mpi/mpi_checks.cpp)
target_include_directories(drift_mpi_checks PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(drift_mpi_checks PRIVATE drift_mpi drift_core drift_flags)

# drift_mpi_test(<name> NP <ranks> EXIT <status> [EACH_RANK] [ORPHANS] [WITHIN <seconds>] ARGS <scenario>...)
function(drift_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "EACH_RANK;ORPHANS" "NP;EXIT;WITHIN" "ARGS")
  set(checks --exit ${test_EXIT})
  if(test_EACH_RANK)
    list(APPEND checks --each-rank)
  endif()
  if(test_ORPHANS)
    list(APPEND checks --orphans)
  endif()
  if(test_WITHIN)
    list(APPEND checks --within ${test_WITHIN})
  endif()
  add_test(NAME mpi.${name}
           COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/comm/mpi/expect_exit.py ${checks}
                   "${MPIEXEC_EXECUTABLE}" -- -np ${test_NP} $<TARGET_FILE:drift_mpi_checks> ${test_ARGS})
  # Yielding: these tests run more ranks than there may be cores.
  set_tests_properties(mpi.${name} PROPERTIES LABELS mpi TIMEOUT 120 SKIP_RETURN_CODE 77 PROCESSORS ${test_NP}
                       ENVIRONMENT "${launch_environment};OMPI_MCA_mpi_yield_when_idle=1")
endfunction()

foreach(ranks 1 2 4)
  drift_mpi_test(healthy.np${ranks} NP ${ranks} EXIT 0 EACH_RANK ARGS healthy)
  drift_mpi_test(failures.np${ranks} NP ${ranks} EXIT 4 EACH_RANK ARGS failures)
endforeach()
drift_mpi_test(differ NP 3 EXIT 8 EACH_RANK ARGS differ)
drift_mpi_test(drift NP 4 EXIT 1 EACH_RANK ARGS drift)
drift_mpi_test(parting NP 4 EXIT 0 EACH_RANK ARGS parting)
drift_mpi_test(fail.np2 NP 2 EXIT 4 EACH_RANK ARGS fail 1)
foreach(rank 0 1 2 3)
  drift_mpi_test(fail.rank${rank} NP 4 EXIT 4 EACH_RANK ARGS fail ${rank})
endforeach()

# Within: the deadline of 1.5 s, a second for the agreement, half a one for rank 0's report; the rest is mpirun's own.
drift_mpi_test(silent.rank0 NP 4 EXIT 7 WITHIN 12 ARGS silent 0)
drift_mpi_test(silent.rank3 NP 4 EXIT 7 WITHIN 12 ARGS silent 3)
drift_mpi_test(stopped NP 4 EXIT 7 WITHIN 12 ARGS stopped 1)
drift_mpi_test(killed NP 4 EXIT 137 WITHIN 12 ARGS killed 2)
drift_mpi_test(orphan NP 4 EXIT 0 ORPHANS ARGS orphan)
set_tests_properties(mpi.silent.rank0 mpi.silent.rank3 mpi.stopped PROPERTIES RUN_SERIAL ON)  # they measure time
