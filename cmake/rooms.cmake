# SPDX-License-Identifier: Apache-2.0
#
# A room is a folder with the same name under include/strandline, src and tests.
#
#   strandline_add_room(<room> [USES <rooms>...] [LINKS <libraries>...])
#     makes the object library strandline_<room> of src/<room>/**.cpp. A room that has no sources
#     yet is skipped, so that the table in src/CMakeLists.txt may run ahead of the tree. A file
#     main.cpp is no part of the room: it becomes the program <room>'s folder stands for.
#
#   strandline_add_room_tests(<room>)
#     makes strandline_<room>_tests of tests/<room>/*_test.cpp. It links the objects of the room
#     and of those it uses, not the shared library: private symbols are in reach.
#
#   strandline_add_room_fuzzers(<room>)
#     makes <name>_fuzz of each tests/<room>/<name>_fuzz.cpp, a libFuzzer target, likewise. What it
#     begins with lies in tests/<room>/corpus/<name>; strandline_fuzzers builds all of them and
#     tools/fuzz.sh runs them.
#
#   strandline_room_closure(<out> <room>...)
#     the rooms named and all they use, directly or not, of those that exist.

define_property(GLOBAL PROPERTY STRANDLINE_ROOMS BRIEF_DOCS "Rooms that have sources")

set(STRANDLINE_PCH_HEADERS
    <algorithm> <array> <atomic> <chrono> <cstddef> <cstdint> <functional> <limits> <map> <memory>
    <mutex> <optional> <span> <sstream> <string> <string_view> <thread> <unordered_map> <utility>
    <variant> <vector> <fmt/format.h>)
set(STRANDLINE_TEST_PCH_HEADERS ${STRANDLINE_PCH_HEADERS} <gmock/gmock.h> <gtest/gtest.h>)

# One precompiled header serves all targets of a kind: same flags, same definitions. What serves
# programs is compiled as their sources are, with -fPIE.
function(strandline_add_pch name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FOR_PROGRAMS" "" "HEADERS;LINKS")
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "// Carries the precompiled header.\n")
  add_library(${name} OBJECT "${source}")
  strandline_room_settings(${name})
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
  # What ccache knows it by; the flags are part of every command that uses it.
  set(contents "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, fmt ${fmt_VERSION}, "
               "GTest ${GTest_VERSION}, json ${nlohmann_json_VERSION}: ${arg_HEADERS}\n")
  string(JOIN "" contents ${contents})
  set(header "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx")
  foreach(suffix IN ITEMS gch pch)
    file(CONFIGURE OUTPUT "${header}.${suffix}.sum" CONTENT "${contents}")
  endforeach()
  if(arg_FOR_PROGRAMS)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${name} PRIVATE -fPIE)
  endif()
endfunction()

# What rooms, their tests and the precompiled headers of both share.
function(strandline_room_settings target)
  strandline_target_defaults(${target})
  target_include_directories(${target} PRIVATE
                             "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
  target_compile_definitions(${target} PRIVATE STRANDLINE_BUILDING_LIBRARY)
  target_link_libraries(${target} PRIVATE strandline_fmt Threads::Threads)
endfunction()

function(strandline_add_room room)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "USES;LINKS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*.cpp")
  list(REMOVE_ITEM sources "${PROJECT_SOURCE_DIR}/src/${room}/main.cpp")
  if(NOT sources)
    return()
  endif()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/${room}/*.h"
       "${PROJECT_SOURCE_DIR}/include/strandline/${room}/*.h")
  set(target strandline_${room})
  add_library(${target} OBJECT ${sources} ${headers})
  strandline_room_settings(${target})
  target_precompile_headers(${target} REUSE_FROM strandline_pch)
  strandline_compile_together(${target})
  target_link_libraries(${target} PRIVATE ${arg_LINKS})
  set_property(TARGET ${target} PROPERTY STRANDLINE_ROOM_USES ${arg_USES})
  set_property(TARGET ${target} PROPERTY STRANDLINE_ROOM_LINKS ${arg_LINKS})
  set_property(GLOBAL APPEND PROPERTY STRANDLINE_ROOMS ${room})
endfunction()

function(strandline_room_closure out)
  set(open ${ARGN})
  set(closure "")
  while(open)
    list(POP_FRONT open room)
    if(room IN_LIST closure OR NOT TARGET strandline_${room})
      continue()
    endif()
    list(APPEND closure ${room})
    get_target_property(uses strandline_${room} STRANDLINE_ROOM_USES)
    if(uses)
      list(APPEND open ${uses})
    endif()
  endwhile()
  set(${out} ${closure} PARENT_SCOPE)
endfunction()

# Links the objects of rooms, and the libraries these need, into a binary.
function(strandline_link_rooms target)
  foreach(room IN LISTS ARGN)
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:strandline_${room}>)
    get_target_property(links strandline_${room} STRANDLINE_ROOM_LINKS)
    if(links)
      target_link_libraries(${target} PRIVATE ${links})
    endif()
  endforeach()
endfunction()

function(strandline_add_room_fuzzers room)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${room}/*_fuzz.cpp")
  strandline_room_closure(rooms ${room})
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM target)
    add_executable(${target} "${source}")
    strandline_room_settings(${target})
    target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    target_link_libraries(${target} PRIVATE nlohmann_json::nlohmann_json)
    strandline_link_rooms(${target} ${rooms})
    set_target_properties(${target} PROPERTIES
                          RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/fuzz/${room}")
    add_dependencies(strandline_fuzzers ${target})
  endforeach()
endfunction()

function(strandline_add_room_tests room)
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${room}/*_test.cpp")
  if(NOT sources)
    return()
  endif()
  set(target strandline_${room}_tests)
  add_executable(${target} ${sources})
  strandline_room_settings(${target})
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_precompile_headers(${target} REUSE_FROM strandline_test_pch)
  target_link_libraries(${target} PRIVATE GTest::gmock GTest::gtest_main
                        nlohmann_json::nlohmann_json)
  strandline_room_closure(rooms ${room})
  strandline_link_rooms(${target} ${rooms})
  target_compile_definitions(${target} PRIVATE STRANDLINE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${room} COMMAND ${target} --gtest_brief=1 --gtest_shuffle
           WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${room} PROPERTIES TIMEOUT 300)
endfunction()
