# What weftcc, weftcxx and weftfc link to programs, and what runs them: lib/weft/ of the build tree
# has the layout of the installed one. docs/images.md says what each part is.

set(weft_home ${PROJECT_BINARY_DIR}/lib/weft)
set(weft_soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# All copies of a program share one libweft. Beside the static library, not in its place: it lies
# where only programs of the wrappers look.
add_library(weft-shared SHARED ${weft_shared_only})
target_include_directories(weft-shared PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_compile_options(weft-shared PRIVATE -ftls-model=initial-exec)
target_link_libraries(weft-shared PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,weft>)
set_target_properties(weft-shared PROPERTIES OUTPUT_NAME weft VERSION ${PROJECT_VERSION}
  SOVERSION ${weft_soversion} LIBRARY_OUTPUT_DIRECTORY ${weft_home})
weft_compile_options(weft-shared)
# A program that has opened it with a library may close that.
target_link_options(weft-shared PRIVATE -Wl,-z,nodelete)

# A file's prefix in src/process says where it is linked: program_ to each program, host_ to weft-host,
# both_ to both; a file without one is part of the library.

# Linked to each program, those members of it that the program calls. Fortran's MPI among them: its
# common blocks must be the program's own.
file(GLOB program_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/process/*/program_*.c
  ${PROJECT_SOURCE_DIR}/src/process/*/both_*.c)
find_package(Python3 COMPONENTS Interpreter OPTIONAL_COMPONENTS Development.Module Development.Embed)
find_program(WEFT_GFORTRAN gfortran)
set(fortran_source ${PROJECT_SOURCE_DIR}/src/mpi/fortran)
set(fortran_written ${PROJECT_BINARY_DIR}/fortran)
set(fortran_files_written mpif.h mpi.f90)
if(Python3_FOUND)
  list(APPEND program_sources ${fortran_written}/stubs.c ${fortran_source}/special.c)
  # Module mpi_f08 needs the compiler's description of its descriptors.
  if(WEFT_GFORTRAN)
    execute_process(COMMAND ${WEFT_GFORTRAN} -print-file-name=include/ISO_Fortran_binding.h OUTPUT_VARIABLE fortran_binding
      OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(IS_ABSOLUTE "${fortran_binding}" AND EXISTS "${fortran_binding}")
      configure_file(${fortran_binding} ${fortran_written}/ISO_Fortran_binding.h COPYONLY)
      list(APPEND program_sources ${fortran_written}/stubs_f08.c ${fortran_source}/descriptors.c)
      list(APPEND fortran_files_written mpi_f08.f90)
    else()
      message(STATUS "ISO_Fortran_binding.h of gfortran was not found: there will be no module mpi_f08")
    endif()
  endif()
  list(TRANSFORM fortran_files_written PREPEND ${fortran_written}/ OUTPUT_VARIABLE fortran_texts)
  add_custom_command(OUTPUT ${fortran_written}/stubs.c ${fortran_written}/stubs_f08.c ${fortran_written}/declared.h
      ${fortran_texts}
    DEPENDS ${fortran_source}/generate.py ${fortran_source}/module_f08.py ${fortran_source}/functions.table
      ${fortran_source}/extensions.table ${PROJECT_SOURCE_DIR}/include/mpi/mpi-ext.h
      ${PROJECT_SOURCE_DIR}/include/mpi/mpi.h ${PROJECT_SOURCE_DIR}/include/mpi/mpi_absent.h
    COMMAND ${Python3_EXECUTABLE} -B ${fortran_source}/generate.py ${PROJECT_SOURCE_DIR}/include/mpi/mpi.h
      ${fortran_written} || true)  # tests/tidy/fortran_functions.py tells what is left out.
else()
  message(STATUS "Python was not found: there will be no MPI for Fortran")
endif()
add_library(weft-program STATIC ${program_sources})
target_include_directories(weft-program PRIVATE ${PROJECT_SOURCE_DIR}/include/weft/program ${PROJECT_SOURCE_DIR}/include ${fortran_source} ${fortran_written})
set_target_properties(weft-program PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${weft_home})
set_target_properties(weft-program PROPERTIES POSITION_INDEPENDENT_CODE ON C_STANDARD 11 C_STANDARD_REQUIRED ON)
target_include_directories(weft-program PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(weft-program PRIVATE -Wall -Wextra -Wshadow $<$<BOOL:${WEFT_WERROR}>:-Werror>)

# libmpi_abi: MPI by the standard's binary interface, for programs that any compiler has linked. It has names alone: the
# loader finds in libweft what they mean, and in libweft-process what stands before the C library.
set(weft_abi_names libmpi_abi.so.1 libmpi_abi.so.0)  # Two releases of MPICH have written the latter into programs.
if(Python3_FOUND)
  file(GLOB foreign_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/process/*/program_*.c
    ${PROJECT_SOURCE_DIR}/src/process/*/both_*.c ${PROJECT_SOURCE_DIR}/src/process/*/foreign_*.c)
  list(FILTER foreign_sources EXCLUDE REGEX "/program_(openmp|start|executable)\\.c$")
  add_library(weft-process SHARED ${foreign_sources})
  target_include_directories(weft-process PRIVATE ${PROJECT_SOURCE_DIR}/include/weft/program ${PROJECT_SOURCE_DIR}/src
    ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(weft-process PRIVATE weft-shared)
  set(abi_names_written ${PROJECT_BINARY_DIR}/abi/names.c)
  add_custom_command(OUTPUT ${abi_names_written} DEPENDS ${PROJECT_SOURCE_DIR}/src/mpi/abi/write_library.py
      ${PROJECT_SOURCE_DIR}/include/mpi/mpi.h ${PROJECT_SOURCE_DIR}/include/mpi/mpi_absent.h
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/abi
    COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/src/mpi/abi/write_library.py ${PROJECT_SOURCE_DIR}/include/mpi/mpi.h
      ${abi_names_written})
  set(abi_targets)
  foreach(name IN LISTS weft_abi_names)
    string(REGEX REPLACE "^.*\\." weft-abi- target ${name})
    add_library(${target} SHARED ${abi_names_written} ${PROJECT_SOURCE_DIR}/src/mpi/abi/library_large_partitions.c)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include)
    # Not -fno-semantic-interposition: the names are to be found in libweft.
    target_link_options(${target} PRIVATE -Wl,-soname,${name} -Wl,--auxiliary,libweft-process.so
      -Wl,--auxiliary,libweft.so.${weft_soversion})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} PREFIX "" SUFFIX "" NO_SONAME ON)
    add_dependencies(${target} weft-process weft-shared)
    list(APPEND abi_targets ${target})
  endforeach()
  set_target_properties(weft-process ${abi_targets} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${weft_home} C_STANDARD 11
    C_STANDARD_REQUIRED ON BUILD_RPATH "\$ORIGIN" INSTALL_RPATH "\$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
  foreach(target IN ITEMS weft-process ${abi_targets})
    target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow $<$<BOOL:${WEFT_WERROR}>:-Werror>)
  endforeach()
  file(MAKE_DIRECTORY ${weft_home})  # Of a fresh build.
  file(CREATE_LINK libmpi_abi.so.1 ${weft_home}/libmpi_abi.so SYMBOLIC)
  add_custom_target(weft-abi ALL DEPENDS ${abi_targets})

  # libmpi.so.12 and libmpich.so.12, libmpi.so.40: MPI by the interfaces of MPICH before version 5 and of Open MPI, whose functions
  # convert and call libweft's. These have second names in libweft, since the first ones are the converting functions'.
  set(older_source ${PROJECT_SOURCE_DIR}/src/mpi/abi/older)
  foreach(interface IN ITEMS mpich openmpi)
    set(${interface}_source ${PROJECT_SOURCE_DIR}/src/mpi/abi/${interface})
    set(${interface}_written ${PROJECT_BINARY_DIR}/abi/${interface})
    add_custom_command(OUTPUT ${${interface}_written}/names.h ${${interface}_written}/functions.c ${${interface}_written}/library.c
        ${${interface}_written}/own_names
      DEPENDS ${older_source}/write_functions.py ${PROJECT_SOURCE_DIR}/include/mpi/mpi.h ${PROJECT_SOURCE_DIR}/include/mpi/mpi_absent.h
        ${PROJECT_SOURCE_DIR}/include/mpi/mpi-ext.h ${fortran_source}/functions.table
      COMMAND ${Python3_EXECUTABLE} -B ${older_source}/write_functions.py ${interface} ${PROJECT_SOURCE_DIR}/include/mpi/mpi.h
        ${${interface}_written})
    add_custom_target(weft-${interface}-written DEPENDS ${${interface}_written}/own_names)
  endforeach()
  add_dependencies(weft-shared weft-mpich-written)
  target_link_options(weft-shared PRIVATE -Wl,@${mpich_written}/own_names)
  set_property(TARGET weft-shared APPEND PROPERTY LINK_DEPENDS ${mpich_written}/own_names)
  function(weft_add_interface_library target interface)
    add_library(${target} SHARED ${ARGN} ${${interface}_source}/convert.c ${older_source}/values.c)
    add_dependencies(${target} weft-${interface}-written)
    target_include_directories(${target} PRIVATE ${${interface}_source} ${older_source} ${${interface}_written}
      ${PROJECT_SOURCE_DIR}/include)
    # Arrays that are filled as far as they are looked at.
    target_compile_options(${target} PRIVATE -O2 -Wall -Wextra -Wshadow -Wno-maybe-uninitialized $<$<BOOL:${WEFT_WERROR}>:-Werror>)
    target_link_libraries(${target} PRIVATE weft-shared)
  endfunction()
  # What all ranks of a process share, and what each has, with what stands before the C library.
  weft_add_interface_library(weft-mpich mpich ${mpich_written}/functions.c ${older_source}/special.c ${mpich_source}/own.c)
  weft_add_interface_library(weft-process-mpich mpich ${foreign_sources} ${older_source}/of_rank.c)
  target_include_directories(weft-process-mpich PRIVATE ${PROJECT_SOURCE_DIR}/include/weft/program ${PROJECT_SOURCE_DIR}/src)
  set(older_targets weft-mpich weft-process-mpich)
  foreach(name IN ITEMS libmpi.so.12 libmpich.so.12)
    string(REGEX REPLACE "\\..*" "" target weft-${name})
    add_library(${target} SHARED ${mpich_written}/library.c)
    target_link_options(${target} PRIVATE -Wl,-soname,${name} -Wl,--auxiliary,libweft-process-mpich.so -Wl,--auxiliary,libweft-mpich.so
      -Wl,--auxiliary,libweft.so.${weft_soversion})
    set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} PREFIX "" SUFFIX "" NO_SONAME ON)
    add_dependencies(${target} weft-mpich weft-process-mpich)
    list(APPEND older_targets ${target})
  endforeach()
  # Of Open MPI's all is each rank's own: the variables, too, whose addresses are handles.
  weft_add_interface_library(weft-openmpi openmpi ${openmpi_written}/functions.c ${older_source}/special.c ${openmpi_source}/own.c ${openmpi_source}/bindings.c ${openmpi_source}/fortran.c
    ${older_source}/of_rank.c)
  target_link_options(weft-openmpi PRIVATE -Wl,--no-as-needed)
  target_link_libraries(weft-openmpi PRIVATE weft-process)
  add_library(weft-libmpi.so.40 SHARED ${openmpi_written}/library.c)
  target_link_options(weft-libmpi.so.40 PRIVATE -Wl,-soname,libmpi.so.40 -Wl,--auxiliary,libweft-process.so
    -Wl,--auxiliary,libweft-openmpi.so -Wl,--auxiliary,libweft.so.${weft_soversion})
  set_target_properties(weft-libmpi.so.40 PROPERTIES OUTPUT_NAME libmpi.so.40 PREFIX "" SUFFIX "" NO_SONAME ON)
  add_dependencies(weft-libmpi.so.40 weft-openmpi)
  list(APPEND older_targets weft-openmpi weft-libmpi.so.40)
  set_target_properties(${older_targets} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${weft_home} C_STANDARD 11 C_STANDARD_REQUIRED ON
    BUILD_RPATH "\$ORIGIN" INSTALL_RPATH "\$ORIGIN" BUILD_WITH_INSTALL_RPATH ON)
  add_dependencies(weft-abi ${older_targets})

  # By this name modules look for MPI that know several interfaces (mpi4py). Where linkers look it would be taken for the
  # library of weft's mpi.h.
  add_library(weft-module-libmpi SHARED ${mpich_written}/library.c)
  target_link_options(weft-module-libmpi PRIVATE -Wl,-soname,libmpi.so.12 -Wl,--auxiliary,libweft-process-mpich.so
    -Wl,--auxiliary,libweft-mpich.so -Wl,--auxiliary,libweft.so.${weft_soversion})
  set_target_properties(weft-module-libmpi PROPERTIES OUTPUT_NAME libmpi.so PREFIX "" SUFFIX "" NO_SONAME ON C_STANDARD 11
    LIBRARY_OUTPUT_DIRECTORY ${weft_home}/modules BUILD_RPATH "\$ORIGIN/.." INSTALL_RPATH "\$ORIGIN/.." BUILD_WITH_INSTALL_RPATH ON)
  add_dependencies(weft-module-libmpi weft-mpich weft-process-mpich)
  add_dependencies(weft-abi weft-module-libmpi)

  # In weft-host nothing stands before the C library but what it has itself. So libraries that are preloaded there, tools that
  # need MPI by one of these names, find in a folder for it libraries that bring nothing else.
  set(host_targets)
  file(WRITE ${PROJECT_BINARY_DIR}/abi/empty.c "/* What is called by this library's name is found elsewhere. */\ntypedef int nothing;\n")
  foreach(name ${weft_abi_names} libmpi.so.12 libmpich.so.12)
    add_library(weft-host-${name} SHARED ${PROJECT_BINARY_DIR}/abi/empty.c)
    target_link_options(weft-host-${name} PRIVATE -Wl,-soname,${name} -Wl,--no-as-needed)
    target_link_libraries(weft-host-${name} PRIVATE $<IF:$<STREQUAL:${name},libmpi.so.12>,weft-mpich,$<IF:$<STREQUAL:${name},libmpich.so.12>,weft-mpich,weft-shared>>)
    set_target_properties(weft-host-${name} PROPERTIES OUTPUT_NAME ${name} PREFIX "" SUFFIX "" NO_SONAME ON
      LIBRARY_OUTPUT_DIRECTORY ${weft_home}/host BUILD_RPATH "\$ORIGIN/.." INSTALL_RPATH "\$ORIGIN/.." BUILD_WITH_INSTALL_RPATH ON)
    list(APPEND host_targets weft-host-${name})
  endforeach()
  add_library(weft-host-libmpi.so.40 SHARED $<TARGET_OBJECTS:weft-openmpi>)
  target_link_libraries(weft-host-libmpi.so.40 PRIVATE weft-shared)
  target_link_options(weft-host-libmpi.so.40 PRIVATE -Wl,-soname,libmpi.so.40)
  set_target_properties(weft-host-libmpi.so.40 PROPERTIES OUTPUT_NAME libmpi.so.40 PREFIX "" SUFFIX "" NO_SONAME ON LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY ${weft_home}/host BUILD_RPATH "\$ORIGIN/.." INSTALL_RPATH "\$ORIGIN/.." BUILD_WITH_INSTALL_RPATH ON)
  list(APPEND host_targets weft-host-libmpi.so.40)
  add_dependencies(weft-abi ${host_targets})
else()
  message(STATUS "Python was not found: there will be no libmpi_abi")
endif()

# The process of a program that has several ranks in it.
file(GLOB host_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/process/*/host_*.c
  ${PROJECT_SOURCE_DIR}/src/process/*/both_*.c)
add_library(weft-host-parts OBJECT ${PROJECT_SOURCE_DIR}/tools/weftcc/host.cpp ${host_sources})
add_executable(weft-host $<TARGET_OBJECTS:weft-host-parts>)
# Another one for executables with thread-local variables: each thread has room for them, which no other shall pay for.
add_executable(weft-host-threads $<TARGET_OBJECTS:weft-host-parts> ${PROJECT_SOURCE_DIR}/tools/weftcc/host_thread_locals.c)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/process/loader/host_libraries.c PROPERTIES COMPILE_OPTIONS -O2)
foreach(target IN ITEMS weft-host-parts weft-host weft-host-threads)
  weft_compile_options(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include/weft/program ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(${target} PRIVATE weft-shared fmt::fmt)
endforeach()
# What it defines in place of libc's is found by the copies.
set_target_properties(weft-host weft-host-threads PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${weft_home}
  ENABLE_EXPORTS ON BUILD_RPATH "\$ORIGIN" INSTALL_RPATH "\$ORIGIN")

# The wrappers: one script, whose name says the language.
cmake_path(GET CMAKE_C_COMPILER FILENAME weft_cc)
cmake_path(GET CMAKE_CXX_COMPILER FILENAME weft_cxx)
# Words by which code for a shared object reaches the program's own variables as code of an executable does.
include(CheckCSourceCompiles)
set(weft_own_names "-fvisibility=protected -mno-direct-extern-access")
set(CMAKE_REQUIRED_FLAGS "-fPIC ${weft_own_names}")
set(CMAKE_REQUIRED_LINK_OPTIONS -shared)
check_c_source_compiles("int own; int get(void) { return own; }" WEFT_HAS_OWN_NAMES)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
# gfortran gives no variable a visibility.
set(weft_own_names_fortran "-fPIE -mno-direct-extern-access")
if(NOT WEFT_HAS_OWN_NAMES)
  set(weft_own_names)
  set(weft_own_names_fortran)
endif()
set(weft_home_from_bin ../lib/weft)
set(weft_include ${PROJECT_SOURCE_DIR}/include)
configure_file(${PROJECT_SOURCE_DIR}/tools/weftcc/weftcc.in ${PROJECT_BINARY_DIR}/bin/weftcc
  @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(weft_home_from_bin ../${CMAKE_INSTALL_LIBDIR}/weft)
set(weft_include ../${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/tools/weftcc/weftcc.in ${PROJECT_BINARY_DIR}/installed/weftcc
  @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
file(MAKE_DIRECTORY ${weft_home} ${PROJECT_BINARY_DIR}/installed/bin)
file(CREATE_LINK weftcc ${PROJECT_BINARY_DIR}/bin/weftcxx SYMBOLIC)
file(CREATE_LINK weftcc ${PROJECT_BINARY_DIR}/bin/weftfc SYMBOLIC)
# OpenSHMEM's names are beside them.
set(shmem_names oshcc oshc++ oshcxx oshCC)
foreach(name IN LISTS shmem_names)
  file(CREATE_LINK weftcc ${PROJECT_BINARY_DIR}/bin/${name} SYMBOLIC)
endforeach()
file(CREATE_LINK ../lib/weft/bin/mpirun ${PROJECT_BINARY_DIR}/bin/oshrun SYMBOLIC)
configure_file(${PROJECT_SOURCE_DIR}/tools/weftcc/shared_symbols.list ${weft_home}/shared_symbols.list COPYONLY)
configure_file(${PROJECT_SOURCE_DIR}/tools/weftcc/no_sanitizer.ld ${weft_home}/check/libtsan.so COPYONLY)
set(weft_include_for_modules ${PROJECT_SOURCE_DIR}/include)
configure_file(${PROJECT_SOURCE_DIR}/tools/weftcc/compile_modules.in ${weft_home}/fortran/compile_modules
  @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
file(RELATIVE_PATH weft_include_for_modules /${CMAKE_INSTALL_LIBDIR}/weft/fortran /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${PROJECT_SOURCE_DIR}/tools/weftcc/compile_modules.in ${PROJECT_BINARY_DIR}/installed/compile_modules
  @ONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# What Fortran includes and uses: a module is in the form that one compiler understands, so its source
# is there too.
set(fortran_files)
set(fortran_needed)
set(fortran_sources_there)
if(Python3_FOUND)
  list(TRANSFORM fortran_files_written PREPEND ${weft_home}/fortran/ OUTPUT_VARIABLE fortran_files)
  add_custom_command(OUTPUT ${fortran_files} DEPENDS ${fortran_texts}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${weft_home}/fortran
    COMMAND ${CMAKE_COMMAND} -E copy ${fortran_texts} ${weft_home}/fortran)
  # What another compiler's mpi_f08 needs compiled.
  if(mpi_f08.f90 IN_LIST fortran_files_written)
    set(fortran_needed ${fortran_written}/stubs_f08.c ${fortran_source}/descriptors.c ${fortran_source}/descriptors.h
      ${fortran_source}/stubs.h ${fortran_source}/section.h)
    set(fortran_sources_there)
    foreach(file IN LISTS fortran_needed)
      cmake_path(GET file FILENAME name)
      list(APPEND fortran_sources_there ${weft_home}/fortran/source/mpi/fortran/${name})
    endforeach()
    add_custom_command(OUTPUT ${fortran_sources_there}
      DEPENDS ${fortran_needed} ${PROJECT_SOURCE_DIR}/src/trace/callers.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${weft_home}/fortran/source/mpi/fortran ${weft_home}/fortran/source/trace
      COMMAND ${CMAKE_COMMAND} -E copy ${fortran_needed} ${weft_home}/fortran/source/mpi/fortran
      COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/src/trace/callers.h ${weft_home}/fortran/source/trace)
  endif()
  set(fortran_modules ${fortran_files_written})
  list(FILTER fortran_modules INCLUDE REGEX "\\.f90$")
  foreach(source IN LISTS fortran_modules)
    if(WEFT_GFORTRAN)
      string(REPLACE .f90 .mod module ${source})
      list(APPEND fortran_files ${weft_home}/fortran/${module})
      add_custom_command(OUTPUT ${weft_home}/fortran/${module} DEPENDS ${weft_home}/fortran/${source}
        COMMAND ${WEFT_GFORTRAN} -fsyntax-only -J${weft_home}/fortran ${weft_home}/fortran/${source})
    endif()
  endforeach()
endif()

# The wrappers under the names that build systems look for.
set(usual_names mpicc mpicxx mpic++ mpiCC mpifort mpif90 mpif77)
if(TARGET weft-abi)
  list(APPEND usual_names mpicc_abi mpicxx_abi mpic++_abi)
endif()
file(MAKE_DIRECTORY ${weft_home}/bin)
foreach(name IN LISTS usual_names)
  file(CREATE_LINK ../../../bin/weftcc ${weft_home}/bin/${name} SYMBOLIC)
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/tools/weftcc/mpirun ${weft_home}/bin/mpirun COPYONLY)
file(CREATE_LINK mpirun ${weft_home}/bin/mpiexec SYMBOLIC)

add_custom_target(weft-wrappers ALL DEPENDS ${fortran_files} ${fortran_sources_there})
add_dependencies(weft-wrappers weft-shared weft-program weft-host weft-host-threads)
if(TARGET weft-abi)
  add_dependencies(weft-wrappers weft-abi)
endif()

# Python's interpreter, of which each rank has a copy.
set(weft_python ${PROJECT_BINARY_DIR}/bin/weft-python)
if(Python3_Development.Embed_FOUND)
  list(TRANSFORM Python3_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE python_includes)
  list(TRANSFORM Python3_RUNTIME_LIBRARY_DIRS PREPEND -Wl,-rpath, OUTPUT_VARIABLE python_places)
  list(FILTER python_places EXCLUDE REGEX "-rpath,/(usr/)?lib(/|64|$)")
  add_custom_command(OUTPUT ${weft_python} DEPENDS ${PROJECT_SOURCE_DIR}/tools/weft_python/main.c weft-wrappers weft-program
      ${PROJECT_BINARY_DIR}/bin/weftcc
    COMMAND ${PROJECT_BINARY_DIR}/bin/weftcc -O2 ${python_includes} ${PROJECT_SOURCE_DIR}/tools/weft_python/main.c
      ${Python3_LIBRARIES} ${python_places} -o ${weft_python})
  # Linked a second time for its installed place: a path within a program cannot become longer.
  set(weft_installed_python ${PROJECT_BINARY_DIR}/installed/weft-python)
  add_custom_command(OUTPUT ${weft_installed_python} DEPENDS ${weft_python}
    COMMAND ${CMAKE_COMMAND} -E env "WEFT_RUNPATH=$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/weft" ${PROJECT_BINARY_DIR}/bin/weftcc -O2
      ${python_includes} ${PROJECT_SOURCE_DIR}/tools/weft_python/main.c ${Python3_LIBRARIES} ${python_places}
      -o ${weft_installed_python} VERBATIM)
  add_custom_target(weft-python ALL DEPENDS ${weft_python} ${weft_installed_python})
else()
  message(STATUS "Python's headers and library (python3-dev) were not found: there will be no weft-python")
endif()

# A program of OpenSHMEM that is installed. It finds the library from where it lies, here and there.
set(weft_triangles ${PROJECT_BINARY_DIR}/bin/weft-triangles)
set(triangles_source ${PROJECT_SOURCE_DIR}/apps/triangles/triangles.c)
add_custom_command(OUTPUT ${weft_triangles} DEPENDS ${triangles_source} weft-wrappers weft-program
  COMMAND ${CMAKE_C_COMPILER} -O2 -fPIC -pthread -I${PROJECT_SOURCE_DIR}/include/weft/program -I${PROJECT_SOURCE_DIR}/include -I${PROJECT_SOURCE_DIR}/include/shmem
    ${triangles_source} -Wl,--export-dynamic -Wl,--dynamic-list=${weft_home}/shared_symbols.list -L${weft_home} -lweft-program
    -l:libweft.so.${weft_soversion} "-Wl,-rpath,\$ORIGIN/../lib/weft:\$ORIGIN/../${CMAKE_INSTALL_LIBDIR}/weft" -lm
    -o ${weft_triangles} VERBATIM)
add_custom_target(weft-triangles ALL DEPENDS ${weft_triangles})

if(PROJECT_IS_TOP_LEVEL)
  set(weft_installed_home ${CMAKE_INSTALL_LIBDIR}/weft)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
  install(TARGETS weft-shared LIBRARY DESTINATION ${weft_installed_home} COMPONENT runtime NAMELINK_SKIP)
  if(TARGET weft-abi)
    install(TARGETS weft-process ${abi_targets} ${older_targets} LIBRARY DESTINATION ${weft_installed_home} COMPONENT runtime)
    install(TARGETS weft-module-libmpi LIBRARY DESTINATION ${weft_installed_home}/modules COMPONENT runtime)
    install(TARGETS ${host_targets} LIBRARY DESTINATION ${weft_installed_home}/host COMPONENT runtime)
    install(FILES ${weft_home}/libmpi_abi.so DESTINATION ${weft_installed_home})
  endif()
  install(TARGETS weft-program ARCHIVE DESTINATION ${weft_installed_home})
  install(TARGETS weft-host weft-host-threads RUNTIME DESTINATION ${weft_installed_home} COMPONENT runtime)
  if(TARGET weft-python)
    install(PROGRAMS ${weft_installed_python} DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
  install(PROGRAMS ${weft_triangles} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
  install(FILES ${PROJECT_SOURCE_DIR}/tools/weftcc/shared_symbols.list DESTINATION ${weft_installed_home})
  install(FILES ${PROJECT_SOURCE_DIR}/tools/weftcc/no_sanitizer.ld DESTINATION ${weft_installed_home}/check RENAME libtsan.so)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/installed/weftcc DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${PROJECT_BINARY_DIR}/bin/weftcxx ${PROJECT_BINARY_DIR}/bin/weftfc
    DESTINATION ${CMAKE_INSTALL_BINDIR})
  # Names that other packages have, too.
  set(weft_suffix)
  set(weft_names_in_bin ${shmem_names})
  set(weft_launchers_in_bin oshrun)
  if(WEFT_BESIDE_OTHERS)
    set(weft_suffix .weft)
    list(APPEND weft_names_in_bin ${usual_names})
    list(APPEND weft_launchers_in_bin mpirun mpiexec)
  endif()
  file(RELATIVE_PATH weft_names_from_bin /${CMAKE_INSTALL_BINDIR} /${weft_installed_home}/bin)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/installed/names)
  foreach(name IN LISTS weft_names_in_bin)
    file(CREATE_LINK weftcc ${PROJECT_BINARY_DIR}/installed/names/${name}${weft_suffix} SYMBOLIC)
    install(FILES ${PROJECT_BINARY_DIR}/installed/names/${name}${weft_suffix} DESTINATION ${CMAKE_INSTALL_BINDIR})
  endforeach()
  foreach(name IN LISTS weft_launchers_in_bin)
    file(CREATE_LINK ${weft_names_from_bin}/mpirun ${PROJECT_BINARY_DIR}/installed/names/${name}${weft_suffix} SYMBOLIC)
    install(FILES ${PROJECT_BINARY_DIR}/installed/names/${name}${weft_suffix} DESTINATION ${CMAKE_INSTALL_BINDIR}
      COMPONENT tools)
  endforeach()
  install(FILES ${fortran_files} DESTINATION ${weft_installed_home}/fortran)
  if(fortran_needed)
    install(PROGRAMS ${PROJECT_BINARY_DIR}/installed/compile_modules DESTINATION ${weft_installed_home}/fortran)
    install(FILES ${fortran_needed} DESTINATION ${weft_installed_home}/fortran/source/mpi/fortran)
    install(FILES ${PROJECT_SOURCE_DIR}/src/trace/callers.h DESTINATION ${weft_installed_home}/fortran/source/trace)
  endif()
  install(PROGRAMS ${weft_home}/bin/mpirun DESTINATION ${weft_installed_home}/bin COMPONENT tools)
  file(RELATIVE_PATH weft_bin_from_names /${weft_installed_home}/bin /${CMAKE_INSTALL_BINDIR})
  foreach(name IN LISTS usual_names)
    file(CREATE_LINK ${weft_bin_from_names}/weftcc ${PROJECT_BINARY_DIR}/installed/bin/${name} SYMBOLIC)
    install(FILES ${PROJECT_BINARY_DIR}/installed/bin/${name} DESTINATION ${weft_installed_home}/bin)
  endforeach()
  install(FILES ${weft_home}/bin/mpiexec DESTINATION ${weft_installed_home}/bin COMPONENT tools)

  # For pkg-config. The usual names are other MPIs', too, and lie where only who asks for weft's looks.
  function(weft_add_pc name language directory)
    set(weft_mpi_name ${name})
    set(weft_mpi_language ${language})
    set(weft_mpi_cflags)
    if(language STREQUAL "Fortran")
      set(weft_mpi_cflags " -I\${home}/fortran")
    endif()
    file(RELATIVE_PATH weft_pc_prefix /${directory} /)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/weft-mpi.pc.in ${PROJECT_BINARY_DIR}/installed/${name}.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/installed/${name}.pc DESTINATION ${directory})
  endfunction()
  weft_add_pc(weft-mpi "C and C++" ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  weft_add_pc(mpi-c C ${weft_installed_home}/pkgconfig)
  weft_add_pc(mpi-cxx C++ ${weft_installed_home}/pkgconfig)
  weft_add_pc(mpi-fort Fortran ${weft_installed_home}/pkgconfig)
  if(TARGET weft-abi)
    file(RELATIVE_PATH weft_pc_prefix /${weft_installed_home}/pkgconfig /)
    configure_file(${PROJECT_SOURCE_DIR}/cmake/mpi_abi.pc.in ${PROJECT_BINARY_DIR}/installed/mpi_abi.pc @ONLY)
    install(FILES ${PROJECT_BINARY_DIR}/installed/mpi_abi.pc DESTINATION ${weft_installed_home}/pkgconfig)
  endif()

  # OpenSHMEM, for pkg-config and for find_package(OpenSHMEM).
  file(RELATIVE_PATH weft_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/weft-shmem.pc.in ${PROJECT_BINARY_DIR}/installed/weft-shmem.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/installed/weft-shmem.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  include(CMakePackageConfigHelpers)
  set(shmem_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/OpenSHMEM)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/OpenSHMEMConfig.cmake.in
    ${PROJECT_BINARY_DIR}/installed/OpenSHMEMConfig.cmake INSTALL_DESTINATION ${shmem_package_dir}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR NO_CHECK_REQUIRED_COMPONENTS_MACRO)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/installed/OpenSHMEMConfigVersion.cmake
    VERSION 1.5 COMPATIBILITY SameMajorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/installed/OpenSHMEMConfig.cmake
    ${PROJECT_BINARY_DIR}/installed/OpenSHMEMConfigVersion.cmake DESTINATION ${shmem_package_dir})
endif()

# tests/image/: programs that the wrappers build, for image_test.
if(WEFT_BUILD_TESTS)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bin/image)
  set(image_programs)
  function(weft_add_image name source)
    cmake_path(GET source EXTENSION LAST_ONLY extension)
    set(wrapper weftcc)
    set(words -std=gnu11)
    if(extension STREQUAL ".cpp")
      set(wrapper weftcxx)
      set(words -std=c++20)
    elseif(extension STREQUAL ".f90")
      set(wrapper weftfc)
      set(words)
    endif()
    set(program ${PROJECT_BINARY_DIR}/bin/image/${name})
    set(headers)
    if(NOT extension STREQUAL ".f90")
      list(APPEND words -MD -MF ${program}.d -MT ${program})
      set(headers DEPFILE ${program}.d)
    endif()
    set(libraries ${ARGN})
    list(FILTER libraries INCLUDE REGEX "^/.*\\.so")
    add_custom_command(OUTPUT ${program} DEPENDS ${source} ${libraries} weft-wrappers weft-program ${PROJECT_BINARY_DIR}/bin/weftcc ${headers}
      COMMAND ${PROJECT_BINARY_DIR}/bin/${wrapper} -O1 -g ${words} ${source} ${ARGN} -o ${program})
    set(image_programs ${image_programs} ${program} PARENT_SCOPE)
  endfunction()
  set(directory ${PROJECT_SOURCE_DIR}/tests/image)
  foreach(name IN ITEMS globals.c environment.c objects.cpp ends.cpp memory.cpp waiting.cpp debugged.cpp attached.cpp
      own_environment.c directories.c input.c handlers.c footprint.c affinity.c where.c polls.c process.c own_signals.c outside_of_main.cpp streams.cpp owes.c own_calls.c costs.c listed.cpp keys.c own_number.c moves.c rests.c allocates.c)
    cmake_path(GET name STEM program)
    weft_add_image(${program} ${directory}/${name})
  endforeach()
  if(TARGET weft-abi)  # As a plain compiler links it.
    set(program ${PROJECT_BINARY_DIR}/bin/image/footprint_abi)
    add_custom_command(OUTPUT ${program} DEPENDS ${directory}/footprint.c weft-wrappers
      COMMAND ${weft_home}/bin/mpicc_abi -O1 -g -std=gnu11 ${directory}/footprint.c -o ${program})
    list(APPEND image_programs ${program})
  endif()
  weft_add_image(lines ${directory}/lines.cpp -fopenmp)
  weft_add_image(ends_c ${directory}/ends.c)
  weft_add_image(stands ${directory}/stands.c)
  weft_add_image(stands_without_lines ${directory}/stands.c -g0)
  weft_add_image(stands_cpp ${directory}/stands.cpp)
  weft_add_image(errno ${directory}/errno.c -O2)
  weft_add_image(errno_plain ${directory}/errno.c -O2 -DPLAIN)
  weft_add_image(initial_exec ${directory}/initial_exec.c -ftls-model=initial-exec)
  set(library ${PROJECT_BINARY_DIR}/bin/image/libstate.so)
  add_custom_command(OUTPUT ${library} DEPENDS ${directory}/library.c weft-wrappers weft-program ${PROJECT_BINARY_DIR}/bin/weftcc
    COMMAND ${PROJECT_BINARY_DIR}/bin/weftcc -shared ${directory}/library.c -o ${library})
  weft_add_image(with_library ${directory}/with_library.c ${library} -Wl,-rpath,${PROJECT_BINARY_DIR}/bin/image)
  if(WEFT_GFORTRAN)
    weft_add_image(fortran ${directory}/fortran.f90 -J${PROJECT_BINARY_DIR}/bin/image)
    weft_add_image(ends_fortran ${directory}/ends.f90)
    weft_add_image(stands_fortran ${directory}/stands.f90)
    weft_add_image(footprint_fortran ${directory}/footprint.f90)
  endif()
  # A library that was built without weft, as those that a system brings.
  set(plain ${PROJECT_BINARY_DIR}/bin/image/system/libnumbers.so.1)
  add_custom_command(OUTPUT ${plain} DEPENDS ${directory}/numbers.c
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/bin/image/system
    COMMAND ${CMAKE_C_COMPILER} -O1 -fPIC -shared -Wl,-soname,libnumbers.so.1 ${directory}/numbers.c -o ${plain})
  weft_add_image(with_numbers ${directory}/with_numbers.c ${plain} -Wl,-rpath,${PROJECT_BINARY_DIR}/bin/image/system)
  weft_add_image(forks ${directory}/forks.c ${plain} -Wl,-rpath,${PROJECT_BINARY_DIR}/bin/image/system)
  weft_add_image(stands_still ${directory}/stands_still.c)
  weft_add_image(holds ${directory}/holds.c)
  weft_add_image(in_threads ${directory}/in_threads.c ${plain} -Wl,-rpath,${PROJECT_BINARY_DIR}/bin/image/system)
  weft_add_image(footprint_library ${directory}/footprint.c -DWITH_LIBRARY ${plain}
    -Wl,-rpath,${PROJECT_BINARY_DIR}/bin/image/system)
  # What a program opens itself.
  set(opened_directory ${PROJECT_BINARY_DIR}/bin/image/opened)
  set(opened_libraries)
  function(weft_add_opened name source)
    set(made ${opened_directory}/${name}.so)
    get_filename_component(place ${made} DIRECTORY)
    add_custom_command(OUTPUT ${made} DEPENDS ${directory}/${source} ${opened_libraries}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${place}
      COMMAND ${CMAKE_C_COMPILER} -O1 -fPIC -shared ${directory}/${source} ${ARGN} -o ${made} VERBATIM)
    set(opened_libraries ${opened_libraries} ${made} PARENT_SCOPE)
  endfunction()
  weft_add_opened(libslow slow_plugin.c)
  weft_add_opened(libsecond second_plugin.c -Wl,-soname,libsecond.so)
  weft_add_opened(libsecond_global second_plugin.c)
  weft_add_opened(libplugin plugin.c)
  weft_add_opened(other/libplugin plugin.c)
  weft_add_opened(libplugin_user plugin.c -DWITH_SECOND -L${opened_directory} -lsecond -Wl,-rpath,$ORIGIN)
  weft_add_opened(libplugin_alone plugin.c -DWITH_SECOND)
  weft_add_opened(libplugin_unknown plugin.c -DWITH_UNKNOWN)
  weft_add_opened(other/libsecond second_plugin.c)
  set(third -Dsecond_count=third_count)
  weft_add_opened(libthird second_plugin.c ${third})
  weft_add_opened(libthird_user plugin.c -DWITH_SECOND ${third} -L${opened_directory} -lthird -Wl,-rpath,$ORIGIN)
  weft_add_opened(libthird_alone plugin.c -DWITH_SECOND ${third})
  # Two that need each other: the first is linked to one that needs nothing yet.
  weft_add_opened(circle/libcircle plugin.c)
  weft_add_opened(libcircle_second second_plugin.c -Wl,--no-as-needed -L${opened_directory}/circle -lcircle
    -Wl,-rpath,$ORIGIN)
  weft_add_opened(libcircle plugin.c -DWITH_SECOND -L${opened_directory} -lcircle_second -Wl,-rpath,$ORIGIN)
  weft_add_image(opens ${directory}/opens.c)
  # What opens MPI without being weft's: a program with a library, and Python.
  set(hosts ${PROJECT_BINARY_DIR}/bin/image/opens_plugin ${opened_directory}/mpi_plugin.so)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/bin/image/opens_plugin DEPENDS ${directory}/opens_plugin.c
    COMMAND ${CMAKE_C_COMPILER} -O1 ${directory}/opens_plugin.c -ldl -o ${PROJECT_BINARY_DIR}/bin/image/opens_plugin)
  add_custom_command(OUTPUT ${opened_directory}/mpi_plugin.so DEPENDS ${directory}/mpi_plugin.c weft-wrappers weft-program
      ${PROJECT_BINARY_DIR}/bin/weftcc
    COMMAND ${CMAKE_COMMAND} -E make_directory ${opened_directory}
    COMMAND ${PROJECT_BINARY_DIR}/bin/weftcc -O1 -g -shared ${directory}/mpi_plugin.c -o ${opened_directory}/mpi_plugin.so)
  if(Python3_Development.Module_FOUND)
    list(TRANSFORM Python3_INCLUDE_DIRS PREPEND -I OUTPUT_VARIABLE python_includes)
    list(APPEND hosts ${opened_directory}/mpi_module.so)
    add_custom_command(OUTPUT ${opened_directory}/mpi_module.so DEPENDS ${directory}/mpi_plugin.c weft-wrappers weft-program
        ${PROJECT_BINARY_DIR}/bin/weftcc
      COMMAND ${CMAKE_COMMAND} -E make_directory ${opened_directory}
      COMMAND ${PROJECT_BINARY_DIR}/bin/weftcc -O1 -g -shared -DWITH_PYTHON ${python_includes} ${directory}/mpi_plugin.c
        -o ${opened_directory}/mpi_module.so)
    set(weft_test_python ${Python3_EXECUTABLE})
  endif()
  add_custom_target(image-programs ALL DEPENDS ${library} ${plain} ${opened_libraries} ${image_programs} ${hosts})
endif()
