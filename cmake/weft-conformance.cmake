# tests/conformance/*.c, *.f, *.f90, *.F90: plain MPI programs, one per chapter of the standard. Each is a
# program of weftcc, run with its ranks in one process, in two, and in one each, and checked, and with the words
# after each "Run with:" in it; and a program of each MPI found, which checks the test. ctest -R '^mpi\.' runs
# them all, ctest -R '^mpi\.requests\.' those of one file.

# More ranks than cores take MPICH whole time slices for each message; Open MPI yields, and checks what
# depends on the number of ranks: orders, splits, grids.
set(launch_mpich ${WEFT_MPIEXEC_mpich} -bind-to none -n)
set(ranks_mpich 2)
set(launch_openmpi ${WEFT_MPIEXEC_openmpi} --allow-run-as-root --oversubscribe --bind-to none
  --mca mpi_yield_when_idle 1 -n)
set(ranks_openmpi 5 16)
# Open MPI 4.1 faults in one-sided operations over its emulation of remote memory (osc rdma).
set(environment_openmpi OMPI_MCA_osc=pt2pt,sm)

set(weftrun ${PROJECT_BINARY_DIR}/bin/weftrun)
set(conformance_directory ${PROJECT_SOURCE_DIR}/tests/conformance)
set(conformance_bin ${PROJECT_BINARY_DIR}/bin/conformance)
file(MAKE_DIRECTORY ${conformance_bin})
set(mpi_header ${PROJECT_SOURCE_DIR}/include/mpi/mpi.h ${PROJECT_SOURCE_DIR}/include/mpi/mpi_absent.h ${PROJECT_SOURCE_DIR}/include/mpi/mpi-ext.h)

