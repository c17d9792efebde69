# What sanitizers look at besides: programs of tests/conformance, whose ranks are in one process although there is no weftcc
# (run_modules.cpp says how). In one process of the job, and in three on two nodes. multi.mpi.NAME.one, multi.mpi.NAME.nodes.

add_executable(test-run_modules ${PROJECT_SOURCE_DIR}/tests/sanitized/run_modules.cpp)
weft_compile_options(test-run_modules)
weft_compile_test(test-run_modules multi)
target_include_directories(test-run_modules PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
# All of MPI is there for the modules.
target_link_options(test-run_modules PRIVATE -Wl,--whole-archive $<TARGET_FILE:weft> -Wl,--no-whole-archive)
target_link_libraries(test-run_modules PRIVATE weft::weft GTest::gtest fmt::fmt)
set_target_properties(test-run_modules PROPERTIES ENABLE_EXPORTS ON)
add_dependencies(multi-tests test-run_modules)

set(sanitized_conformance point_to_point requests probing partitioned exchanges message_ways collectives collectives_nonblocking
  collectives_random collective_ways neighbors communicators intercommunicators topologies sessions datatypes windows windows_accumulates
  windows_groups windows_locks windows_memory windows_objects windows_random files attributes errors)
# They take all ranks for those of one machine.
set(sanitized_of_one_machine communicators intercommunicators)
set(workers_and_nodes_one 5)
set(workers_and_nodes_nodes 3 0 0 1)
set(module_directory ${PROJECT_BINARY_DIR}/bin/modules)
foreach(name IN LISTS sanitized_conformance)
  add_library(module-${name} MODULE ${PROJECT_SOURCE_DIR}/tests/conformance/${name}.c)
  target_include_directories(module-${name} PRIVATE ${PROJECT_SOURCE_DIR}/include/mpi)
  target_compile_options(module-${name} PRIVATE -std=gnu11 -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(module-${name} PRIVATE -fsanitize=${WEFT_SANITIZE})
  target_link_libraries(module-${name} PRIVATE Threads::Threads m)
  set_target_properties(module-${name} PROPERTIES PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${module_directory})
  add_dependencies(multi-tests module-${name})
  set(module_ways one nodes)
  if(name IN_LIST sanitized_of_one_machine)
    set(module_ways one)
  endif()
  foreach(way IN LISTS module_ways)
    add_test(NAME multi.mpi.${name}.${way} COMMAND test-run_modules $<TARGET_FILE:module-${name}> 5 ${workers_and_nodes_${way}})
    set_tests_properties(multi.mpi.${name}.${way} PROPERTIES LABELS multi TIMEOUT 300 PROCESSORS 2 ${of_several_processes})
  endforeach()
endforeach()
