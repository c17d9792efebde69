# Every file of tools/ is one program. The files of a directory beside it, tools/<program>/, form the
# library <program>-parts, which its tests link as well; tools/ is the include root.

# What weftrun --check preloads, where weftrun looks for it: beside the programs as when installed.
add_library(weft-check MODULE ${PROJECT_SOURCE_DIR}/tools/check/held_locks.cpp)
weft_compile_options(weft-check)
target_include_directories(weft-check PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(weft-check PRIVATE -ftls-model=initial-exec)
set_target_properties(weft-check PROPERTIES CXX_VISIBILITY_PRESET hidden PREFIX ""
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}/weft)
file(RELATIVE_PATH weft_check_library /${CMAKE_INSTALL_BINDIR}
  /${CMAKE_INSTALL_LIBDIR}/weft/weft-check.so)

# What it preloads where a program that is none of weft's may open another MPI.
add_library(weft-other-mpi MODULE ${PROJECT_SOURCE_DIR}/tools/other_mpi/look.c)
set_target_properties(weft-other-mpi PROPERTIES C_VISIBILITY_PRESET hidden PREFIX "" C_STANDARD 11
  LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}/weft)
target_compile_options(weft-other-mpi PRIVATE -Wall -Wextra -Wshadow $<$<BOOL:${WEFT_WERROR}>:-Werror>)
file(RELATIVE_PATH weft_other_mpi_library /${CMAKE_INSTALL_BINDIR}
  /${CMAKE_INSTALL_LIBDIR}/weft/weft-other-mpi.so)

file(GLOB tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.cpp)
# weft-translate reads sources as clang does. Optional; a sanitizer would find what the compiler's libraries do.
find_path(WEFT_CLANG_HEADERS clang/Tooling/Tooling.h PATHS /usr/lib/llvm-19/include NO_DEFAULT_PATH
  DOC "headers of clang 19, of which weft-translate is made")
find_library(WEFT_CLANG_LIBRARY NAMES libclang-cpp.so.19.1 PATHS /usr/lib/llvm-19/lib NO_DEFAULT_PATH)
find_library(WEFT_LLVM_LIBRARY NAMES libLLVM-19.so libLLVM.so.19.1 PATHS /usr/lib/llvm-19/lib NO_DEFAULT_PATH)
if(NOT WEFT_CLANG_HEADERS OR NOT WEFT_CLANG_LIBRARY OR NOT WEFT_LLVM_LIBRARY OR WEFT_SANITIZE)
  message(STATUS "clang 19 (libclang-19-dev, llvm-19-dev) was not found: there will be no weft-translate")
  list(FILTER tool_sources EXCLUDE REGEX "/weft-translate\\.cpp$")
endif()
if(tool_sources)
  find_package(CLI11 REQUIRED)
