# tests/<label>/*_<suffix>.cpp: one GoogleTest binary per file, every test of it known to ctest
# under its label; the directory's other sources are linked to each. tests/programs/*.cpp: programs
# that tests run, test-<file>. apps/<app>/tests/*_test.cpp: unit tests that link the parts of that
# program. tests/tidy/*.py: one check per file, given --source, --build and --cxx. tests/conformance/*.c:
# MPI programs, see weft-conformance.cmake.

find_package(GTest REQUIRED)
include(GoogleTest)

# To optimise tests, which mostly run once, took a quarter of the build. Stress and model tests run the same for long, and see
# what the compiler makes of a memory order. Copies that a test has of functions in headers count for the library in it too. Other
# configurations keep their own flags.
function(weft_compile_test target label)
  if(NOT label MATCHES "^(stress|model)$")
    target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>)
  endif()
  target_compile_options(${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-g1>)
endfunction()

# GoogleTest's header and the standard library's, compiled once for all tests that are compiled alike.
file(WRITE ${PROJECT_BINARY_DIR}/empty.cpp "")
foreach(label IN ITEMS unit model)
  add_library(precompiled-${label} OBJECT ${PROJECT_BINARY_DIR}/empty.cpp)
  weft_compile_options(precompiled-${label})
  weft_compile_test(precompiled-${label} ${label})
  target_link_libraries(precompiled-${label} PRIVATE weft::weft GTest::gtest_main)
  target_precompile_headers(precompiled-${label} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled_tests.hpp)
  weft_cache_precompiled(precompiled-${label})
endforeach()
set(precompiled_for_stress precompiled-model)
set(precompiled_for_model precompiled-model)

# Tests are 250 links, of which this linker needs half of the time. Programs that are installed have the usual one.
include(CheckLinkerFlag)
check_linker_flag(CXX -fuse-ld=gold WEFT_HAS_GOLD)

# What follows the fixed arguments are further properties of the tests.
function(weft_add_test source label timeout processors)
  cmake_path(GET source STEM name)
  weft_add_program(${name} ${source})
  weft_compile_test(${name} ${label})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(${name} PRIVATE GTest::gtest_main fmt::fmt)
  if(DEFINED precompiled_for_${label})
    target_precompile_headers(${name} REUSE_FROM ${precompiled_for_${label}})
  else()
    target_precompile_headers(${name} REUSE_FROM precompiled-unit)
  endif()
  weft_cache_precompiled(${name})
  if(WEFT_HAS_GOLD AND NOT WEFT_SANITIZE)
    target_link_options(${name} PRIVATE -fuse-ld=gold)
  endif()
  # Where a test finds its data files, and the programs that it runs.
  target_compile_definitions(${name} PRIVATE WEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    WEFT_PROGRAM_DIR="${PROJECT_BINARY_DIR}/bin")
  add_dependencies(${label}-tests ${name})
  # Parameters have names of their own; without the word ctest adds the bytes of each.
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    PROPERTIES LABELS ${label} TIMEOUT ${timeout} PROCESSORS ${processors} ${ARGN})
endfunction()

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/programs/*.cpp)
add_custom_target(test-programs)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  weft_add_program(test-${name} ${source})
  add_dependencies(test-programs test-${name})
endforeach()
if(TARGET weftrun)
  add_dependencies(test-programs weftrun weft-info)
endif()
# A GPU's driver for machines that have none, in a directory of its own for LD_LIBRARY_PATH.
add_library(stand-in-cuda SHARED ${PROJECT_SOURCE_DIR}/tests/cuda/libcuda.cpp)
set_target_properties(stand-in-cuda PROPERTIES OUTPUT_NAME cuda SOVERSION 1 CXX_STANDARD 20
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/stand-in-cuda)
add_dependencies(test-programs stand-in-cuda)
# Plug-ins of no MPI, in a directory of their own.
set(said_by_stand-in ${weft_plugin_version})
set(said_by_stand-in-of-another-version ${weft_plugin_version}+1)
foreach(plugin IN ITEMS stand-in stand-in-of-another-version)
  add_library(plugin-${plugin} MODULE ${PROJECT_SOURCE_DIR}/tests/plugins/stand_in.cpp)
  weft_compile_options(plugin-${plugin})
  target_include_directories(plugin-${plugin}
    PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(plugin-${plugin} PRIVATE STAND_IN_VERSION=${said_by_${plugin}})
  set_target_properties(plugin-${plugin} PROPERTIES PREFIX "" OUTPUT_NAME weft-transport-mpi-${plugin}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin/stand-in-plugins)
  add_dependencies(test-programs plugin-${plugin})
endforeach()
if(TARGET image-programs)
  add_dependencies(test-programs image-programs)
endif()

# Here, for the conformance programs, and for the benchmarks.
find_program(WEFT_MPIEXEC_mpich mpiexec.hydra)
find_program(WEFT_MPIEXEC_openmpi mpirun.openmpi)
if(TARGET weft-wrappers)
  include(weft-conformance)
  if(Python3_FOUND)
    include(weft-shmem)
  endif()
endif()

function(weft_add_tests label suffix timeout processors)
  add_custom_target(${label}-tests)
  add_dependencies(${label}-tests test-programs)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${label}/*_${suffix}.cpp)
  file(GLOB shared CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${label}/*.cpp)
  list(FILTER shared EXCLUDE REGEX "_${suffix}\\.cpp$")
  if(shared)
    add_library(${label}-shared STATIC ${shared})
    weft_compile_options(${label}-shared)
    weft_compile_test(${label}-shared ${label})
    target_include_directories(${label}-shared
      PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${label}-shared PUBLIC weft::weft PRIVATE fmt::fmt)
    target_compile_definitions(${label}-shared PRIVATE WEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
      WEFT_PROGRAM_DIR="${PROJECT_BINARY_DIR}/bin")
  endif()
  foreach(source IN LISTS sources)
    weft_add_test(${source} ${label} ${timeout} ${processors} ${ARGN})
    if(shared)
      cmake_path(GET source STEM name)
      target_link_libraries(${name} PRIVATE ${label}-shared)
    endif()
  endforeach()
endfunction()

weft_add_tests(unit test 300 1)
# Those with arithmetic on what programs and peers say: ./dev ci builds and runs them with UndefinedBehaviorSanitizer.
add_custom_target(arithmetic-tests)
add_dependencies(arithmetic-tests base_test breakdown_files_test breakdown_model_test breakdown_pattern_test claim_slot_test
  comm_am_test comm_collective_test comm_completion_test comm_failure_test comm_misuse_test comm_registration_test
  comm_two_sided_test deque_test dropbox_test layout_test loop_test message_test mpi_constants_test mpi_datatype_test mpi_types_test
  mpsc_queue_test ofi_envelope_test ofi_test parcel_test pool_test rank_forged_test rank_map_test record_ring_test rma_test
  sendable_test serialization_test settings_test shm_test task_test tcp_parcelport_test topology_test trace_test weftrun_test)
if(DEFINED weft_test_python)
  target_compile_definitions(process_test PRIVATE WEFT_TEST_PYTHON="${weft_test_python}")
endif()
if(TARGET weft-python)
  add_dependencies(unit-tests weft-python)
  target_compile_definitions(process_test PRIVATE WEFT_TEST_WEFT_PYTHON)
endif()
target_compile_options(report_test PRIVATE -g)  # Reports name lambdas from what -g1 leaves out.
if(TARGET weft-breakdown-parts)
  target_link_libraries(breakdown_files_test PRIVATE weft-breakdown-parts)
endif()
if(TARGET weftrun-parts)
  target_link_libraries(weftrun_test PRIVATE weftrun-parts)
endif()
# The switch by which machines without one of our own change fibers.
if(weft_has_own_switch AND TARGET Boost::context)
  file(GLOB fiber_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/fiber/*.cpp)
  add_executable(fiber_boost_test tests/unit/fiber_test.cpp src/base/format.cpp src/base/reasons.cpp ${fiber_sources})
  weft_compile_options(fiber_boost_test)
  target_compile_definitions(fiber_boost_test PRIVATE WEFT_BOOST_CONTEXT)
  target_include_directories(fiber_boost_test
    PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(fiber_boost_test PRIVATE GTest::gtest_main Boost::context fmt::fmt)
  add_dependencies(unit-tests fiber_boost_test)
  gtest_discover_tests(fiber_boost_test TEST_PREFIX boost. DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS unit TIMEOUT 300)
endif()
# Tests of ranks again, with the ranks shared out to several processes: threads of the test program
# that a misbehaving network joins, or processes that weftrun starts, each of which runs all tests.
set(tests_of_ranks message_test request_test layout_test report_test collective_test
  communicator_test failure_test broken_communicator_test loop_test wait_test traffic_stress)
# Those whose jobs are programs that weftrun starts, and the processes that they may have: what check_test
# starts is made for two ranks.
set(tests_of_programs jobs_test check_test)
set(processes_of_jobs_test 2 4)
set(processes_of_check_test 2)
# How such processes are started, and over what they are joined: by weftrun, or by an MPI's own
# launcher over that MPI, whose library the sanitizers do not know.
set(ways)
if(TARGET weftrun)
  list(APPEND ways shm)
  set(transport_shm shm)
  set(start_shm $<TARGET_FILE:weftrun> --processes)
  if(LIBFABRIC_FOUND)
    list(APPEND ways tcp)
    set(transport_tcp ofi:tcp)
    set(start_tcp ${start_shm})
  endif()
endif()
set(start_mpich ${WEFT_MPIEXEC_mpich} -n)
set(start_openmpi ${WEFT_MPIEXEC_openmpi} --allow-run-as-root --oversubscribe -n)
set(ways_of_two ${ways})
foreach(mpi IN ITEMS mpich openmpi)
  if(TARGET weft-transport-mpi-${mpi} AND WEFT_MPIEXEC_${mpi} AND NOT WEFT_SANITIZE)
    list(APPEND ways_of_two ${mpi})
    set(transport_${mpi} mpi:${mpi})
  endif()
endforeach()
# Of the libraries that they use two leak; that is not reported.
set(of_several_processes)
if(WEFT_SANITIZE STREQUAL address)
  set(of_several_processes
    "LSAN_OPTIONS=print_suppressions=0:suppressions=${PROJECT_SOURCE_DIR}/tests/libraries.lsan")
endif()
function(weft_add_test_of_processes test label processes command)
  add_test(NAME ${test} COMMAND ${command})
  set(environment TEST_PROCESSES=${processes} ${of_several_processes} ${ARGN})
  set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 900 PROCESSORS 2
    ENVIRONMENT "${environment}")
endfunction()
function(weft_add_started_test way test label processes name)
  set(command ${start_${way}} ${processes} $<TARGET_FILE:${name}>)
  weft_add_test_of_processes(${test} ${label} ${processes} "${command}" TEST_STARTED=1
    WEFT_TRANSPORT=${transport_${way}} ${ARGN})
endfunction()
# What two ranks do with each other is the same between two processes and four, and over all that two are joined by once it
# is right over weft's own ways: there it is left to the soaks.
set(tests_of_pairs request_test layout_test loop_test)
# How jobs fail and what they say of it is the same over everything that tells of a lost process: once over each of weft's own
# ways and once over a network that misbehaves is enough.
set(tests_of_ends failure_test report_test)
set(ends_left_out shm4 tcp2 sim4)
foreach(name IN LISTS tests_of_ranks)
  foreach(way IN LISTS ways_of_two)
    set(label multi)
    if(name IN_LIST tests_of_pairs AND NOT way IN_LIST ways)
      set(label soak)
    elseif(name IN_LIST tests_of_ends AND (NOT way IN_LIST ways OR ${way}2 IN_LIST ends_left_out))
      set(label soak)
    endif()
    weft_add_started_test(${way} ${label}.${way}2.${name} ${label} 2 ${name})
  endforeach()
  foreach(way IN LISTS ways)
    set(label multi)
    if(name IN_LIST tests_of_pairs OR (name IN_LIST tests_of_ends AND ${way}4 IN_LIST ends_left_out))
      set(label soak)
    endif()
    weft_add_started_test(${way} ${label}.${way}4.${name} ${label} 4 ${name})
  endforeach()
endforeach()
foreach(processes IN ITEMS 2 4)
  foreach(name IN LISTS tests_of_ranks)
    set(label multi)
    if(name IN_LIST tests_of_ends AND sim${processes} IN_LIST ends_left_out)
      set(label soak)
    endif()
    weft_add_test_of_processes(${label}.sim${processes}.${name} ${label} ${processes} ${name} TEST_JOBS=10)
    foreach(seed IN ITEMS 2 3 4 5 6 7 8 9)
      weft_add_test_of_processes(soak.sim${processes}.${name}.${seed} soak ${processes} ${name}
        TEST_SEED=${seed})
    endforeach()
  endforeach()
  foreach(seed IN ITEMS 10 11)
    weft_add_test_of_processes(multi.sim${processes}.traffic_stress.${seed} multi ${processes}
      traffic_stress TEST_JOBS=10 TEST_SEED=${seed})
  endforeach()
endforeach()
# Three nodes, the last of which has one process only.
foreach(name IN ITEMS collective_test communicator_test broken_communicator_test failure_test)
  weft_add_test_of_processes(multi.nodes.${name} multi 5 ${name} TEST_PER_NODE=2)
endforeach()
# Three processes of two ranks and of one, in whose memory the others read and write when the communicator is revoked.
foreach(way IN LISTS ways)
  weft_add_started_test(${way} multi.${way}3.revocation_test multi 3 revocation_test)
endforeach()
weft_add_test_of_processes(multi.sim3.revocation_test multi 3 revocation_test)
foreach(seed IN ITEMS 2 3 4 5 6 7 8 9)
  weft_add_test_of_processes(soak.sim3.revocation_test.${seed} soak 3 revocation_test TEST_SEED=${seed})
endforeach()
# One-sided memory: heaps that processes of a node map, and messages between nodes; both at once.
foreach(way IN LISTS ways)
  weft_add_started_test(${way} multi.${way}2.rma_test multi 2 rma_test)
endforeach()
# Over tcp messages are authenticated by default; encrypted, and as the network has them by itself with its own copies.
if(tcp IN_LIST ways)
  foreach(name IN ITEMS message_test request_test collective_test rma_test)
    weft_add_started_test(tcp multi.tcp2_encrypted.${name} multi 2 ${name} WEFT_SECURE=encrypt)
  endforeach()
  foreach(name IN ITEMS message_test rma_test)
    weft_add_started_test(tcp multi.tcp2_off.${name} multi 2 ${name} WEFT_SECURE=off)
  endforeach()
endif()
if(TARGET weftrun)
  weft_add_started_test(shm multi.shm2.rma_stress multi 2 rma_stress RMA_WAITS=20000)
endif()
# Parcels, as one process and as several.
foreach(way IN LISTS ways)
  weft_add_started_test(${way} multi.${way}2.parcel_test multi 2 parcel_test)
endforeach()
# Over TCP where the library is built with it: tcp_port.cpp asks for the same header.
include(CheckIncludeFileCXX)
set(CMAKE_REQUIRED_FLAGS -std=c++20)
check_include_file_cxx(boost/asio/ip/tcp.hpp WEFT_HAS_ASIO)
unset(CMAKE_REQUIRED_FLAGS)
set(ports_tcp)
if(WEFT_HAS_ASIO)
  set(ports_tcp tcp)
endif()
if(TARGET weftrun)
  foreach(port IN ITEMS lci lci_psr_cq_pin lci_sr_cq_mt_i:2 lci_sr_sy_pin_i lci_psr_sy_mt ${ports_tcp})
    weft_add_started_test(shm multi.shm2.parcel_test.${port} multi 2 parcel_test
      WEFT_PARCELPORT=${port})
  endforeach()
endif()
# Processes that are threads of the test: devices over the network that misbehaves, or a network of the port's own.
if(WEFT_HAS_ASIO)
  list(APPEND ports_tcp tcp_i)
endif()
set(tests_of_lci_sr_cq_pin parcel.a_*)  # Its thread naps while this network counts in looks.
foreach(port IN ITEMS lci_psr_cq_mt_i lci_sr_sy_mt:2 lci_sr_cq_pin ${ports_tcp})
  set(tests parcel.*)
  if(tests_of_${port})
    set(tests ${tests_of_${port}})
  endif()
  add_test(NAME multi.parcelport.${port} COMMAND parcel_test --gtest_filter=${tests})
  set_tests_properties(multi.parcelport.${port} PROPERTIES LABELS multi TIMEOUT 300 PROCESSORS 2
    ENVIRONMENT WEFT_PARCELPORT=${port})
endforeach()
set(ports_mpich mpi mpi_orig_i)
set(ports_openmpi mpi_i)
foreach(mpi IN ITEMS mpich openmpi)
  if(mpi IN_LIST ways_of_two)
    foreach(port IN LISTS ports_${mpi})
      weft_add_test_of_processes(multi.${mpi}2.parcel_test.${port} multi 2
        "${start_${mpi}};2;$<TARGET_FILE:parcel_test>" TEST_STARTED=1 WEFT_PARCELPORT=${port}
        UCX_RNDV_THRESH=131072)  # MPICH's sends leave before they are received: what tags must bear.
    endforeach()
  endif()
endforeach()
weft_add_test_of_processes(multi.nodes.rma_test multi 5 rma_test TEST_PER_NODE=2 TEST_JOBS=10)
foreach(way IN LISTS ways)
  weft_add_started_test(${way} multi.${way}2.allocation_test multi 2 allocation_test
    GTEST_FILTER=memory.is_not_taken_for_blocking_messages)
  foreach(name IN LISTS tests_of_programs)
    foreach(processes IN LISTS processes_of_${name})
      set(label multi)
      if(${way}${processes}.${name} MATCHES "^(shm2|tcp4)\\.jobs_test$")  # Over each way by one number of processes.
        set(label soak)
      endif()
      weft_add_test_of_processes(${label}.${way}${processes}.${name} ${label} ${processes} ${name}
        WEFT_TRANSPORT=${transport_${way}})
    endforeach()
  endforeach()
  foreach(seed IN ITEMS 2 3 4 5)
    weft_add_started_test(${way} soak.${way}3.traffic_stress.${seed} soak 3 traffic_stress
      TEST_SEED=${seed} TEST_JOBS=200)
  endforeach()
endforeach()

weft_add_tests(model model 300 1)
weft_add_tests(stress stress 300 2)
if(of_several_processes)
  list(PREPEND of_several_processes ENVIRONMENT)
endif()
weft_add_tests(multi test 300 2 ${of_several_processes})
if(WEFT_SANITIZE)
  include(weft-sanitized)
endif()
if(TARGET weftrun)
  foreach(swept IN ITEMS on_one_host on_two_hosts of_ranks_over_shm of_ranks_over_tcp)
    add_test(NAME soak.sweeping.${swept} COMMAND starting_test --gtest_filter=*sweeping*/${swept})
    set_tests_properties(soak.sweeping.${swept} PROPERTIES LABELS soak TIMEOUT 3600 PROCESSORS 2
      RUN_SERIAL TRUE ENVIRONMENT TEST_SWEPT=100
      SKIP_REGULAR_EXPRESSION "PASSED  ] 0 tests\\.\n(\\[  SKIPPED ][^\n]*\n)+$")
  endforeach()
