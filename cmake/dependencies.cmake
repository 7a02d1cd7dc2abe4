# SPDX-License-Identifier: Apache-2.0
#
# Packages the build needs, from the distribution or a package registry; a missing one is named
# together with what to install. Header-only code enters libstrandline; zlib
# and zstd, which every Linux has, are linked dynamically.

find_package(Threads REQUIRED)

# strandline_require(<package> <apt package>): find_package with an error that helps.
macro(strandline_require package apt)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR
            "Strandline needs ${package}, which CMake did not find. On Debian or Ubuntu: "
            "apt install ${apt}. Elsewhere install it so that find_package(${package}) works.")
  endif()
endmacro()

strandline_require(fmt libfmt-dev)
strandline_require(nlohmann_json nlohmann-json3-dev)
strandline_require(ZLIB zlib1g-dev)
include(libbacktrace)
# libzstd's own CMake files are not packaged everywhere; its header and library are.
find_path(STRANDLINE_ZSTD_INCLUDE zstd.h)
find_library(STRANDLINE_ZSTD_LIBRARY zstd)
mark_as_advanced(STRANDLINE_ZSTD_INCLUDE STRANDLINE_ZSTD_LIBRARY)
if(NOT STRANDLINE_ZSTD_INCLUDE OR NOT STRANDLINE_ZSTD_LIBRARY)
  message(FATAL_ERROR "Strandline needs zstd, which CMake did not find. On Debian or Ubuntu: "
                      "apt install libzstd-dev.")
endif()
add_library(strandline_zstd INTERFACE)
target_include_directories(strandline_zstd SYSTEM INTERFACE "${STRANDLINE_ZSTD_INCLUDE}")
target_link_libraries(strandline_zstd INTERFACE "${STRANDLINE_ZSTD_LIBRARY}")
if(EXISTS "${PROJECT_SOURCE_DIR}/src/cli")
  strandline_require(CLI11 libcli11-dev)
endif()
if(STRANDLINE_TESTS)
  strandline_require(GTest "libgtest-dev libgmock-dev")
endif()
if(STRANDLINE_BENCH)
  strandline_require(benchmark libbenchmark-dev)
endif()
