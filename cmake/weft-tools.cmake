# Every file of tools/ is one program. The files of a directory beside it, tools/<program>/, form the
# library <program>-parts, which its tests link as well; tools/ is the include root.

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
