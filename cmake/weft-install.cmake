# make install: library, public headers, tools, find_package(weft) and pkg-config.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(TARGETS weft weft-comm EXPORT weft-targets)
if(weft_plugins)
  install(PROGRAMS ${weft_plugins} DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft)
endif()
install(DIRECTORY include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.h")
install(FILES include/mpi/mpi.h include/mpi/mpi_absent.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mpi)
install(DIRECTORY include/shmem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
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
  install(TARGETS ${tools})
  install(TARGETS weft-check DESTINATION ${CMAKE_INSTALL_LIBDIR}/weft)
endif()

# What weft-breakdown and weftrun --breakdown read.
if(WEFT_BUILD_TOOLS)
  install(DIRECTORY ${weft_share}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/weft
    FILES_MATCHING PATTERN "d3.min.js" PATTERN "plot_breakdown.py")
endif()

# gdb: source PREFIX/share/weft/gdb/weft.py
install(FILES tools/gdb/weft.py DESTINATION ${CMAKE_INSTALL_DATADIR}/weft/gdb)
