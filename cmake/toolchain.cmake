# SPDX-License-Identifier: Apache-2.0
#
# What every target of the project shares: language level, visibility, build type, ccache and
# sanitizers. strandline_target_defaults(<target>) applies the per-target part.

include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(PROJECT_IS_TOP_LEVEL AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()

# Lines and names of functions, which a stack needs, are half of the whole debug information and of
# the time it takes to compile; CMAKE_BUILD_TYPE=Debug has variables and types too.
if(PROJECT_IS_TOP_LEVEL)
  string(REGEX REPLACE "-g( |$)" "-g1\\1" CMAKE_CXX_FLAGS_RELWITHDEBINFO
         "${CMAKE_CXX_FLAGS_RELWITHDEBINFO}")
endif()

# ccache keeps precompiled headers only when told to trust them, and serves another checkout or build
# folder of the same sources only when paths below the project count as relative. No two compilations
# of a precompiled header give the same bytes, so it is known by what strandline_add_pch writes
# beside it (CCACHE_PCH_EXTSUM): otherwise losing one entry of the cache would lose all.
find_program(STRANDLINE_CCACHE ccache)
mark_as_advanced(STRANDLINE_CCACHE)
if(STRANDLINE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND}" -E env
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime"
      "CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}" "CCACHE_NOHASHDIR=1" "CCACHE_PCH_EXTSUM=1"
      "${STRANDLINE_CCACHE}")
  set(STRANDLINE_CCACHE_LAUNCHED ON)
endif()

if(STRANDLINE_TIDY)
  find_program(STRANDLINE_CLANG_TIDY NAMES clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY "${STRANDLINE_CLANG_TIDY}")
endif()

function(strandline_target_defaults target)
  # Frame pointers stay: native stacks are walked at allocation time.
  target_compile_options(${target} PRIVATE -fno-omit-frame-pointer)
  if(STRANDLINE_TLS_MODEL)
    target_compile_options(${target} PRIVATE -ftls-model=${STRANDLINE_TLS_MODEL})
  endif()
  if(STRANDLINE_CCACHE_LAUNCHED)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      target_compile_options(${target} PRIVATE -fpch-preprocess)
    else()
      target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    endif()
  endif()
  if(STRANDLINE_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(STRANDLINE_SANITIZE)
    list(JOIN STRANDLINE_SANITIZE "," sanitizers)
    target_compile_options(${target} PRIVATE -fsanitize=${sanitizers} -fno-sanitize-recover=all)
    target_link_options(${target} PRIVATE -fsanitize=${sanitizers})
  endif()
  strandline_target_warnings(${target})
endfunction()

# Small sources in batches: headers are read once a batch, templates compiled once.
function(strandline_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${STRANDLINE_UNITY}
                        UNITY_BUILD_BATCH_SIZE ${STRANDLINE_UNITY_BATCH})
endfunction()

# What a wheel holds: names of functions stay, since native stacks show them, debug facts go.
function(strandline_ships_in_wheel target)
  if(STRANDLINE_WHEEL)
    target_link_options(${target} PRIVATE -Wl,--strip-debug)
    add_dependencies(strandline_package ${target})
  endif()
endfunction()
