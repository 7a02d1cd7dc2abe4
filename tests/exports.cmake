# SPDX-License-Identifier: Apache-2.0
#
# Fails when LIBRARY exports a symbol that is not Strandline's own, or none at all: what it
# leaks would interpose other libraries once an adapter is loaded with RTLD_GLOBAL.

execute_process(COMMAND "${NM}" -D --defined-only "${LIBRARY}"
                OUTPUT_VARIABLE listing COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${listing}")
set(own 0)
set(foreign "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^.* " "" symbol "${line}")
  if(symbol MATCHES "^(_Z(N|NK|T.N|GVN)10strandline|strandline_)")
    math(EXPR own "${own} + 1")
  else()
    string(APPEND foreign "\n  ${symbol}")
  endif()
endforeach()
if(foreign)
  message(FATAL_ERROR "${LIBRARY} exports symbols that are not Strandline's:${foreign}")
endif()
if(own EQUAL 0)
  message(FATAL_ERROR "${LIBRARY} exports nothing")
endif()
message(STATUS "${own} symbols, all Strandline's")
