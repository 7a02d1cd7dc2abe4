# SPDX-License-Identifier: Apache-2.0
#
# Every option of the build, in one table. Presets in CMakePresets.json set them.
#
#   option                 default   meaning
#   STRANDLINE_TESTS       ON *      C++ tests, one binary a room, run by ctest
#   STRANDLINE_BENCH       OFF       C++ benches (Google Benchmark)
#   STRANDLINE_PYTHON      OFF       the nanobind module python/strandline/_native
#   STRANDLINE_MLX         OFF       the adapter that records the stock MLX wheel
#   STRANDLINE_FUZZ        OFF       libFuzzer targets (clang only)
#   STRANDLINE_WERROR      OFF       warnings are errors (ON in the presets)
#   STRANDLINE_SANITIZE    ""        "address;undefined" or "thread"
#   STRANDLINE_TIDY        OFF       clang-tidy beside every compilation
#   STRANDLINE_UNITY       ON        sources of a room are compiled together, STRANDLINE_UNITY_BATCH
#                                    at a time: half the time of a build from nothing (OFF for tidy)
#   STRANDLINE_TLS_MODEL   ""        value for -ftls-model=, empty: the compiler's choice
#
# * OFF when Strandline is built inside another project or as a wheel.

option(STRANDLINE_TESTS "Build the C++ tests" ${PROJECT_IS_TOP_LEVEL})
option(STRANDLINE_BENCH "Build the C++ benches" OFF)
option(STRANDLINE_PYTHON "Build the Python module" OFF)
option(STRANDLINE_MLX "Build the MLX adapter" OFF)
option(STRANDLINE_FUZZ "Build the fuzz targets" OFF)
option(STRANDLINE_WERROR "Treat warnings as errors" OFF)
option(STRANDLINE_UNITY "Compile sources of a room together" ON)
option(STRANDLINE_TIDY "Run clang-tidy with every compilation" OFF)
set(STRANDLINE_UNITY_BATCH 8 CACHE STRING "Sources compiled together")
set(STRANDLINE_SANITIZE "" CACHE STRING "Sanitizers: address;undefined or thread")
set(STRANDLINE_TLS_MODEL "" CACHE STRING "Value for -ftls-model=, empty for the default")

# scikit-build-core defines SKBUILD: the tree then also installs the component `python`.
if(DEFINED SKBUILD)
  set(STRANDLINE_WHEEL ON)
else()
  set(STRANDLINE_WHEEL OFF)
endif()
