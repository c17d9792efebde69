# What every target of the project shares: build type, warnings, sanitizers.

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, Release, RelWithDebInfo" FORCE)
  endif()
  # weft's loops gain from -O3, and its assertions stay on. Who asks for other flags gets them.
  foreach(language IN ITEMS C CXX)
    if(CMAKE_${language}_FLAGS_RELWITHDEBINFO STREQUAL "-O2 -g -DNDEBUG")  # CMake's own choice.
      set(CMAKE_${language}_FLAGS_RELWITHDEBINFO "-O3 -g")
    endif()
  endforeach()
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  find_program(CCACHE ccache)
  if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
    # What ccache must not mind, for it to know files that include a precompiled header, besides what its user says.
    set(sloppiness pch_defines,time_macros)
    if(NOT "$ENV{CCACHE_SLOPPINESS}" STREQUAL "")
      string(APPEND sloppiness ",$ENV{CCACHE_SLOPPINESS}")
    endif()
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=${sloppiness} ${CCACHE})
  endif()
endif()

if(NOT WEFT_SANITIZE MATCHES "^(|address|thread|undefined)$")
  message(FATAL_ERROR "WEFT_SANITIZE is '${WEFT_SANITIZE}'; it must be empty, address, thread or undefined")
endif()

function(weft_compile_options target)
  set_target_properties(${target} PROPERTIES
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>
    $<$<BOOL:${WEFT_WERROR}>:-Werror>)
  if(WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer
      $<$<STREQUAL:${WEFT_SANITIZE},undefined>:-fno-sanitize-recover=undefined>)
    target_link_options(${target} PUBLIC -fsanitize=${WEFT_SANITIZE})
  endif()
  if(WEFT_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link,address,undefined)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
  if(WEFT_SANITIZE STREQUAL thread)
    # The compiler warns that ThreadSanitizer does not see fences; the one fence that is used
    # (parking) orders nothing that the sanitizer must know.
    target_compile_options(${target} PRIVATE -Wno-tsan)
  endif()
endfunction()

# Compiles the headers that most files include once for all files of a target, which cost a third of each. Not with
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON, as in the preset "ubsan": there each file has what it includes itself.
function(weft_precompile target)
  target_precompile_headers(${target} PRIVATE
    "$<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/precompiled.hpp>")
  weft_cache_precompiled(${target})
endfunction()
# Without the word ccache takes no file that includes a precompiled header.
function(weft_cache_precompiled target)
  if(CCACHE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endfunction()

# What reads a command line by CLI11 runs once and is all templates: optimised it takes three times as long to compile.
function(weft_read_command_lines)  # SOURCES...
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "-O0;-g1;-U_FORTIFY_SOURCE" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

# Programs of the project see the internal headers too.
function(weft_add_program name)
  add_executable(${name} ${ARGN})
  weft_compile_options(${name})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE weft::weft)
endfunction()
