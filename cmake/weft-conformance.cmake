# tests/conformance/*.c: plain MPI programs, one per chapter of the standard. Each is a program of weftcc,
# run with its ranks in one process, in two, and in one each; and a program of each MPI found, which
# checks the test. ctest -R '^mpi\.' runs them all, ctest -R '^mpi\.requests\.' those of one file.

# What these call is still to come; a name that leaves this list is tested from then on.
set(conformance_pending
  example.conjugate_gradient environment threads)

find_program(WEFT_MPICC_mpich mpicc.mpich)
find_program(WEFT_MPICC_openmpi mpicc.openmpi)
find_program(WEFT_MPIEXEC_mpich mpiexec.hydra)
find_program(WEFT_MPIEXEC_openmpi mpirun.openmpi)
# More ranks than cores take MPICH whole time slices for each message.
set(launch_mpich ${WEFT_MPIEXEC_mpich} -bind-to none -n 2)
set(launch_openmpi ${WEFT_MPIEXEC_openmpi} --allow-run-as-root --oversubscribe --bind-to none
  --mca mpi_yield_when_idle 1 -n 3)

set(weftrun ${PROJECT_BINARY_DIR}/bin/weftrun)
set(conformance_directory ${PROJECT_SOURCE_DIR}/tests/conformance)
set(conformance_bin ${PROJECT_BINARY_DIR}/bin/conformance)
file(MAKE_DIRECTORY ${conformance_bin})
set(mpi_header ${PROJECT_SOURCE_DIR}/include/mpi/mpi.h)

function(weft_add_conformance_test name)  # COMMAND...
  add_test(NAME mpi.${name} COMMAND ${conformance_directory}/run.sh ${ARGN})
  set_tests_properties(mpi.${name} PROPERTIES LABELS mpi TIMEOUT 120 PROCESSORS 2)
endfunction()

set(programs)
file(GLOB sources CONFIGURE_DEPENDS ${conformance_directory}/*.c)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  set(words -O1 -g -std=gnu11 -pthread ${source})
  if(NOT name IN_LIST conformance_pending)
    set(program ${conformance_bin}/${name})
    add_custom_command(OUTPUT ${program} COMMAND ${PROJECT_BINARY_DIR}/bin/weftcc -Wall -Wextra ${words} -o ${program}
      DEPENDS ${source} ${conformance_directory}/conform.h ${mpi_header} weft-wrappers)
    list(APPEND programs ${program})
    foreach(ranks IN ITEMS 1 2 5 16)
      weft_add_conformance_test(${name}.n${ranks} ${weftrun} -n ${ranks} ${program})
    endforeach()
    weft_add_conformance_test(${name}.processes ${weftrun} -n 5 --processes 2 ${program})
    weft_add_conformance_test(${name}.alone ${weftrun} -n 3 --ranks-per-process 1 ${program})
  endif()
  foreach(mpi IN ITEMS mpich openmpi)
    if(WEFT_MPICC_${mpi} AND WEFT_MPIEXEC_${mpi})
      set(program ${conformance_bin}/${name}-${mpi})
      # Their headers call for warnings where an array of statuses is ignored.
      add_custom_command(OUTPUT ${program} COMMAND ${WEFT_MPICC_${mpi}} -w ${words} -o ${program}
        DEPENDS ${source} ${conformance_directory}/conform.h)
      list(APPEND programs ${program})
      weft_add_conformance_test(${name}.${mpi} ${launch_${mpi}} ${program})
    endif()
  endforeach()
endforeach()
add_custom_target(conformance-programs DEPENDS ${programs})
add_dependencies(test-programs conformance-programs)

# examples/mpi/: the same output under every library and in every arrangement of ranks.
set(example_ranks 3)
set(example_bin ${PROJECT_BINARY_DIR}/bin/examples-mpi)
file(MAKE_DIRECTORY ${example_bin})
set(programs)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/mpi/*.c ${PROJECT_SOURCE_DIR}/examples/mpi/*.cpp
  ${PROJECT_SOURCE_DIR}/examples/mpi/*.f90)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  cmake_path(GET source EXTENSION LAST_ONLY extension)
  if(extension STREQUAL ".c")
    set(wrapper cc)
    set(words -std=gnu11)
  elseif(extension STREQUAL ".cpp")
    set(wrapper cxx)
    set(words -std=c++20)
  else()
    if(NOT WEFT_GFORTRAN)
      continue()
    endif()
    set(wrapper fort)
    set(words)
  endif()
  set(commands)
  if(NOT example.${name} IN_LIST conformance_pending)
    set(program ${example_bin}/${name})
    string(REPLACE fort fc weft_wrapper weft${wrapper})
    add_custom_command(OUTPUT ${program} DEPENDS ${source} ${mpi_header} weft-wrappers
      COMMAND ${CMAKE_COMMAND} -E make_directory ${program}.modules
      COMMAND ${CMAKE_COMMAND} -E chdir ${program}.modules ${PROJECT_BINARY_DIR}/bin/${weft_wrapper} -O2 -Wall
        ${words} ${source} -lm -o ${program})
    list(APPEND programs ${program})
    foreach(shape IN ITEMS "" "--processes 2" "--ranks-per-process 1")
      list(APPEND commands "${weftrun} -n ${example_ranks} ${shape} ${program}")
    endforeach()
  endif()
  foreach(mpi IN ITEMS mpich openmpi)
    find_program(WEFT_MPI${wrapper}_${mpi} mpi${wrapper}.${mpi})
    if(WEFT_MPI${wrapper}_${mpi} AND WEFT_MPIEXEC_${mpi})
      set(program ${example_bin}/${name}-${mpi})
      add_custom_command(OUTPUT ${program} DEPENDS ${source}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${program}.modules
        COMMAND ${CMAKE_COMMAND} -E chdir ${program}.modules ${WEFT_MPI${wrapper}_${mpi}} -O2 -w ${words} ${source}
          -lm -o ${program})
      list(APPEND programs ${program})
      list(JOIN launch_${mpi} " " launch)
      string(REGEX REPLACE " -n [0-9]+$" " -n ${example_ranks}" launch "${launch}")
      list(APPEND commands "${launch} ${program}")
    endif()
  endforeach()
  add_test(NAME mpi.example.${name} COMMAND ${conformance_directory}/same_output.sh ${commands})
  set_tests_properties(mpi.example.${name} PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
endforeach()
add_custom_target(examples-mpi DEPENDS ${programs})
add_dependencies(test-programs examples-mpi)