function(weft_add_conformance_test name)  # COMMAND...
  add_test(NAME mpi.${name} COMMAND ${conformance_directory}/run.sh ${ARGN})
  set_tests_properties(mpi.${name} PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
endfunction()

# PROGRAM with the words after each "Run with:" of SOURCE: NAME, NAME.again, ...; [LABEL]: of each.
function(weft_add_runs_of_source name source program)
  file(STRINGS ${source} lines REGEX "Run with: ")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^.*Run with: | *\\*/$" "" run_with "${line}")
    separate_arguments(run_with)
    weft_add_conformance_test(${name} ${weftrun} ${run_with} ${program})
    if(ARGN)
      set_tests_properties(mpi.${name} PROPERTIES LABELS "${ARGN}" TIMEOUT 1000)
    endif()
    string(APPEND name ".again")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
endfunction()

# Sets `wrapper` and `words` for a source: the end of the wrappers' names, and what they are given.
macro(weft_choose_wrapper source)
  cmake_path(GET source EXTENSION LAST_ONLY extension)
  if(extension STREQUAL ".c")
    set(wrapper cc)
    set(words -std=gnu11)
  elseif(extension STREQUAL ".cpp")
    set(wrapper cxx)
    set(words -std=c++20)
  else()
    set(wrapper fort)
    set(words)
  endif()
  string(REPLACE fort fc weft_wrapper ${PROJECT_BINARY_DIR}/bin/weft${wrapper})
endmacro()

# PROGRAM of SOURCE by COMPILER [WORDS...], in a directory of its own for the modules of Fortran.
function(weft_add_mpi_program program source compiler)
  cmake_path(GET source PARENT_PATH directory)
  file(GLOB headers CONFIGURE_DEPENDS ${directory}/*.h)
  set(needed ${source} ${conformance_directory}/conform.h ${headers})
  string(FIND ${compiler} ${PROJECT_BINARY_DIR}/bin/weft place)
  if(place EQUAL 0 OR compiler MATCHES "_abi$")
    list(APPEND needed ${mpi_header} weft-wrappers weft-program)
  endif()
  add_custom_command(OUTPUT ${program} DEPENDS ${needed} COMMAND_EXPAND_LISTS
    COMMAND ${CMAKE_COMMAND} -E make_directory ${program}.modules
    COMMAND ${CMAKE_COMMAND} -E chdir ${program}.modules ${compiler} ${ARGN} ${source} -lm -o ${program})
endfunction()

# Those that MPICH's compiler has linked run under weft, too, by libmpich.so.12, but for three that compare weft's version
# of MPI with that of MPICH's header.
set(not_by_mpich "^(environment|f08_objects|fortran_objects)$")
set(programs)
file(GLOB sources CONFIGURE_DEPENDS ${conformance_directory}/*.c ${conformance_directory}/*.f ${conformance_directory}/*.f90
  ${conformance_directory}/*.F90)
if(NOT WEFT_GFORTRAN)
  list(FILTER sources EXCLUDE REGEX "\\.[fF](90)?$")
endif()
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  weft_choose_wrapper(${source})
  list(APPEND words -O1 -g -pthread -fopenmp)
  set(program ${conformance_bin}/${name})
  weft_add_mpi_program(${program} ${source} ${weft_wrapper} -Wall ${words})
  list(APPEND programs ${program})
  foreach(ranks IN ITEMS 1 2 5 16)
    weft_add_conformance_test(${name}.n${ranks} ${weftrun} -n ${ranks} ${program})
  endforeach()
  if(name STREQUAL "collectives") # Ranks of a worker so many that small parts go in rows.
    weft_add_conformance_test(${name}.n64 ${weftrun} -n 64 ${program})
  endif()
  weft_add_conformance_test(${name}.processes ${weftrun} -n 5 --processes 2 ${program})
  weft_add_conformance_test(${name}.alone ${weftrun} -n 3 --ranks-per-process 1 ${program})
  weft_add_conformance_test(${name}.checked ${weftrun} -n 5 --processes 2 --check ${program})
  weft_add_runs_of_source(${name}.again ${source} ${program})
  # weft's MPI_Send and MPICH's in one process, where they must not meet.
  if(TARGET weft-transport-mpi-mpich AND WEFT_MPIEXEC_mpich AND
      name MATCHES "^(point_to_point|collectives|requests|datatypes|threads)$" AND NOT WEFT_SANITIZE)
    weft_add_conformance_test(${name}.over_mpich ${WEFT_MPIEXEC_mpich} -n 2 ${program})
    set_tests_properties(mpi.${name}.over_mpich PROPERTIES
      ENVIRONMENT "WEFT_TRANSPORT=mpi:mpich;WEFT_RANKS=5")
  endif()
  # "Not with: mpich ..." in a source says which of them cannot run it, and why.
  file(STRINGS ${source} not_with REGEX "Not with: ")
  foreach(mpi IN ITEMS mpich openmpi)
    find_program(WEFT_MPI${wrapper}_${mpi} mpi${wrapper}.${mpi})
    if(WEFT_MPI${wrapper}_${mpi} AND WEFT_MPIEXEC_${mpi} AND NOT not_with MATCHES "Not with: ${mpi}")
      set(program ${conformance_bin}/${name}-${mpi})
      # Their headers call for warnings where an array of statuses is ignored; not all of them let
      # arguments of one procedure differ in type.
      weft_add_mpi_program(${program} ${source} ${WEFT_MPI${wrapper}_${mpi}} -w ${words}
        $<$<STREQUAL:${wrapper},fort>:-fallow-argument-mismatch>)
      list(APPEND programs ${program})
      foreach(ranks IN LISTS ranks_${mpi})
        weft_add_conformance_test(${name}.${mpi}.n${ranks} ${CMAKE_COMMAND} -E env ${environment_${mpi}} ${launch_${mpi}} ${ranks} ${program})
      endforeach()
      if(mpi STREQUAL mpich AND TARGET weft-libmpich AND NOT WEFT_SANITIZE AND NOT name MATCHES "${not_by_mpich}")
        weft_add_conformance_test(${name}.by_mpich.n5 ${weftrun} -n 5 ${program})
      endif()
    endif()
  endforeach()
endforeach()
if(WEFT_GFORTRAN)
  # Procedures without interfaces, whose arguments differ in rank: the compiler warns.
  set(source ${conformance_directory}/fortran_collectives.F90)
  set(program ${conformance_bin}/fortran_collectives_mpif)
  weft_choose_wrapper(${source})
  weft_add_mpi_program(${program} ${source} ${weft_wrapper} -w -O1 -g -DBY_MPIF_H)
  list(APPEND programs ${program})
  foreach(ranks IN ITEMS 1 5)
    weft_add_conformance_test(fortran_collectives_mpif.n${ranks} ${weftrun} -n ${ranks} ${program})
  endforeach()
  weft_add_conformance_test(fortran_collectives_mpif.alone ${weftrun} -n 3 --ranks-per-process 1 ${program})
endif()
# Modules that are compiled as for another compiler.
if(WEFT_GFORTRAN AND fortran_needed)
  set(modules ${conformance_bin}/f08_own_modules.modules)
  set(program ${conformance_bin}/f08_own_modules)
  add_custom_command(OUTPUT ${program} DEPENDS ${conformance_directory}/f08_status.f90 ${conformance_directory}/f08_checks.h
      weft-wrappers weft-program ${weft_home}/fortran/compile_modules
    COMMAND ${CMAKE_COMMAND} -E make_directory ${modules}
    COMMAND ${weft_home}/fortran/compile_modules ${WEFT_GFORTRAN} ${modules}
    COMMAND ${CMAKE_COMMAND} -E chdir ${modules} ${PROJECT_BINARY_DIR}/bin/weftfc -I${modules} ${conformance_directory}/f08_status.f90
      ${modules}/libweft-f08.a -o ${program})
  list(APPEND programs ${program})
  weft_add_conformance_test(f08_own_modules.n2 ${weftrun} -n 2 ${program})
endif()
add_custom_target(conformance-programs ALL DEPENDS ${programs})
add_dependencies(test-programs conformance-programs)

# By the standard's binary interface: six of these programs unchanged, and tests/conformance/abi/.
if(TARGET weft-abi AND NOT WEFT_SANITIZE)
  set(programs)
  foreach(name IN ITEMS point_to_point collectives datatypes communicators windows files)
    set(program ${conformance_bin}/abi-${name})
    weft_add_mpi_program(${program} ${conformance_directory}/${name}.c ${weft_home}/bin/mpicc_abi -Wall -std=gnu11 -O1 -g -pthread)
    list(APPEND programs ${program})
    weft_add_conformance_test(abi.${name}.n5 ${weftrun} -n 5 ${program})
  endforeach()
  set(kinds_of_data_plain -O0)
  set(kinds_of_data_whole -O3 -flto -Wl,-z,now)
  foreach(way IN ITEMS plain whole)
    set(program ${conformance_bin}/abi-kinds_of_data-${way})
    weft_add_mpi_program(${program} ${conformance_directory}/abi/kinds_of_data.cpp ${weft_home}/bin/mpicxx_abi -Wall -std=c++20
      ${kinds_of_data_${way}})
    list(APPEND programs ${program})
    weft_add_conformance_test(abi.kinds_of_data.${way} ${weftrun} -n 5 ${program})
  endforeach()
  weft_add_conformance_test(abi.kinds_of_data.alone ${weftrun} -n 3 --ranks-per-process 1 ${program})
  if(WEFT_MPIcc_mpich AND WEFT_MPIEXEC_mpich)
    set(program ${conformance_bin}/of_mpich)
    weft_add_mpi_program(${program} ${conformance_directory}/abi/of_mpich.c ${WEFT_MPIcc_mpich} -w -std=gnu11 -O1 -g)
    list(APPEND programs ${program})
    weft_add_conformance_test(abi.of_mpich.mpich.n2 ${launch_mpich} 2 ${program})
    weft_add_conformance_test(abi.of_mpich.n5 ${weftrun} -n 5 ${program})
    weft_add_conformance_test(abi.of_mpich.processes ${weftrun} -n 5 --processes 2 ${program})
    weft_add_conformance_test(abi.of_mpich.alone ${weftrun} -n 3 --ranks-per-process 1 ${program})
    set(mpicc_of_mpich ${WEFT_MPIcc_mpich})
  endif()
  add_custom_target(conformance-programs-of-abi ALL DEPENDS ${programs})
  add_dependencies(test-programs conformance-programs-of-abi)
  add_test(NAME mpi.abi.foreign COMMAND ${Python3_EXECUTABLE} ${conformance_directory}/abi/foreign.py ${weftrun} ${weft_home}
    ${CMAKE_C_COMPILER} ${mpicc_of_mpich})
  set_tests_properties(mpi.abi.foreign PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
endif()

# tests/conformance/weft/: what only weft can do, run with the words after each "Run with:"; long/: what takes
# long or much memory, with label soak.
set(programs)
file(GLOB sources CONFIGURE_DEPENDS ${conformance_directory}/weft/*.c ${conformance_directory}/weft/*.cpp
  ${conformance_directory}/weft/*.f90 ${conformance_directory}/long/*.c)
if(NOT WEFT_GFORTRAN)
  list(FILTER sources EXCLUDE REGEX "\\.f90$")
endif()
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  set(program ${conformance_bin}/weft-${name})
  weft_choose_wrapper(${source})
  weft_add_mpi_program(${program} ${source} ${weft_wrapper} -Wall -O1 -g -fopenmp ${words})
  list(APPEND programs ${program})
  set(label)
  if(source MATCHES "/long/")
    set(label soak)
  endif()
  weft_add_runs_of_source(weft.${name} ${source} ${program} ${label})
endforeach()
# tests/conformance/bad/bad_input.c: what wrong programs are told, in one process, in two with as many ranks each,
# and in one for each rank.
set(source ${conformance_directory}/bad/bad_input.c)
set(program ${conformance_bin}/bad_input)
weft_choose_wrapper(${source})
weft_add_mpi_program(${program} ${source} ${weft_wrapper} -Wall -O1 -g ${words})
list(APPEND programs ${program})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
file(STRINGS ${source} cases REGEX "^   CASE ")
foreach(line IN LISTS cases)
  string(REGEX MATCH "CASE ([a-z_]+) ?([0-9]*): (.*[^ */])" unused "${line}")
  set(case ${CMAKE_MATCH_1})
  set(ranks ${CMAKE_MATCH_2})
  if(NOT ranks)
    set(ranks 2)
  endif()
  set(expression "${CMAKE_MATCH_3}")
  foreach(shape IN ITEMS together processes alone)
    set(words -n ${ranks})
    if(shape STREQUAL alone)
      list(APPEND words --ranks-per-process 1)
    elseif(shape STREQUAL processes)
      math(EXPR twice "2 * ${ranks}")
      set(words -n ${twice} --processes 2)
    endif()
    add_test(NAME mpi.bad.${case}.${shape}
      COMMAND ${conformance_directory}/run_bad.sh ${expression} ${weftrun} ${words} ${program} ${case})
    set_tests_properties(mpi.bad.${case}.${shape} PROPERTIES LABELS mpi TIMEOUT 90 PROCESSORS 2)
  endforeach()
