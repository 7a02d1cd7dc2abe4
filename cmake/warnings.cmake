# SPDX-License-Identifier: Apache-2.0
#
# strandline_target_warnings(<target>): the warnings of the project, in one place.

function(strandline_target_warnings target)
  set(warnings
      -Wall -Wextra -Wpedantic
      -Wconversion -Wsign-conversion -Wshadow -Wundef
      -Wnon-virtual-dtor -Woverloaded-virtual -Wold-style-cast -Wcast-align -Wcast-qual
      -Wformat=2 -Wextra-semi -Wimplicit-fallthrough -Wunused)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    list(APPEND warnings -Wthread-safety)
  else()
    list(APPEND warnings -Wduplicated-cond -Wduplicated-branches -Wlogical-op -Wsuggest-override)
    if(CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
      # At -O3 g++ 12 warns of impossible sizes inside std::string: gcc.gnu.org/PR105651.
      list(APPEND warnings -Wno-stringop-overflow -Wno-restrict -Wno-array-bounds)
    endif()
  endif()
  if(STRANDLINE_WERROR)
    list(APPEND warnings -Werror)
  endif()
  target_compile_options(${target} PRIVATE ${warnings})
endfunction()
