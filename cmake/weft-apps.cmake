# Every directory of apps/ is one program, weft-<directory>. All its files but main.cpp form a
# library, weft-<directory>-parts, which its tests link as well; apps/ is the include root. apps/front has no
# program: it is what the others show their users with.

find_package(PNG REQUIRED)
find_package(CLI11 REQUIRED)
file(GLOB directories CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/apps/*)
foreach(directory IN LISTS directories)
  file(GLOB sources CONFIGURE_DEPENDS ${directory}/*.cpp)
  if(NOT sources)
    continue()
  endif()
  cmake_path(GET directory FILENAME app)
  set(main ${directory}/main.cpp)
  list(REMOVE_ITEM sources ${main})
  if(sources)
    add_library(weft-${app}-parts STATIC ${sources})
    weft_compile_options(weft-${app}-parts)
    # Nobody asks errno about a square root, and with it no loop that takes one is vectorised.
    target_compile_options(weft-${app}-parts PRIVATE -fno-math-errno)
    target_include_directories(weft-${app}-parts PUBLIC ${PROJECT_SOURCE_DIR}/apps)
    target_link_libraries(weft-${app}-parts PUBLIC weft::weft
      PRIVATE CLI11::CLI11 fmt::fmt PNG::PNG)
    if(NOT app STREQUAL front)
      target_link_libraries(weft-${app}-parts PUBLIC weft-front-parts)
    endif()
  else()
    add_library(weft-${app}-parts INTERFACE)
  endif()
  if(EXISTS ${main})
    add_executable(weft-${app} ${main})
    weft_compile_options(weft-${app})
    target_include_directories(weft-${app} PRIVATE ${PROJECT_SOURCE_DIR}/apps)
    target_link_libraries(weft-${app} PRIVATE weft-${app}-parts weft::weft CLI11::CLI11 fmt::fmt)
  endif()
endforeach()
foreach(app IN ITEMS md octree dt amr)
  weft_read_command_lines(${PROJECT_SOURCE_DIR}/apps/${app}/options.cpp)
endforeach()

# Loops over cells and samples, which -O2 does not vectorise; and results that do not depend on which of a kernel's versions runs.
foreach(app IN ITEMS octree dt amr)
  target_compile_options(weft-${app}-parts PRIVATE -O3 -ffp-contract=off)
endforeach()

# The tree of the mesh and its picture.
target_link_libraries(weft-amr-parts PUBLIC weft-octree-parts)