endforeach()
# One that no wrapper has linked: a process of it is one rank.
set(program ${conformance_bin}/not_by_wrapper)
add_custom_command(OUTPUT ${program} DEPENDS ${source} ${mpi_header} weft-wrappers
  COMMAND ${CMAKE_C_COMPILER} -I${PROJECT_SOURCE_DIR}/include/mpi ${source} -o ${program} -L${weft_home}
    -l:libweft.so.${weft_soversion} -Wl,-rpath,${weft_home})
list(APPEND programs ${program})
add_test(NAME mpi.bad.not_by_wrapper
  COMMAND ${conformance_directory}/run_bad.sh "weftcc has not linked it.*--ranks-per-process 1" ${weftrun} -n 3 ${program})
set_tests_properties(mpi.bad.not_by_wrapper PROPERTIES LABELS mpi TIMEOUT 90)
add_custom_target(conformance-programs-of-weft ALL DEPENDS ${programs})
add_dependencies(test-programs conformance-programs-of-weft)

# examples/mpi/: the same output under every library and in every arrangement of ranks; with one rank, and
# with more than there are cores; and of those below with any number of ranks.
set(example_ranks 1 3 16)
set(examples_same_for_all heat conjugate_gradient hash_table checkpoint)
set(example_bin ${PROJECT_BINARY_DIR}/bin/examples-mpi)
file(MAKE_DIRECTORY ${example_bin})
set(programs)
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/mpi/*.c ${PROJECT_SOURCE_DIR}/examples/mpi/*.cpp
  ${PROJECT_SOURCE_DIR}/examples/mpi/*.f90)
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  weft_choose_wrapper(${source})
  if(wrapper STREQUAL fort AND NOT WEFT_GFORTRAN)
    continue()
  endif()
  foreach(ranks IN LISTS example_ranks)
    set(commands_${ranks})
  endforeach()
  set(program ${example_bin}/${name})
  weft_add_mpi_program(${program} ${source} ${weft_wrapper} -O2 -Wall ${words})
  list(APPEND programs ${program})
  foreach(ranks IN LISTS example_ranks)
    list(APPEND commands_${ranks} "${weftrun} -n ${ranks} ${program}"
      "${weftrun} -n ${ranks} --ranks-per-process 1 ${program}")
    if(ranks GREATER 1)
      list(APPEND commands_${ranks} "${weftrun} -n ${ranks} --processes 2 ${program}")
    endif()
  endforeach()
  list(APPEND commands_1 ${program})
  file(STRINGS ${source} not_with REGEX "Not with: ")
  foreach(mpi IN ITEMS mpich openmpi)
    find_program(WEFT_MPI${wrapper}_${mpi} mpi${wrapper}.${mpi})
    if(WEFT_MPI${wrapper}_${mpi} AND WEFT_MPIEXEC_${mpi} AND NOT not_with MATCHES "Not with: ${mpi}")
      set(program ${example_bin}/${name}-${mpi})
      weft_add_mpi_program(${program} ${source} ${WEFT_MPI${wrapper}_${mpi}} -O2 -w ${words})
      list(APPEND programs ${program})
      list(JOIN launch_${mpi} " " launch)
      if(environment_${mpi})
        set(launch "${environment_${mpi}} ${launch}")
      endif()
      foreach(ranks IN LISTS example_ranks)
        list(APPEND commands_${ranks} "${launch} ${ranks} ${program}")
      endforeach()
    endif()
  endforeach()
  if(name IN_LIST examples_same_for_all)
    set(commands_all)
    foreach(ranks IN LISTS example_ranks)
      list(GET commands_${ranks} 0 command)
      list(APPEND commands_all ${command})
    endforeach()
    add_test(NAME mpi.example.${name}.any COMMAND ${conformance_directory}/same_output.sh ${commands_all})
    set_tests_properties(mpi.example.${name}.any PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
  endif()
  foreach(ranks IN LISTS example_ranks)
    add_test(NAME mpi.example.${name}.n${ranks} COMMAND ${conformance_directory}/same_output.sh ${commands_${ranks}})
    set_tests_properties(mpi.example.${name}.n${ranks} PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
  endforeach()
endforeach()
# The process of rank 2 dies; the status is that of the one that was killed.
add_test(NAME mpi.example.survivors.dies
  COMMAND ${weftrun} --on-failure error -n 6 --processes 3 --timeout 60 ${example_bin}/survivors 2)
set_tests_properties(mpi.example.survivors.dies PROPERTIES LABELS mpi TIMEOUT 90 PROCESSORS 2
  PASS_REGULAR_EXPRESSION "4 ranks go on from step 300.*after 600 steps the rod has 1332.840123")
add_custom_target(examples-mpi ALL DEPENDS ${programs})
add_dependencies(test-programs examples-mpi)

# tests/breakdown/: what weftrun --breakdown says of programs with one known fault, and the page in a browser.
if(TARGET weftrun AND NOT WEFT_SANITIZE)
  set(breakdown_directory ${PROJECT_SOURCE_DIR}/tests/breakdown)
  set(source ${breakdown_directory}/faults.c)
  set(program ${conformance_bin}/breakdown-faults)
  weft_choose_wrapper(${source})
  weft_add_mpi_program(${program} ${source} ${weft_wrapper} -Wall -std=gnu11 -O1 -g)
  set(pop_tool ${conformance_bin}/breakdown-pop-tool.so)
  weft_add_mpi_program(${pop_tool} ${breakdown_directory}/pop_tool.c ${weft_wrapper} -Wall -std=gnu11 -O1 -g -shared -fPIC)
  add_custom_target(breakdown-programs ALL DEPENDS ${program} ${pop_tool})
  add_dependencies(breakdown-programs weft-breakdown test-breakdown)
  add_dependencies(test-programs breakdown-programs)
  set(breakdown_words ${weftrun} ${PROJECT_BINARY_DIR}/bin/weft-breakdown ${program}
    ${PROJECT_BINARY_DIR}/bin/test-breakdown)
  add_dependencies(breakdown-programs test-task_faults)
  add_test(NAME breakdown.live COMMAND python3 ${breakdown_directory}/live.py ${breakdown_words}
    ${PROJECT_BINARY_DIR}/bin/shmem/breakdown_faults ${PROJECT_BINARY_DIR}/bin/test-task_faults ${pop_tool})
  set_tests_properties(breakdown.live PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
  # Each wait state by each call that can have it, and places of programs in Fortran.
  set(waits ${conformance_bin}/breakdown-waits)
  weft_add_mpi_program(${waits} ${breakdown_directory}/waits.c ${weft_wrapper} -Wall -std=gnu11 -O1 -g)
  add_custom_target(breakdown-waits-program ALL DEPENDS ${waits})
  add_dependencies(breakdown-waits-program test-parcel_waits)
  add_dependencies(test-programs breakdown-waits-program)
  add_test(NAME breakdown.waits
    COMMAND python3 ${breakdown_directory}/waits.py ${weftrun} ${PROJECT_BINARY_DIR}/bin/weft-breakdown ${waits}
      ${PROJECT_BINARY_DIR}/bin/test-parcel_waits ${PROJECT_BINARY_DIR}/bin/shmem/breakdown_waits)
  set_tests_properties(breakdown.waits PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
  if(WEFT_GFORTRAN)
    set(places ${conformance_bin}/breakdown-places)
    weft_add_mpi_program(${places} ${breakdown_directory}/places.f90 ${PROJECT_BINARY_DIR}/bin/weftfc -Wall -O1 -g)
    add_custom_target(breakdown-places-program ALL DEPENDS ${places})
    add_dependencies(test-programs breakdown-places-program)
    add_test(NAME breakdown.places
      COMMAND python3 ${breakdown_directory}/places.py ${weftrun} ${PROJECT_BINARY_DIR}/bin/weft-breakdown ${places}
        ${breakdown_directory}/places.f90)
    set_tests_properties(breakdown.places PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
  endif()
  add_test(NAME breakdown.measure
    COMMAND python3 ${breakdown_directory}/measure.py ${PROJECT_BINARY_DIR}/bin/weft-breakdown)
  set_tests_properties(breakdown.measure PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
  add_test(NAME breakdown.timeline COMMAND python3 ${breakdown_directory}/timeline.py ${weftrun} ${program})
  set_tests_properties(breakdown.timeline PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
  set(halo ${conformance_bin}/breakdown-halo)
  weft_choose_wrapper(${breakdown_directory}/halo.c)
  weft_add_mpi_program(${halo} ${breakdown_directory}/halo.c ${weft_wrapper} -Wall -std=gnu11 -O1 -g)
  set(paths ${conformance_bin}/breakdown-paths)
  weft_choose_wrapper(${breakdown_directory}/paths.c)
  weft_add_mpi_program(${paths} ${breakdown_directory}/paths.c ${weft_wrapper} -Wall -std=gnu11 -O1 -g)
  add_custom_target(breakdown-halo-program ALL DEPENDS ${halo} ${paths})
  add_dependencies(test-programs breakdown-halo-program)
  add_test(NAME breakdown.events
    COMMAND python3 ${breakdown_directory}/events.py ${weftrun} ${PROJECT_BINARY_DIR}/bin/weft-breakdown ${program} ${halo})
  set_tests_properties(breakdown.events PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
  add_test(NAME breakdown.paths
    COMMAND python3 ${breakdown_directory}/paths.py ${weftrun} ${PROJECT_BINARY_DIR}/bin/weft-breakdown ${paths} ${pop_tool}
      ${PROJECT_BINARY_DIR}/bin/shmem/breakdown_faults)
  set_tests_properties(breakdown.paths PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
  find_program(WEFT_CHROMIUM NAMES chromium chromium-browser google-chrome)
  if(WEFT_CHROMIUM)
    add_test(NAME breakdown.page
      COMMAND python3 ${breakdown_directory}/page.py ${WEFT_CHROMIUM} ${breakdown_words})
    set_tests_properties(breakdown.page PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
  endif()
endif()

# tests/translate/: what weft-translate makes of programs; of examples/mpi only that it prints the same.
if(TARGET weft-translate)
  set(translate_directory ${PROJECT_SOURCE_DIR}/tests/translate)
  file(GLOB sources CONFIGURE_DEPENDS ${translate_directory}/*.c ${translate_directory}/*.cpp)
  file(GLOB examples CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/mpi/*.c ${PROJECT_SOURCE_DIR}/examples/mpi/*.cpp)
  list(FILTER examples EXCLUDE REGEX "/survivors\\.c$")  # All its messages are over communicators that shrink: they stay.
  foreach(source IN LISTS sources examples)
    cmake_path(GET source STEM name)
    set(only)
    if(source IN_LIST examples)
      set(name example.${name})
      set(only --only-same)
    endif()
    add_test(NAME translate.${name} COMMAND ${Python3_EXECUTABLE} ${translate_directory}/golden.py ${PROJECT_BINARY_DIR}/bin
      ${translate_directory} ${PROJECT_BINARY_DIR}/translate/${name} ${source} ${only})
    set_tests_properties(translate.${name} PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
  endforeach()
  add_test(NAME translate.proposal COMMAND ${Python3_EXECUTABLE} ${translate_directory}/proposal.py ${PROJECT_BINARY_DIR}/bin
    ${PROJECT_BINARY_DIR}/translate/proposal ${translate_directory}/tasks.cpp)
  set_tests_properties(translate.proposal PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS 2)
endif()
