// SPDX-License-Identifier: Apache-2.0
// Writes a made-up record of N events with 32-frame stacks and prints, as JSON, the fastest of
// several writes as a pickle and as a native file, of reads of the latter, and the sizes. The
// pickle is left at the path given, for CPython to read.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "strandline/snapshot/native_file.h"
#include "strandline/snapshot/pickle_writer.h"

namespace {

using namespace strandline::snapshot;
using strandline::record::Action;

constexpr std::size_t kDepth = 32;
constexpr std::uint64_t kStacks = 2000;

/// Stacks that share their outer frames as those of a program do.
std::vector<StackId> make_stacks(Snapshot& snapshot) {
  std::vector<StackId> stacks;
  for (std::uint64_t s = 0; s < kStacks; ++s) {
    StackId stack;
    for (std::uint64_t depth = 0; depth < kDepth; ++depth) {
      const std::uint64_t branch = depth < 20 ? s % (depth / 4 + 1) : s % (depth * depth);
      const StringId file = snapshot.strings.intern(
          fmt::format("/home/user/project/package/module_{}.py", branch % 40));
      const StringId function = snapshot.strings.intern(fmt::format("function_{}", branch % 300));
      stack = snapshot.stacks.child(
          stack, snapshot.frames.intern(file, function,
                                        static_cast<std::uint32_t>(depth * 37 + branch % 1000)));
    }
    stacks.push_back(stack);
  }
  return stacks;
}

/// Allocs and frees in turn, some later than others.
Snapshot make_snapshot(std::size_t events) {
  Snapshot snapshot;
  const std::vector<StackId> stacks = make_stacks(snapshot);
  std::vector<StringId> ops;
  for (const char* op : {"Matmul", "Add", "Softmax", "Broadcast", "Reshape"}) {
    ops.push_back(snapshot.strings.intern(op));
  }
  std::uint64_t state = 20262;
  const auto random = [&](std::uint64_t below) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % below;
  };
  std::vector<EventRow> live;
  std::int64_t now = 1'700'000'000'000'000;
  while (snapshot.events.count() < events) {
    now += static_cast<std::int64_t>(random(40));
    if (live.size() < 100 || random(2) == 0) {
      EventRow row{.address = 0x7f00'0000'0000 + random(1 << 20) * 512,
                   .size = (random(4096) + 1) * 512,
                   .time_us = now,
                   .stack = stacks[random(stacks.size())],
                   .op = ops[random(ops.size())],
                   .thread = 1,
                   .action = Action::alloc};
      row.requested = row.size - random(512);
      snapshot.events.push_back(row);
      live.push_back(row);
      continue;
    }
    std::swap(live[random(live.size())], live.back());
    EventRow row = live.back();
    live.pop_back();
    row.time_us = now;
    row.action = Action::free_requested;
    snapshot.events.push_back(row);
    row.action = Action::free_completed;
    snapshot.events.push_back(row);
  }
  return snapshot;
}

template <typename Work>
double fastest_ms(int rounds, Work&& work) {
  double best = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count());
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: snapshot_write_bench EVENTS PICKLE\n");
    return 2;
  }
  const auto events = static_cast<std::size_t>(std::stoull(argv[1]));
  const int rounds = events > 500'000 ? 5 : 15;
  const Snapshot snapshot = make_snapshot(events);
  std::string pickle;
  const double pickle_ms = fastest_ms(rounds, [&] { pickle = pickle_bytes(snapshot); });
  std::ofstream(argv[2], std::ios::binary) << pickle;
  std::string native;
  const double native_1_ms =
      fastest_ms(rounds, [&] { native = native_bytes(snapshot, {.level = 1}); });
  const std::size_t native_1_bytes = native.size();
  const double native_ms = fastest_ms(rounds, [&] { native = native_bytes(snapshot); });
  std::size_t read = 0;
  const double read_ms =
      fastest_ms(rounds, [&] { read = read_native_bytes(native).file.snapshot.events.count(); });
  fmt::print(
      "{{\"events\": {}, \"pickle_ms\": {:.2f}, \"pickle_bytes\": {}, \"slt_ms\": {:.2f}, "
      "\"slt_bytes\": {}, \"slt_level_1_ms\": {:.2f}, \"slt_level_1_bytes\": {}, "
      "\"slt_read_ms\": {:.2f}, \"slt_events_read\": {}}}\n",
      snapshot.events.count(), pickle_ms, pickle.size(), native_ms, native.size(), native_1_ms,
      native_1_bytes, read_ms, read);
  return 0;
}
