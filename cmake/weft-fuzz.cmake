# tests/fuzz/*_fuzz.cpp: one libFuzzer program per file, fuzz-<file without _fuzz>, built when
# WEFT_FUZZ is on, which needs clang; what receives from other processes is then built with the same
# sanitizers. ctest runs each for a few seconds and keeps in <build>/fuzz/<name> what reached new
# code.

include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
check_cxx_source_compiles(
  "extern \"C\" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }"
  WEFT_HAS_LIBFUZZER)
unset(CMAKE_REQUIRED_FLAGS)
if(NOT WEFT_HAS_LIBFUZZER)
  message(FATAL_ERROR "WEFT_FUZZ needs clang, 17 or later, and its libFuzzer (Debian: clang-19 and "
    "libclang-rt-19-dev); cmake --preset fuzz -DCMAKE_CXX_COMPILER=clang++-18, for example")
endif()

set(WEFT_FUZZ_SECONDS 5 CACHE STRING "How long ctest runs each fuzzer")
enable_testing()
add_custom_target(fuzz-tests)

get_target_property(sources weft SOURCES)
list(FILTER sources EXCLUDE REGEX "${PROJECT_SOURCE_DIR}/src/(mpi|process/loader)/")
add_library(fuzz-parts STATIC ${sources})
weft_compile_options(fuzz-parts)
target_include_directories(fuzz-parts PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(fuzz-parts PRIVATE $<TARGET_PROPERTY:weft,COMPILE_DEFINITIONS>)
target_compile_options(fuzz-parts PRIVATE -fPIC -ftls-model=initial-exec)
# As g++ says it: fibers tell AddressSanitizer of their stacks.
target_compile_definitions(fuzz-parts PUBLIC __SANITIZE_ADDRESS__)
get_target_property(libraries weft LINK_LIBRARIES)
target_link_libraries(fuzz-parts PUBLIC ${libraries})

file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz/*_fuzz.cpp)
math(EXPR limit "${WEFT_FUZZ_SECONDS} + 120")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  string(REGEX REPLACE "_fuzz$" "" name ${name})
  add_executable(fuzz-${name} ${source})
  weft_compile_options(fuzz-${name})
  target_include_directories(fuzz-${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_link_libraries(fuzz-${name} PRIVATE fuzz-parts)
  target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer)
  add_dependencies(fuzz-tests fuzz-${name})
  set(corpus ${PROJECT_BINARY_DIR}/fuzz/${name})
  file(MAKE_DIRECTORY ${corpus})
  # What weft says on stderr of each bad peer is not shown, reports of sanitizers are.
  add_test(NAME fuzz.${name}
    COMMAND fuzz-${name} -max_total_time=${WEFT_FUZZ_SECONDS} -max_len=4096 -print_final_stats=1
      -close_fd_mask=2 -len_control=0 -malloc_limit_mb=1048576 -artifact_prefix=${corpus}- ${corpus})
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT ${limit})
endforeach()