endif()
if(TARGET weftrun)
  foreach(way IN ITEMS two_hosts two_hosts_with_progress two_processes three_processes)
    add_test(NAME soak.quiescence.${way} COMMAND quiescence_test --gtest_filter=*/quiescence.is_no_*/${way})
    set_tests_properties(soak.quiescence.${way} PROPERTIES LABELS soak TIMEOUT 7200 PROCESSORS 2
      ENVIRONMENT "TEST_JOBS=500;TEST_ROUNDS=1500"
      SKIP_REGULAR_EXPRESSION "PASSED  ] 0 tests\\.\n(\\[  SKIPPED ][^\n]*\n)+$")
  endforeach()
endif()
weft_add_tests(soak soak 3600 2)  # Long; ./dev test leaves them out.
if(TARGET weftrun AND TARGET weft-octree)
  add_test(NAME soak.octree.every_parcelport
    COMMAND octree_program_test --gtest_filter=*over_every_parcelport)
  set_tests_properties(soak.octree.every_parcelport PROPERTIES LABELS soak TIMEOUT 7200 PROCESSORS 2
    ENVIRONMENT OCTREE_WHOLE=1)
endif()
# 10^5 parcels of 0 B to 64 MiB from each of two processes.
set(sizes --gtest_filter=parcel.sizes_in_any_order_and_direction)
foreach(port IN ITEMS lci_i lci_psr_sy_mt lci_sr_cq_mt_i:2)
  weft_add_test_of_processes(soak.sim2.parcels_of_any_size.${port} soak 2 "parcel_test;${sizes}"
    WEFT_PARCELPORT=${port} TEST_PARCELS=100000)
  set_tests_properties(soak.sim2.parcels_of_any_size.${port} PROPERTIES TIMEOUT 3600)
