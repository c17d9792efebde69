# src/transport/mpi/plugin.cpp, once for each MPI found, by that MPI's own compiler wrapper:
# lib/weft/weft-transport-mpi-<mpi>.so, loaded on demand.

# What a plug-in and its loader must have alike: plugin.hpp and what it includes of this project, so that
# no change of it is forgotten.
set(interface)
set(headers transport/mpi/plugin.hpp)
set(directories ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
set(looked_at)
while(headers)
  list(POP_FRONT headers name)
  if(name IN_LIST looked_at)
    continue()
  endif()
  list(APPEND looked_at ${name})
  find_file(header ${name} PATHS ${directories} NO_DEFAULT_PATH NO_CACHE REQUIRED)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
  file(SHA256 ${header} bytes)
  string(APPEND interface ${bytes})
  file(STRINGS ${header} lines REGEX "^#include \"")
  list(TRANSFORM lines REPLACE "^#include \"([^\"]*)\".*" "\\1")
  list(APPEND headers ${lines})
  unset(header)
endwhile()
string(SHA256 interface ${interface})
string(SUBSTRING ${interface} 0 8 interface)
set(weft_plugin_version 0x${interface}u)
set_property(SOURCE ${PROJECT_SOURCE_DIR}/src/transport/mpi/loader.cpp APPEND PROPERTY
  COMPILE_DEFINITIONS WEFT_PLUGIN_VERSION=${weft_plugin_version})

foreach(mpi IN ITEMS mpich openmpi)
  find_program(WEFT_MPICXX_${mpi} mpicxx.${mpi})
  if(NOT WEFT_MPICXX_${mpi})
    message(STATUS "mpicxx.${mpi} was not found: weft will not send messages over it")
    continue()
  endif()
  set(source ${PROJECT_SOURCE_DIR}/src/transport/mpi/plugin.cpp)
  set(plugin ${PROJECT_BINARY_DIR}/lib/weft/weft-transport-mpi-${mpi}.so)
  add_custom_command(OUTPUT ${plugin} DEPENDS ${source} DEPFILE ${plugin}.d
    COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/lib/weft
    COMMAND ${WEFT_MPICXX_${mpi}} -std=c++20 -O3 -g -fPIC -shared -fvisibility=hidden
      -Wall -Wextra -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -DWEFT_MPI_NAME="${mpi}"
      -DWEFT_PLUGIN_VERSION=${weft_plugin_version} -I${PROJECT_SOURCE_DIR}/src
      -I${PROJECT_SOURCE_DIR}/include -MD -MF ${plugin}.d -MT ${plugin} -o ${plugin} ${source}
    VERBATIM)
  add_custom_target(weft-transport-mpi-${mpi} ALL DEPENDS ${plugin})
  list(APPEND weft_plugins ${plugin})
endforeach()
