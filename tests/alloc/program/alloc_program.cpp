// SPDX-License-Identifier: Apache-2.0
// alloc_program [--compatibility] FILE: runs an allocator program on SegmentAllocator over sim and
// prints its answers, so that they can be compared with PyTorch's by a diff. Exit status 2: the
// program asks for what is not served yet.
#include <cstdio>
#include <cstring>
#include <exception>

#include "alloc/program/files.h"
#include "alloc/program/interpreter.h"

namespace {

using namespace strandline::alloc;

int run(const char* path, Decisions decisions) {
  const std::vector<std::string> lines = program::read_lines(path);
  if (lines.empty()) throw std::runtime_error("an empty program");
  program::Interpreter interpreter(program::Json::parse(lines[0]), decisions);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::puts(interpreter.run(i, program::Json::parse(lines[i])).dump().c_str());
  }
  std::fflush(stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool compatible = argc > 1 && std::strcmp(argv[1], "--compatibility") == 0;
  if (argc != (compatible ? 3 : 2)) {
    std::fputs("usage: alloc_program [--compatibility] FILE\n", stderr);
    return 1;
  }
  try {
    return run(argv[argc - 1], compatible ? Decisions::pytorch : Decisions::ours);
  } catch (const program::Unsupported& error) {
    std::fprintf(stderr, "alloc_program: not served yet: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "alloc_program: %s\n", error.what());
    return 1;
  }
}