endforeach()
if(TARGET weftrun)
  foreach(port IN ITEMS lci_i lci lci_psr_cq_mt_i lci_sr_sy_pin ${ports_tcp})
    weft_add_test_of_processes(soak.shm2.parcels_of_any_size.${port} soak 2
      "${start_shm};2;$<TARGET_FILE:parcel_test>;${sizes}" TEST_STARTED=1 WEFT_TRANSPORT=shm
      WEFT_PARCELPORT=${port} TEST_PARCELS=100000)
    set_tests_properties(soak.shm2.parcels_of_any_size.${port} PROPERTIES TIMEOUT 3600)
  endforeach()
endif()
foreach(mpi IN ITEMS mpich openmpi)
  if(mpi IN_LIST ways_of_two)
    foreach(port IN ITEMS mpi mpi_orig_i)
      weft_add_test_of_processes(soak.${mpi}2.parcels_of_any_size.${port} soak 2
        "${start_${mpi}};2;$<TARGET_FILE:parcel_test>;${sizes}" TEST_STARTED=1 WEFT_PARCELPORT=${port}
        TEST_PARCELS=100000)
      set_tests_properties(soak.${mpi}2.parcels_of_any_size.${port} PROPERTIES TIMEOUT 3600)
    endforeach()
  endif()
