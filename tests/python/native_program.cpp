// SPDX-License-Identifier: Apache-2.0
// A C++ program that records one allocation with its native stack and prints the frames as JSON, one
// a line, innermost first.
#include <cstdio>

#include "strandline/record/recorder.h"

using namespace strandline;

__attribute__((noinline, noclone)) void allocate_in_the_example(unsigned long size) {
  record::recorder().note_alloc(  // line of the allocation
      {.address = 0x1000, .size = size, .requested = size});
  __asm__ volatile("");
}

__attribute__((noinline, noclone)) void step() {
  allocate_in_the_example(64);  // line of the step
  __asm__ volatile("");
}

int main() {
  record::recorder().start({.max_entries = 16, .stacks = record::Stacks::native});
  step();  // line in main
  const record::Cut cut = record::recorder().cut();
  for (const record::RawFrame& raw :
       record::recorder().tables().tracebacks.frames(cut.events.back().traceback)) {
    const record::Frame frame = record::resolve_frame(raw);
    std::printf("{\"function\": \"%s\", \"file\": \"%s\", \"line\": %u}\n", frame.function.c_str(),
                frame.file.c_str(), frame.line);
  }
}