endif()
weft_read_command_lines(${tool_sources})
foreach(source IN LISTS tool_sources)
  cmake_path(GET source STEM name)
  weft_add_program(${name} ${source})
  target_link_libraries(${name} PRIVATE CLI11::CLI11 fmt::fmt)
  target_compile_definitions(${name} PRIVATE WEFT_VERSION="${PROJECT_VERSION}")
  file(GLOB parts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/${name}/*.cpp)
  if(parts)
    add_library(${name}-parts STATIC ${parts})
    weft_compile_options(${name}-parts)
    target_include_directories(${name}-parts
      PUBLIC ${PROJECT_SOURCE_DIR}/tools PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(${name}-parts PRIVATE WEFT_VERSION="${PROJECT_VERSION}")
    target_link_libraries(${name}-parts PUBLIC weft::weft PRIVATE fmt::fmt)
    target_link_libraries(${name} PRIVATE ${name}-parts)
  endif()
  set_property(GLOBAL APPEND PROPERTY weft_tools ${name})
endforeach()
if(TARGET weft-translate)
  # It runs once, and all that takes time is in the compiler's library.
  target_compile_options(weft-translate-parts PRIVATE -O1 -g1)
  target_include_directories(weft-translate-parts SYSTEM PRIVATE ${WEFT_CLANG_HEADERS})
  target_link_libraries(weft-translate-parts PRIVATE ${WEFT_CLANG_LIBRARY} ${WEFT_LLVM_LIBRARY})
  # The compiler's headers cost most of the time of each file.
  target_precompile_headers(weft-translate-parts PRIVATE <clang/AST/ParentMapContext.h> <clang/AST/RecursiveASTVisitor.h>
    <clang/Frontend/CompilerInstance.h> <clang/Tooling/Tooling.h>)
  weft_cache_precompiled(weft-translate-parts)
  cmake_path(GET WEFT_CLANG_HEADERS PARENT_PATH weft_clang_home)
  target_compile_definitions(weft-translate-parts PRIVATE WEFT_CLANG_RESOURCES="${weft_clang_home}/lib/clang/19")
  target_compile_definitions(weft-translate PRIVATE WEFT_HEADERS="${PROJECT_SOURCE_DIR}/include")
endif()
# What reports of breakdowns read at run time: d3 of a package, with its licence before it, and the plots.
set(weft_share ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_DATADIR}/weft)
file(RELATIVE_PATH weft_share_of_programs /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_DATADIR}/weft)
file(MAKE_DIRECTORY ${weft_share})
find_file(WEFT_D3 d3.min.js PATHS /usr/share/javascript/d3 /usr/share/nodejs/d3/dist
  /usr/share/nodejs/d3/build NO_DEFAULT_PATH DOC "d3, which pages of breakdowns draw with")
if(WEFT_D3)
  file(READ ${WEFT_D3} d3_text)
  file(WRITE ${weft_share}/d3.min.js
    "/* D3.js, https://d3js.org, Copyright Michael Bostock, under its BSD-3-Clause or ISC licence: see the package that has it. */\n")
  file(APPEND ${weft_share}/d3.min.js "${d3_text}")
else()
  file(REMOVE ${weft_share}/d3.min.js)
  message(STATUS "d3 (libjs-d3) was not found: pages of breakdowns will have tables in place of plots")
endif()
configure_file(${PROJECT_SOURCE_DIR}/tools/breakdown/plot.py ${weft_share}/plot_breakdown.py COPYONLY)
foreach(program IN ITEMS weftrun-parts weft-breakdown-parts)
  target_compile_definitions(${program} PRIVATE WEFT_SHARE="${weft_share_of_programs}")
endforeach()
# What weft-breakdown measure starts, where it looks for it: the pair, and with it those sources of the
# message path that say WEFT_STAGES something. The linker takes nothing from the library that they have.
add_executable(weft-stages ${PROJECT_SOURCE_DIR}/tools/breakdown/stages_main.cpp
  ${PROJECT_SOURCE_DIR}/tools/weft-breakdown/pair.cpp
  ${PROJECT_SOURCE_DIR}/tools/weft-breakdown/pair_ranks.cpp
  ${PROJECT_SOURCE_DIR}/tools/weft-breakdown/pair_comm.cpp
  ${PROJECT_SOURCE_DIR}/src/rank/send_receive.cpp ${PROJECT_SOURCE_DIR}/src/rank/delivery.cpp)
weft_compile_options(weft-stages)
get_target_property(weft_flags weft COMPILE_OPTIONS)
target_compile_options(weft-stages PRIVATE ${weft_flags})
target_compile_definitions(weft-stages PRIVATE WEFT_STAGES WEFT_VERSION="${PROJECT_VERSION}")
target_include_directories(weft-stages PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tools)
target_link_libraries(weft-stages PRIVATE weft::weft fmt::fmt)
set_target_properties(weft-stages PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR}/weft)
file(RELATIVE_PATH weft_stages_program /${CMAKE_INSTALL_BINDIR}
  /${CMAKE_INSTALL_LIBDIR}/weft/weft-stages)
target_compile_definitions(weft-breakdown-parts PRIVATE WEFT_STAGES_PROGRAM="${weft_stages_program}")
# weft-breakdown scale: networks that SimGrid simulates. Optional.
find_path(SIMGRID_HEADERS simgrid/s4u.hpp)
find_library(SIMGRID_LIBRARY simgrid)
if(SIMGRID_HEADERS AND SIMGRID_LIBRARY)
  target_compile_definitions(weft-breakdown-parts PRIVATE WEFT_HAS_SIMGRID)
  target_link_libraries(weft-breakdown-parts PRIVATE ${SIMGRID_LIBRARY})
else()
  message(STATUS "SimGrid (libsimgrid-dev) was not found: weft-breakdown scale has ideal networks alone")
endif()
# weft-breakdown otf2: archives for other tools. Optional.
find_path(OTF2_HEADERS otf2/otf2.h)
find_library(OTF2_LIBRARY open-trace-format2)
if(OTF2_HEADERS AND OTF2_LIBRARY)
  target_compile_definitions(weft-breakdown-parts PRIVATE WEFT_HAS_OTF2)
  target_link_libraries(weft-breakdown-parts PRIVATE ${OTF2_LIBRARY})
else()
  message(STATUS "libopen-trace-format2-dev was not found: weft-breakdown otf2 has nothing to write with")
endif()
add_dependencies(weft-breakdown weft-stages)
add_dependencies(weftrun weft-check weft-other-mpi)
file(RELATIVE_PATH weft_libraries /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR}/weft)
target_compile_definitions(weftrun-parts PRIVATE WEFT_OTHER_MPI_LIBRARY="${weft_other_mpi_library}"
  WEFT_LIBRARIES="${weft_libraries}" WEFT_SYSTEM_LIBRARIES="/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
target_compile_definitions(weftrun PRIVATE WEFT_CHECK_LIBRARY="${weft_check_library}" WEFT_LIBRARIES="${weft_libraries}")