endforeach()

if(WEFT_BUILD_APPS)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/*/tests/*_test.cpp)
  foreach(source IN LISTS sources)
    weft_add_test(${source} unit 300 2)
    string(REGEX REPLACE ".*/apps/([^/]+)/tests/([^/]+)\\.cpp$" "\\1;\\2" app_and_test ${source})
    list(GET app_and_test 0 app)
    list(GET app_and_test 1 test)
    if(TARGET weft-${app})
      add_dependencies(${test} weft-${app})
    endif()
    if(TARGET weftrun)
      add_dependencies(${test} weftrun)
    endif()
    target_link_libraries(${test} PRIVATE weft-${app}-parts)
  endforeach()
endif()

find_package(Python3 COMPONENTS Interpreter)
file(GLOB checks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/tidy/*.py)
if(Python3_FOUND)
  foreach(check IN LISTS checks)
    cmake_path(GET check STEM name)
    add_test(NAME tidy.${name}
      COMMAND ${Python3_EXECUTABLE} ${check} --source ${PROJECT_SOURCE_DIR}
        --build ${PROJECT_BINARY_DIR} --cxx ${CMAKE_CXX_COMPILER})
    set_tests_properties(tidy.${name} PROPERTIES LABELS tidy TIMEOUT 600 PROCESSORS 2
      SKIP_RETURN_CODE 77)
  endforeach()
endif()

# Scripts of tests/multi: given the directory of the programs; status 77 means skipped.
file(GLOB scripts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/multi/*.sh)
foreach(script IN LISTS scripts)
  cmake_path(GET script STEM name)
  add_test(NAME multi.${name} COMMAND ${script} ${PROJECT_BINARY_DIR}/bin)
  set_tests_properties(multi.${name} PROPERTIES LABELS multi TIMEOUT 300 PROCESSORS 2
    SKIP_RETURN_CODE 77)
endforeach()

# A wheel of what this build installs, in an environment of its own.
if(PROJECT_IS_TOP_LEVEL AND TARGET weft-abi AND TARGET weftrun AND NOT WEFT_SANITIZE)
  add_test(NAME packages.wheel COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/packages/wheel.py ${PROJECT_BINARY_DIR}
    ${PROJECT_VERSION} ${CMAKE_C_COMPILER})
  set_tests_properties(packages.wheel PROPERTIES LABELS packages TIMEOUT 600 PROCESSORS 2 SKIP_RETURN_CODE 77)
endif()
