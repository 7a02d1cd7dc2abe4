# SPDX-License-Identifier: Apache-2.0
#
# strandline_fmt: the formatting library as objects of our own. Header-only, its core would be
# compiled again in every source that formats (2 to 4 seconds each); its shared library is not on
# the machine that a wheel goes to. What cmake/fmt.cpp instantiates is known for fmt 9; any other
# version is used header-only.

add_library(strandline_fmt OBJECT "${CMAKE_CURRENT_LIST_DIR}/fmt.cpp")
strandline_target_defaults(strandline_fmt)
target_include_directories(strandline_fmt SYSTEM PUBLIC
  "$<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>")
if(NOT fmt_VERSION MATCHES "^9\\.")
  target_compile_definitions(strandline_fmt PUBLIC FMT_HEADER_ONLY=1)
endif()
