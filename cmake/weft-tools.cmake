# Every file of tools/ is one program.

file(GLOB tool_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tools/*.cpp)
if(tool_sources)
  find_package(CLI11 REQUIRED)
endif()
foreach(source IN LISTS tool_sources)
  cmake_path(GET source STEM name)
  weft_add_program(${name} ${source})
  target_link_libraries(${name} PRIVATE CLI11::CLI11 fmt::fmt)
  target_compile_definitions(${name} PRIVATE WEFT_VERSION="${PROJECT_VERSION}")
  set_property(GLOBAL APPEND PROPERTY weft_tools ${name})
endforeach()
