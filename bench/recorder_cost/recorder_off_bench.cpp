// SPDX-License-Identifier: Apache-2.0
// What the recorder costs while it is off, in instructions: one loop of array work, once through an
// allocator that asks the recorder and once through the same allocator built without it.
//
//   recorder_off_bench checked|plain FLOATS REPETITIONS
//
// Each repetition makes c = a + b of FLOATS floats (0: only allocates and frees 64 bytes) in memory
// of its own. `run` counts the instructions below `measured_loop` under callgrind, for both.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "strandline/record/recorder.h"

namespace {

using strandline::record::recorder;
using strandline::record::recording;

template <bool checked>
struct Allocator {
  static void* malloc(std::uint64_t bytes) {
    void* memory = std::malloc(bytes);
    if constexpr (checked) {
      if (STRANDLINE_UNLIKELY(recording())) {
        recorder().note_alloc({.address = reinterpret_cast<std::uint64_t>(memory),
                               .size = bytes,
                               .requested = bytes});
      }
    }
    return memory;
  }
  static void free(void* memory) {
    if constexpr (checked) {
      if (STRANDLINE_UNLIKELY(recording())) {
        recorder().note_free({.address = reinterpret_cast<std::uint64_t>(memory)});
      }
    }
    std::free(memory);
  }
};

constexpr std::uint64_t kSmall = 64;

template <typename Alloc>
double run(const float* a, const float* b, std::uint64_t floats, std::uint64_t repetitions) {
  double total = 0;
  for (std::uint64_t r = 0; r < repetitions; ++r) {
    auto* c = static_cast<float*>(Alloc::malloc(floats == 0 ? kSmall : floats * sizeof(float)));
    if (c == nullptr) return -1;
    c[0] = 1;
    for (std::uint64_t i = 0; i < floats; ++i) c[i] = a[i] + b[i];
    total += static_cast<double>(c[floats == 0 ? 0 : floats - 1]);
    Alloc::free(c);
  }
  return total;
}

}  // namespace

using Loop = double (*)(const float*, const float*, std::uint64_t, std::uint64_t);
extern "C" [[gnu::noinline]] double measured_loop(Loop loop, const float* a, const float* b,
                                                  std::uint64_t floats, std::uint64_t repetitions) {
  return loop(a, b, floats, repetitions);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const bool checked = std::string_view(argv[1]) == "checked";
  const std::uint64_t floats = std::strtoull(argv[2], nullptr, 10);
  const std::uint64_t repetitions = std::strtoull(argv[3], nullptr, 10);
  std::vector<float> a(floats, 0.5F);
  std::vector<float> b(floats, 0.5F);
  recorder().stop();
  const Loop loop = checked ? run<Allocator<true>> : run<Allocator<false>>;
  const double total = measured_loop(loop, a.data(), b.data(), floats, repetitions);
  // Every repetition ends in 0.5 + 0.5; nothing may have been noted.
  const bool right = total == static_cast<double>(repetitions) && recorder().active() == 0;
  std::printf("%s\n", right ? "right" : "wrong");
  return right ? 0 : 1;
}
