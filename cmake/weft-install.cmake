# make install: library, public headers, tools, find_package(weft) and pkg-config.

include(CMakePackageConfigHelpers)
# Of four packages: runtime (what programs load), plugins (which need a vendor's MPI), development, tools.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(TARGETS weft weft-comm EXPORT weft-targets)
if(weft_plugins)
  install(PROGRAMS ${weft_plugins} DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft COMPONENT plugins)
endif()
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES include/mpi/mpi.h include/mpi/mpi_absent.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mpi)
install(DIRECTORY include/shmem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${package_dir})
configure_package_config_file(cmake/weft-config.cmake.in ${PROJECT_BINARY_DIR}/weft-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weft-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
  DESTINATION ${package_dir})

# Relative to the .pc file, so that the installed tree may be moved.
file(RELATIVE_PATH weft_pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(weft_pc_switch "-lboost_context ")
if(weft_has_own_switch)
  set(weft_pc_switch "")
endif()
configure_file(cmake/weft.pc.in ${PROJECT_BINARY_DIR}/weft.pc @ONLY)
configure_file(cmake/weft-comm.pc.in ${PROJECT_BINARY_DIR}/weft-comm.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc ${PROJECT_BINARY_DIR}/weft-comm.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

get_property(tools GLOBAL PROPERTY weft_tools)
if(tools)
  install(TARGETS ${tools} COMPONENT tools)
  install(TARGETS weft-check weft-other-mpi weft-stages DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft COMPONENT tools)
endif()

# What weft-breakdown and weftrun --breakdown read.
if(WEFT_BUILD_TOOLS)
  install(DIRECTORY ${weft_share}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/weft COMPONENT tools
    FILES_MATCHING PATTERN "d3.min.js" PATTERN "plot_breakdown.py")
endif()

# gdb: source PREFIX/share/weft/gdb/weft.py
install(FILES tools/gdb/weft.py DESTINATION ${CMAKE_INSTALL_DATADIR}/weft/gdb COMPONENT tools)


# Manual pages and completion for shells, written from what each tool's --help says.
find_program(WEFT_HELP2MAN help2man DOC "writes manual pages from --help")
find_package(Python3 COMPONENTS Interpreter)
set(completing ${PROJECT_SOURCE_DIR}/tools/completion/completion.py)
set(written ${PROJECT_BINARY_DIR}/written)
set(written_files)
function(weft_write_from_help tool output destination name)
  add_custom_command(OUTPUT ${output} COMMAND ${CMAKE_COMMAND} -E make_directory ${written} COMMAND ${ARGN}
    DEPENDS ${tool} ${completing} VERBATIM)
  set(written_files ${written_files} ${output} PARENT_SCOPE)
  install(FILES ${output} DESTINATION ${destination} RENAME ${name} COMPONENT tools)
endfunction()
if(tools)
  foreach(tool IN LISTS tools)
    set(program $<TARGET_FILE:${tool}>)
    if(WEFT_HELP2MAN)
      weft_write_from_help(${tool} ${written}/${tool}.1 ${CMAKE_INSTALL_MANDIR}/man1 ${tool}.1
        ${WEFT_HELP2MAN} --no-info --source "weft ${PROJECT_VERSION}" --output ${written}/${tool}.1 ${program})
    endif()
    if(Python3_FOUND)
      weft_write_from_help(${tool} ${written}/${tool}.bash
        ${CMAKE_INSTALL_DATADIR}/bash-completion/completions ${tool}
        sh -c "'${Python3_EXECUTABLE}' '${completing}' bash ${tool} '${program}' > '${written}/${tool}.bash'")
      weft_write_from_help(${tool} ${written}/_${tool} ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions _${tool}
        sh -c "'${Python3_EXECUTABLE}' '${completing}' zsh ${tool} '${program}' > '${written}/_${tool}'")
    endif()
  endforeach()
  add_custom_target(weft-manuals ALL DEPENDS ${written_files})
endif()

include(weft-packages)
