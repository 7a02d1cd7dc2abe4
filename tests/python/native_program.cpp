// SPDX-License-Identifier: Apache-2.0
// A C++ program that records one allocation with its native stack and prints the frames as JSON,
// one a line, innermost first. With the path of a library, it then does the same from inside of
// that.
#include <cstdio>

#include <dlfcn.h>

#include "strandline/record/recorder.h"

using namespace strandline;

__attribute__((noinline, noclone)) void allocate_in_the_example(unsigned long size) {
  record::recorder().note_alloc(  // line of the allocation
      {.address = 0x1000 * size, .size = size, .requested = size});
  __asm__ volatile("");
}

__attribute__((noinline, noclone)) void step() {
  allocate_in_the_example(64);  // line of the step
  __asm__ volatile("");
}

void print_last_stack() {
  const record::Cut cut = record::recorder().cut();
  for (const record::RawFrame& raw :
       record::recorder().tables().tracebacks.frames(cut.events.back().traceback)) {
    const record::Frame frame = record::resolve_frame(raw);
    std::printf("{\"function\": \"%s\", \"file\": \"%s\", \"line\": %u}\n", frame.function.c_str(),
                frame.file.c_str(), frame.line);
  }
}

int main(int count, char** arguments) {
  record::recorder().start({.max_entries = 16, .stacks = record::Stacks::native});
  step();  // line in main
  print_last_stack();
  if (count < 2) return 0;
  void* plugin = dlopen(arguments[1], RTLD_NOW);
  auto* plugin_step = reinterpret_cast<void (*)(void (*)(unsigned long))>(
      plugin != nullptr ? dlsym(plugin, "plugin_step") : nullptr);
  if (plugin_step == nullptr) return 1;
  plugin_step(&allocate_in_the_example);
  print_last_stack();
}
