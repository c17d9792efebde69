# tests/<label>/*_<suffix>.cpp: one GoogleTest binary per file, every test of it known to ctest
# under its label. tests/tidy/*.py: one check per file, given --source, --build and --cxx.

find_package(GTest REQUIRED)
include(GoogleTest)

function(weft_add_tests label suffix timeout processors)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${label}/*_${suffix}.cpp)
  add_custom_target(${label}-tests)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM name)
    weft_add_program(${name} ${source})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
    target_link_libraries(${name} PRIVATE GTest::gtest_main fmt::fmt)
    target_compile_definitions(${name} PRIVATE WEFT_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
      WEFT_PROGRAM_DIR="${PROJECT_BINARY_DIR}/bin")
    string(REGEX MATCH "^[a-z]+" first_word ${name})
    if(TARGET weft-${first_word}-parts)
      target_link_libraries(${name} PRIVATE weft-${first_word}-parts)
    endif()
    add_dependencies(${label}-tests ${name})
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS ${label} TIMEOUT ${timeout} PROCESSORS ${processors})
  endforeach()
endfunction()

weft_add_tests(unit test 120 1)
weft_add_tests(model model 300 1)
weft_add_tests(stress stress 300 2)

find_package(Python3 COMPONENTS Interpreter)
file(GLOB checks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/tidy/*.py)
if(Python3_FOUND)
  foreach(check IN LISTS checks)
    cmake_path(GET check STEM name)
    add_test(NAME tidy.${name}
      COMMAND ${Python3_EXECUTABLE} ${check} --source ${PROJECT_SOURCE_DIR}
        --build ${PROJECT_BINARY_DIR} --cxx ${CMAKE_CXX_COMPILER})
    set_tests_properties(tidy.${name} PROPERTIES LABELS tidy TIMEOUT 600)
  endforeach()
endif()
