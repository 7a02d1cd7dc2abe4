# SPDX-License-Identifier: Apache-2.0
#
# Packages the build needs, from the distribution or a package registry; a missing one is named
# together with what to install. Only header-only or static code enters libstrandline.

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
if(EXISTS "${PROJECT_SOURCE_DIR}/src/cli")
  strandline_require(CLI11 libcli11-dev)
endif()
if(STRANDLINE_TESTS)
  strandline_require(GTest "libgtest-dev libgmock-dev")
endif()
if(STRANDLINE_BENCH)
  strandline_require(benchmark libbenchmark-dev)
endif()
