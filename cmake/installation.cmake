# SPDX-License-Identifier: Apache-2.0
#
# What `cmake --install` lays down, by component:
#   headers       of the library
#   development   the library, the program, the package that find_package(strandline) finds
#   python        with `headers` the wheel: the module, the library as one file (wheels keep no
#                 symbolic links), the adapters and their sources, which are compiled again on the
#                 user's machine for a framework version not built here
# `python` exists in a build by scikit-build-core alone; that tree is build/dev in a checkout.

include(CMakePackageConfigHelpers)

install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/strandline" COMPONENT headers
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" FILES_MATCHING PATTERN "*.h")

install(TARGETS strandline EXPORT strandlineTargets COMPONENT development
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
if(TARGET strandline_program)
  install(TARGETS strandline_program COMPONENT development
          RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/strandline")
install(EXPORT strandlineTargets NAMESPACE strandline:: COMPONENT development
        DESTINATION "${package_dir}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/strandlineConfig.cmake.in"
                              "${PROJECT_BINARY_DIR}/strandlineConfig.cmake"
                              INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/strandlineConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/strandlineConfig.cmake"
              "${PROJECT_BINARY_DIR}/strandlineConfigVersion.cmake"
        COMPONENT development DESTINATION "${package_dir}")

if(STRANDLINE_WHEEL)
  # libstrandline.so is what -lstrandline asks for: a script of the linker instead of a link.
  set(name "libstrandline.so.${PROJECT_VERSION_MAJOR}")
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/linker_script" CONTENT "INPUT(${name})\n")
  install(PROGRAMS "$<TARGET_FILE:strandline>" COMPONENT python
          DESTINATION "${CMAKE_INSTALL_LIBDIR}" RENAME "${name}")
  install(FILES "${PROJECT_BINARY_DIR}/linker_script" COMPONENT python
          DESTINATION "${CMAKE_INSTALL_LIBDIR}" RENAME libstrandline.so)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/adapters/mlx" COMPONENT python DESTINATION adapters
          FILES_MATCHING PATTERN "*.cpp" PATTERN "*.h" PATTERN "*.map")
endif()
