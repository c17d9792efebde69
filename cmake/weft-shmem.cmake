# Programs of OpenSHMEM: tests/conformance/shmem/, examples/shmem/ and apps/triangles, all of oshcc. Each runs with its
# PEs in one process, in two, and in one each. ctest -R '^shmem\.' runs them all.

set(oshcc ${PROJECT_BINARY_DIR}/bin/oshcc)
set(shmem_directory ${PROJECT_SOURCE_DIR}/tests/conformance/shmem)
set(shmem_bin ${PROJECT_BINARY_DIR}/bin/shmem)
set(shmem_headers ${PROJECT_SOURCE_DIR}/include/shmem/shmem.h ${PROJECT_SOURCE_DIR}/include/shmem/shmemx.h
  ${PROJECT_SOURCE_DIR}/include/shmem/shmemx.hpp ${shmem_directory}/conform.h)
file(MAKE_DIRECTORY ${shmem_bin})
set(programs)

function(weft_add_shmem_program name source)  # FLAGS...
  set(compile ${oshcc} -std=gnu11)
  if(source MATCHES "\\.cpp$")
    set(compile ${PROJECT_BINARY_DIR}/bin/oshc++ -std=gnu++20)
  endif()
  set(libraries ${ARGN})
  list(FILTER libraries INCLUDE REGEX "\\.so$")
  cmake_path(GET source PARENT_PATH directory)
  file(GLOB headers CONFIGURE_DEPENDS ${directory}/*.h)
  add_custom_command(OUTPUT ${shmem_bin}/${name}
    DEPENDS ${source} ${libraries} ${shmem_headers} ${headers} weft-wrappers weft-program ${PROJECT_BINARY_DIR}/bin/weftcc
    COMMAND ${compile} -Wall -O1 -g ${source} ${ARGN} -lm -o ${shmem_bin}/${name})
  set(programs ${programs} ${shmem_bin}/${name} PARENT_SCOPE)
endfunction()
function(weft_add_shmem_test name)  # COMMAND...
  add_test(NAME shmem.${name} COMMAND ${ARGN})
  set_tests_properties(shmem.${name} PROPERTIES LABELS shmem TIMEOUT 120 PROCESSORS 2)
endfunction()

foreach(program IN ITEMS setup.c access.c atomics.c corners.c collectives.c waiting.c active_messages.c sessions.c with_mpi.c with_sessions.c
    rpc.cpp all_faces.cpp)
  cmake_path(GET program STEM name)
  weft_add_shmem_program(${name} ${shmem_directory}/${program})
  set(run ${conformance_directory}/run.sh ${weftrun})
  weft_add_shmem_test(${name}.n1 ${run} -n 1 ${shmem_bin}/${name})
  weft_add_shmem_test(${name}.n5 ${run} -n 5 ${shmem_bin}/${name})
  weft_add_shmem_test(${name}.processes ${run} -n 5 --processes 2 ${shmem_bin}/${name})
  weft_add_shmem_test(${name}.alone ${run} -n 3 --ranks-per-process 1 ${shmem_bin}/${name})
endforeach()
weft_add_shmem_test(with_mpi.mpi_first ${conformance_directory}/run.sh ${weftrun} -n 3 ${shmem_bin}/with_mpi first)
weft_add_shmem_test(with_mpi.threads ${conformance_directory}/run.sh ${weftrun} -n 4 ${shmem_bin}/with_mpi threads)
# The last PE dies with a lock that all others wait for.
weft_add_shmem_test(corners.lost_lock ${conformance_directory}/run_bad.sh "called abort" ${weftrun} -n 4 --processes 2 ${shmem_bin}/corners lock)
# With a library that ranks of one process have each for themselves, and a rank that is alone in its process.
weft_add_shmem_program(setup_openmp ${shmem_directory}/setup.c -fopenmp)
weft_add_shmem_test(setup_openmp.uneven ${run} -n 3 --processes 2 ${shmem_bin}/setup_openmp)
weft_add_shmem_test(active_messages.narrow ${conformance_directory}/run.sh ${CMAKE_COMMAND} -E env SHMEMX_AM_QUEUE_SIZE=64K
  ${weftrun} -n 2 --processes 2 ${shmem_bin}/active_messages narrow)
weft_add_shmem_test(active_messages.polls ${run} -n 4 --processes 2 --workers 1 ${shmem_bin}/active_messages polls)
foreach(processes IN ITEMS 1 2)
  weft_add_shmem_test(exit.well.${processes} ${run} -n 3 --processes ${processes} ${shmem_bin}/setup exit 0)
  foreach(who IN ITEMS exit thread)
    weft_add_shmem_test(${who}.in_error.${processes} ${CMAKE_COMMAND} -E env STATUS=7
      ${conformance_directory}/run_bad.sh "shmem_global_exit.7. ends the job" ${weftrun} -n 3 --processes ${processes} ${shmem_bin}/setup ${who} 7)
  endforeach()
endforeach()

# Globals, with a library of the program's own.
set(statics_library ${shmem_bin}/libstatics.so)
add_custom_command(OUTPUT ${statics_library} DEPENDS ${shmem_directory}/statics_library.c weft-wrappers weft-program
  COMMAND ${oshcc} -O1 -g -shared ${shmem_directory}/statics_library.c -o ${statics_library})
weft_add_shmem_program(statics ${shmem_directory}/statics.c ${statics_library} -Wl,-rpath,${shmem_bin})
weft_add_shmem_test(statics.n4 ${run} -n 4 ${shmem_bin}/statics)
weft_add_shmem_test(statics.processes ${run} -n 5 --processes 2 ${shmem_bin}/statics)
weft_add_shmem_test(statics.uneven ${run} -n 3 --processes 2 ${shmem_bin}/statics)
weft_add_shmem_test(statics.alone ${run} -n 3 --ranks-per-process 1 ${shmem_bin}/statics)

# The symmetric heap. Where the system has little room it is smaller.
weft_add_shmem_program(memory ${shmem_directory}/memory.c)
foreach(processes IN ITEMS 1 2)
  weft_add_shmem_test(memory.resize.${processes} ${CMAKE_COMMAND} -E env SHMEM_SYMMETRIC_SIZE=1M ${run} -n 3
    --processes ${processes} ${shmem_bin}/memory resize)
  weft_add_shmem_test(memory.bounded.${processes} sh -c "ulimit -v 3000000; exec \"$0\" \"$@\"" ${run} -n 2
    --processes ${processes} ${shmem_bin}/memory touch)
  weft_add_shmem_test(active_messages.full.${processes} ${CMAKE_COMMAND} -E env SHMEMX_AM_QUEUE_SIZE=8M ${run} -n 4
    --processes ${processes} ${shmem_bin}/active_messages full 8388608)
endforeach()
weft_add_shmem_test(memory.touch ${run} -n 40 ${shmem_bin}/memory touch)
weft_add_shmem_test(memory.no_room sh -c "ulimit -v 3000000; exec \"$0\" \"$@\"" ${CMAKE_COMMAND} -E env
  SHMEM_SYMMETRIC_SIZE=64G STATUS=1 ${conformance_directory}/run_bad.sh "SHMEM_SYMMETRIC_SIZE says how many bytes" ${weftrun} -n 2
  ${shmem_bin}/memory touch)

# While the target computes: over networks by themselves, elsewhere by stores.
weft_add_shmem_program(computing_target ${shmem_directory}/computing_target.c)
weft_add_shmem_test(computing_target.shm ${run} -n 2 --processes 2 ${shmem_bin}/computing_target)
weft_add_shmem_test(computing_target.progress ${run} -n 2 --processes 2 --progress ${shmem_bin}/computing_target)
if(LIBFABRIC_FOUND)
  foreach(name IN ITEMS corners active_messages)
    weft_add_shmem_test(${name}.tcp ${conformance_directory}/run.sh ${weftrun} -n 3 --processes 2 --transport ofi:tcp
      ${shmem_bin}/${name})
  endforeach()
  weft_add_shmem_test(computing_target.tcp ${conformance_directory}/run.sh ${weftrun} -n 2 --processes 2
    --transport ofi:tcp ${shmem_bin}/computing_target)
endif()

# Compiled only.
weft_add_shmem_program(generics ${shmem_directory}/generics.c)

# What wrong programs are told.
weft_add_shmem_program(bad_input ${shmem_directory}/bad_input.c)
file(STRINGS ${shmem_directory}/bad_input.c lines REGEX "is\\(name")
foreach(line IN LISTS lines)
  if(line MATCHES "is\\(name, \"([a-z_]+)\"\\).*/\\* case: (.*) \\*/")
    set(word ${CMAKE_MATCH_1})
    set(check ${conformance_directory}/run_bad.sh "${CMAKE_MATCH_2}")
    weft_add_shmem_test(bad.${word} ${check} ${weftrun} -n 2 ${shmem_bin}/bad_input ${word})
    if(word MATCHES "^(meeting|unknown|held|flood|hang|null_source)$")
      weft_add_shmem_test(bad.${word}.processes ${check} ${weftrun} -n 2 --processes 2 ${shmem_bin}/bad_input ${word})
    endif()
  endif()
endforeach()

foreach(processes IN ITEMS 1 2)
  weft_add_shmem_test(bad.written.${processes} ${conformance_directory}/run_bad.sh
    "rank 0: in shmem_long_wait_until, until word is == 3. it is 2, as PE 1 has written" ${weftrun} -n 2 --check
    --processes ${processes} ${shmem_bin}/bad_input written)
endforeach()

# A PE that waits for room in the queue of another, which dies meanwhile.
weft_add_shmem_test(bad.orphan ${weftrun} -n 2 --processes 2 --on-failure error ${shmem_bin}/bad_input orphan)
set_tests_properties(shmem.bad.orphan PROPERTIES
  PASS_REGULAR_EXPRESSION "rank 0: shmemx_am_send_nbi: PE 1 cannot be reached: its process 1 is dead")

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/shmem/*.c)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  weft_add_shmem_program(example-${name} ${source})
  weft_add_shmem_test(example.${name} ${weftrun} -n 4 ${shmem_bin}/example-${name})
  set_tests_properties(shmem.example.${name} PROPERTIES FAIL_REGULAR_EXPRESSION "WRONG|NOT|wrong")
endforeach()

# For tests/breakdown/live.py and waits.py.
weft_add_shmem_program(breakdown_faults ${PROJECT_SOURCE_DIR}/tests/breakdown/shmem_faults.c)
weft_add_shmem_program(breakdown_waits ${PROJECT_SOURCE_DIR}/tests/breakdown/shmem_waits.c)

weft_add_shmem_program(triangles ${PROJECT_SOURCE_DIR}/apps/triangles/triangles.c)
weft_add_shmem_test(triangles ${weftrun} -n 4 ${shmem_bin}/triangles --vertices 300 --edges 4000 --check)

add_custom_target(shmem-programs ALL DEPENDS ${programs})
add_dependencies(test-programs shmem-programs)
