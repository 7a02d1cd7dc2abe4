# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` lays down, and the package that find_package(strandline) finds.
# The wheel has the same layout inside the package folder, plus the sources of the adapters,
# which are compiled again on the user's machine for a framework version not built here.

include(CMakePackageConfigHelpers)

install(TARGETS strandline EXPORT strandlineTargets
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/strandline"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")
if(TARGET strandline_program AND NOT STRANDLINE_WHEEL)
  install(TARGETS strandline_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/strandline")
install(EXPORT strandlineTargets NAMESPACE strandline:: DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/strandlineConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/strandlineConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/strandlineConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/strandlineConfig.cmake"
              "${PROJECT_BINARY_DIR}/strandlineConfigVersion.cmake"
        DESTINATION "${package_dir}")

if(STRANDLINE_WHEEL AND IS_DIRECTORY "${PROJECT_SOURCE_DIR}/adapters")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/adapters/mlx" DESTINATION adapters
          FILES_MATCHING PATTERN "*.cpp" PATTERN "*.h" PATTERN "*.map")
endif()
