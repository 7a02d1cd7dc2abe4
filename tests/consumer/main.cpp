// A user of the installed library: reads the version macros' neighbours in core, throws and
// catches across the boundary of the shared library.
// SPDX-License-Identifier: Apache-2.0
#include <strandline/core/error.h>

#include <cstdio>
#include <exception>

int main() {
  try {
    throw strandline::InvalidArgument("[consumer] thrown; got this, expected this");
  } catch (const std::exception& error) {
    std::printf("caught: %s\n", error.what());
    return 0;
  }
}
