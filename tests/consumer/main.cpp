// A user of the installed library: calls into it, and catches by type what was thrown.
// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <string>

#include <strandline/core/error.h>

int main() {
  const std::string expected = "[consumer] size; got 0, expected more";
  try {
    throw strandline::InvalidArgument(strandline::error_message("consumer", "size", "0", "more"));
  } catch (const strandline::Error& error) {
    std::printf("caught: %s\n", error.what());
    return error.what() == expected ? 0 : 1;
  }
}
