# SPDX-License-Identifier: Apache-2.0
#
# Installs BUILD_DIR into a prefix of its own, then configures, builds and runs the project
# beside this file against it, as a user of find_package(strandline) would.

set(prefix "${BUILD_DIR}/consumer-prefix")
set(consumer_build "${BUILD_DIR}/consumer-build")
file(REMOVE_RECURSE "${prefix}" "${consumer_build}")

function(step)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

foreach(component IN ITEMS headers development)
  step("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${prefix}" --component ${component})
endforeach()
step("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${consumer_build}" -G "${GENERATOR}"
     "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_PREFIX_PATH=${prefix}")
step("${CMAKE_COMMAND}" --build "${consumer_build}")
step("${consumer_build}/consumer")
