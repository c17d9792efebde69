# Every file of examples/ is one program, example-<file>. ctest runs it with the words of its line
# "// Run with: WORDS" (none without such a line) and wants exit status 0.

file(GLOB example_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/examples/*.cpp)
add_custom_target(examples)
foreach(source IN LISTS example_sources)
  cmake_path(GET source STEM name)
  add_executable(example-${name} ${source})
  weft_compile_options(example-${name})
  target_link_libraries(example-${name} PRIVATE weft::weft)
  add_dependencies(examples example-${name})
  if(WEFT_BUILD_TESTS)
    file(STRINGS ${source} words REGEX "^// Run with: ")
    string(REPLACE "// Run with: " "" words "${words}")
    separate_arguments(words)
    add_test(NAME example.${name} COMMAND example-${name} ${words})
    set_tests_properties(example.${name} PROPERTIES LABELS example TIMEOUT 60)
  endif()
endforeach()
