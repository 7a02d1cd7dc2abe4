# SPDX-License-Identifier: Apache-2.0
#
# strandline_libbacktrace: files and lines of native frames. GCC ships libbacktrace.a (BSD licence)
# and backtrace.h in folders of its own; clang finds the former and must not see the others of the
# latter's folder, so the header is copied. Without it, frames have the names of functions alone.

add_library(strandline_libbacktrace INTERFACE)
execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=libbacktrace.a
                OUTPUT_VARIABLE archive OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
cmake_path(GET archive PARENT_PATH folder)
find_path(STRANDLINE_BACKTRACE_INCLUDE backtrace.h HINTS "${folder}/include")
mark_as_advanced(STRANDLINE_BACKTRACE_INCLUDE)
if(IS_ABSOLUTE "${archive}" AND EXISTS "${archive}" AND STRANDLINE_BACKTRACE_INCLUDE)
  set(copied "${PROJECT_BINARY_DIR}/libbacktrace")
  file(COPY "${STRANDLINE_BACKTRACE_INCLUDE}/backtrace.h" DESTINATION "${copied}")
  target_include_directories(strandline_libbacktrace SYSTEM INTERFACE "${copied}")
  target_link_libraries(strandline_libbacktrace INTERFACE "${archive}")
  target_compile_definitions(strandline_libbacktrace INTERFACE STRANDLINE_HAVE_LIBBACKTRACE=1)
else()
  message(STATUS "libbacktrace not found: native frames without files and lines")
  target_compile_definitions(strandline_libbacktrace INTERFACE STRANDLINE_HAVE_LIBBACKTRACE=0)
endif()
