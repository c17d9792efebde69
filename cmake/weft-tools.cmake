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

file(GLOB tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.cpp)
if(tool_sources)
  find_package(CLI11 REQUIRED)
endif()
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
add_dependencies(weftrun weft-check)
target_compile_definitions(weftrun PRIVATE WEFT_CHECK_LIBRARY="${weft_check_library}")
