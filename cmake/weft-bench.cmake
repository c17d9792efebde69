# bench/**/*_bench.cpp: one program per file, bench-<file without _bench>. bench/mpi/*.c and *.cpp:
# the same measurements over MPI, one program per file and MPI found, bench-mpi-<file>-<mpi>; weft's own
# MPI is one of them. bench/lci/comm.cpp: those of the communication core over LCI 2, where it is found.

# The programs of bench/ that are not built with everything else.
add_custom_target(benchmarks)
find_package(benchmark)
# Rivals of tasks. Taskflow from 4 on, and libfork, are headers, which no package may say where to find: give
# -DWEFT_TASKFLOW_INCLUDE=DIR and -DWEFT_LIBFORK_INCLUDE=DIR where they are in no place that CMake knows.
find_package(TBB QUIET)
find_path(WEFT_TASKFLOW_INCLUDE taskflow/core/task_group.hpp)
find_path(WEFT_LIBFORK_INCLUDE libfork.hpp)
find_package(OpenMP)
file(GLOB_RECURSE bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*_bench.cpp)
list(FILTER bench_sources EXCLUDE REGEX "/bench/mpi/")
foreach(source IN LISTS bench_sources)
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "_bench$" "" name ${name})
  weft_add_program(bench-${name} ${source})
  target_include_directories(bench-${name} PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  if(TARGET TBB::tbb AND name STREQUAL task)
    target_link_libraries(bench-${name} PRIVATE TBB::tbb)
    target_compile_definitions(bench-${name} PRIVATE WEFT_BENCH_TBB)
  endif()
  foreach(rival IN ITEMS TASKFLOW LIBFORK)
    if(WEFT_${rival}_INCLUDE AND name STREQUAL task)
      target_include_directories(bench-${name} SYSTEM PRIVATE ${WEFT_${rival}_INCLUDE})
      target_compile_definitions(bench-${name} PRIVATE WEFT_BENCH_${rival})
    endif()
  endforeach()
  if(benchmark_FOUND)
    target_link_libraries(bench-${name} PRIVATE benchmark::benchmark)
  endif()
  if(OpenMP_CXX_FOUND)
    target_link_libraries(bench-${name} PRIVATE OpenMP::OpenMP_CXX)
  endif()
endforeach()

# bench/tbb/metg.cpp: the task graphs over oneTBB.
if(TARGET TBB::tbb)
  add_executable(bench-tbb-metg ${PROJECT_SOURCE_DIR}/bench/tbb/metg.cpp)
  weft_compile_options(bench-tbb-metg)
  target_include_directories(bench-tbb-metg PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  target_link_libraries(bench-tbb-metg PRIVATE TBB::tbb)
endif()

file(GLOB mpi_sources CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/bench/mpi/*.c ${PROJECT_SOURCE_DIR}/bench/mpi/*.cpp)
if(TARGET weft-wrappers)
  set(WEFT_MPICC_weft ${PROJECT_BINARY_DIR}/bin/weftcc)
  set(WEFT_MPICXX_weft ${PROJECT_BINARY_DIR}/bin/weftcxx)
endif()
foreach(mpi IN ITEMS mpich openmpi weft)
  find_program(WEFT_MPICC_${mpi} mpicc.${mpi})
  find_program(WEFT_MPICXX_${mpi} mpicxx.${mpi})
  set(needed)
  if(mpi STREQUAL weft)
    set(needed weft-wrappers weft-program ${PROJECT_SOURCE_DIR}/include/mpi/mpi.h)
  endif()
  if(NOT WEFT_MPICC_${mpi} OR NOT WEFT_MPICXX_${mpi})
    continue()
  endif()
  foreach(source IN LISTS mpi_sources)
    cmake_path(GET source STEM name)
    cmake_path(GET source EXTENSION LAST_ONLY extension)
    string(REGEX REPLACE "_bench$" "" name ${name})
    set(program ${PROJECT_BINARY_DIR}/bin/bench-mpi-${name}-${mpi})
    if(extension STREQUAL ".c")
      set(compile ${WEFT_MPICC_${mpi}} -O3 -g)
    else()
      set(compile ${WEFT_MPICXX_${mpi}} -O3 -g -std=c++20)
    endif()
    if(name MATCHES "_openmp$")  # MPI + OpenMP: a rival, so not of weft's own, which has tasks.
      if(mpi STREQUAL weft)
        continue()
      endif()
      list(APPEND compile -fopenmp)
    endif()
    add_custom_command(OUTPUT ${program} DEPENDS ${source} ${needed} DEPFILE ${program}.d
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/bin
      COMMAND ${compile} -I${PROJECT_SOURCE_DIR}/bench -I${PROJECT_SOURCE_DIR}/apps -MD -MF ${program}.d
        -MT ${program} -o ${program} ${source})
    # Those of others are the same files again: only what tests run is built with everything else.
    set(with_all)
    if(mpi STREQUAL weft OR name MATCHES "^(metg|dt|amr)$")
      set(with_all ALL)
    endif()
    add_custom_target(bench-mpi-${name}-${mpi} ${with_all} DEPENDS ${program})
    add_dependencies(benchmarks bench-mpi-${name}-${mpi})
  endforeach()
endforeach()

# The same source as a program of the standard's binary interface.
if(TARGET weft-abi)
  set(program ${PROJECT_BINARY_DIR}/bin/bench-mpi-abi-abi)
  add_custom_command(OUTPUT ${program} DEPENDS ${PROJECT_SOURCE_DIR}/bench/mpi/abi.cpp weft-wrappers DEPFILE ${program}.d
    COMMAND ${weft_home}/bin/mpicxx_abi -O3 -g -std=c++20 -I${PROJECT_SOURCE_DIR}/bench -MD -MF ${program}.d -MT ${program}
      -o ${program} ${PROJECT_SOURCE_DIR}/bench/mpi/abi.cpp)
  add_custom_target(bench-mpi-abi-abi ALL DEPENDS ${program})
  add_dependencies(benchmarks bench-mpi-abi-abi)
endif()

# bench/shmem/*.cpp: programs of OpenSHMEM, bench-shmem-<file>-<peer>; weft's own is one of the peers.
file(GLOB shmem_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/shmem/*.cpp)
if(TARGET weft-wrappers)
  set(WEFT_OSHCXX_weft ${PROJECT_BINARY_DIR}/bin/oshc++)
endif()
find_program(WEFT_OSHCXX_openmpi oshc++)
if(WEFT_OSHCXX_openmpi)  # Others have a command of that name, too.
  execute_process(COMMAND ${WEFT_OSHCXX_openmpi} --showme:libs OUTPUT_VARIABLE libraries ERROR_QUIET)
  if(NOT libraries MATCHES "oshmem")
    set(WEFT_OSHCXX_openmpi "")  # In front of the one in the cache.
  endif()
endif()
foreach(peer IN ITEMS openmpi weft)
  if(NOT WEFT_OSHCXX_${peer})
    continue()
  endif()
  set(needed)
  if(peer STREQUAL weft)
    set(needed weft-wrappers weft-program ${PROJECT_SOURCE_DIR}/include/shmem/shmem.h)
  endif()
  foreach(source IN LISTS shmem_sources)
    cmake_path(GET source STEM name)
    set(program ${PROJECT_BINARY_DIR}/bin/bench-shmem-${name}-${peer})
    add_custom_command(OUTPUT ${program} DEPENDS ${source} ${needed} DEPFILE ${program}.d
      COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/bin
      COMMAND ${WEFT_OSHCXX_${peer}} -O3 -g -std=c++20 -I${PROJECT_SOURCE_DIR}/bench -MD -MF ${program}.d
        -MT ${program} -o ${program} ${source})
    add_custom_target(bench-shmem-${name}-${peer} ALL DEPENDS ${program})
  endforeach()
endforeach()

# LCI installs its package beside the folders in which CMake looks, and does not tell that its one library
# needs the other.
find_package(LCI QUIET CONFIG PATH_SUFFIXES lib/cmake lib64/cmake)
if(TARGET LCI::LCI AND LCI_VERSION VERSION_GREATER_EQUAL 2)
  add_executable(bench-lci-comm ${PROJECT_SOURCE_DIR}/bench/lci/comm.cpp)
  weft_compile_options(bench-lci-comm)
  target_include_directories(bench-lci-comm PRIVATE ${PROJECT_SOURCE_DIR}/bench)
  target_link_libraries(bench-lci-comm PRIVATE LCI::LCI LCI::LCT)
  target_link_options(bench-lci-comm PRIVATE -Wl,--no-as-needed)
endif()

# bench/parcel/study.py, bench/octree/octree_study.py and bench/pure/pure_study.py: what they conclude, and a short run of each.
if(WEFT_BUILD_TESTS AND TARGET weftrun AND Python3_FOUND)
  foreach(study IN ITEMS parcel octree pure)
    add_test(NAME study.${study} COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/study/${study}_study.py
      --source ${PROJECT_SOURCE_DIR} --build ${PROJECT_BINARY_DIR})
    set_tests_properties(study.${study} PROPERTIES LABELS bench TIMEOUT 300 PROCESSORS 2)
  endforeach()
endif()

# The MPI forms of apps/dt and apps/amr over each library: they check themselves. ctest -R '^pure\.' runs them.
if(WEFT_BUILD_TESTS)
  foreach(peer IN ITEMS weft mpich openmpi)
    if((peer STREQUAL weft AND NOT TARGET weft-wrappers) OR
       (NOT peer STREQUAL weft AND NOT (WEFT_MPICXX_${peer} AND WEFT_MPIEXEC_${peer})))
      continue()
    endif()
    foreach(app IN ITEMS dt amr)
      set(start ${PROJECT_BINARY_DIR}/bin/weftrun -n 5)
      if(peer STREQUAL mpich)
        set(start ${WEFT_MPIEXEC_mpich} -bind-to none -n 5)
      elseif(peer STREQUAL openmpi)
        set(start ${WEFT_MPIEXEC_openmpi} --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 -n 5)
      endif()
      add_test(NAME pure.${app}.${peer} COMMAND ${start} ${PROJECT_BINARY_DIR}/bin/bench-mpi-${app}-${peer})
      set_tests_properties(pure.${app}.${peer} PROPERTIES LABELS bench TIMEOUT 120 PROCESSORS 2 ENVIRONMENT
        "DT_GRAPH=bh;DT_WAVES=1;AMR_STEPS=6;AMR_LEVELS=3;AMR_BASE=1;AMR_VARIABLES=1;AMR_REGRID=2;AMR_BALANCE=0")
    endforeach()
    # To the bit what weft-amr has with these words.
    set_tests_properties(pure.amr.${peer} PROPERTIES PASS_REGULAR_EXPRESSION ",301ef74fc574f991\n")
  endforeach()
endif()

# What messages cost with few and with many workers, counted: optimised code, on x86-64 alone, whose processors step.
find_program(WEFT_OBJDUMP objdump)
if(WEFT_BUILD_TESTS AND Python3_FOUND AND WEFT_OBJDUMP AND NOT WEFT_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  add_test(NAME bench.scale_counts COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/bench/scale_counts.py
    --build ${PROJECT_BINARY_DIR} --check)
  set_tests_properties(bench.scale_counts PROPERTIES LABELS bench TIMEOUT 120)
endif()

# bench-metg, a few steps of every pattern, kernel and back end: with outputs as they should be all tasks
# must find their inputs right, and with outputs that are all wrong, all wrong. ctest -R '^metg\.' runs them.
if(WEFT_BUILD_TESTS)
  set(metg_weft ${PROJECT_BINARY_DIR}/bin/bench-metg)
  set(metg_processes ${PROJECT_BINARY_DIR}/bin/weftrun --processes 2 ${metg_weft})
  set(metg_tbb ${PROJECT_BINARY_DIR}/bin/bench-tbb-metg)
  set(metg_mpi ${PROJECT_BINARY_DIR}/bin/weftrun -n 5 ${PROJECT_BINARY_DIR}/bin/bench-mpi-metg-weft)
  # More ranks than cores take MPICH whole time slices for each message.
  set(metg_mpich ${WEFT_MPIEXEC_mpich} -bind-to none -n 2 ${PROJECT_BINARY_DIR}/bin/bench-mpi-metg-mpich)
  set(metg_openmpi ${WEFT_MPIEXEC_openmpi} --allow-run-as-root --oversubscribe --bind-to none
    --mca mpi_yield_when_idle 1 -n 3 ${PROJECT_BINARY_DIR}/bin/bench-mpi-metg-openmpi)
  set(metg_shmem ${PROJECT_BINARY_DIR}/bin/weftrun -n 5 ${PROJECT_BINARY_DIR}/bin/bench-shmem-metg-weft)
  set(metg_shmem-processes ${PROJECT_BINARY_DIR}/bin/weftrun -n 5 --processes 2 --workers 1
    ${PROJECT_BINARY_DIR}/bin/bench-shmem-metg-weft)
  foreach(peer IN ITEMS weft processes tbb mpi mpich openmpi shmem shmem-processes)
    if((peer STREQUAL tbb AND NOT TARGET bench-tbb-metg) OR
       (peer MATCHES "^(mpi|shmem.*)$" AND NOT TARGET weft-wrappers) OR (peer STREQUAL processes AND NOT TARGET weftrun)
       OR (peer MATCHES "mpich|openmpi" AND NOT (WEFT_MPICXX_${peer} AND WEFT_MPIEXEC_${peer})))
      continue()
    endif()
    set(backends ready,steps,tasks)
    if(peer STREQUAL weft)
      set(backends ${backends},spawn,futures,parcels)
    elseif(peer STREQUAL processes)
      set(backends ${backends},parcels)
    elseif(peer STREQUAL tbb)
      set(backends spawn)
    elseif(peer MATCHES "shmem")
      set(backends signals,get,am,am-wait)
    elseif(peer MATCHES "mpich|openmpi")
      set(backends ready,steps)
    endif()
    foreach(kernel IN ITEMS compute memory imbalance)
      if(peer MATCHES "shmem" AND NOT kernel STREQUAL "compute")
        continue()  # Kernels are the same for all.
      endif()
      foreach(outputs IN ITEMS right wrong)
        set(spoil 0)
        if(outputs STREQUAL wrong)
          set(spoil 1)
        endif()
        set(test metg.${peer}.${kernel}.${outputs})
        add_test(NAME ${test} COMMAND ${metg_${peer}})
        set_tests_properties(${test} PROPERTIES LABELS bench TIMEOUT 300 PROCESSORS 2 ENVIRONMENT
          "WEFT_RANKS=5;WEFT_WORKERS=2;BENCH_RANKS=5;BENCH_WORKERS=2;BENCH_PRIORITY=0;BENCH_SECONDS=0.01;METG_BACKEND=${backends};METG_KERNEL=${kernel};METG_SPOIL=${spoil};METG_ITERATIONS=2;METG_STEPS=40;METG_COLUMNS=3;METG_BYTES=48;METG_SCRATCH=8192")
      endforeach()
    endforeach()
  endforeach()
endif()
