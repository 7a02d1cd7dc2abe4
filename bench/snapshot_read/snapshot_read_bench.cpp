// SPDX-License-Identifier: Apache-2.0
// Reads a snapshot and prints, as JSON: seconds, events, and the highest anonymous memory seen.
// Google Benchmark would run it several times in one process and blur the memory.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "strandline/core/error.h"
#include "strandline/snapshot/snapshot_file.h"

namespace {

std::uint64_t anonymous_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("RssAnon:")) return std::stoull(line.substr(8)) * 1024;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: snapshot_read_bench FILE\n");
    return 2;
  }
  std::atomic<bool> done{false};
  const std::uint64_t before = anonymous_bytes();
  std::uint64_t highest = before;
  std::thread watch([&] {
    while (!done.load()) {
      highest = std::max(highest, anonymous_bytes());
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  int status = 0;
  try {
    const auto start = std::chrono::steady_clock::now();
    const strandline::snapshot::SnapshotFile file = strandline::snapshot::read_snapshot(argv[1]);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    done = true;
    watch.join();
    highest = std::max(highest, anonymous_bytes());
    fmt::print("{{\"seconds\": {:.3f}, \"events\": {}, \"anonymous_bytes\": {}, \"stacks\": {}}}\n",
               seconds.count(), file.snapshot.events.count(), highest - before,
               file.snapshot.stacks.size());
  } catch (const strandline::Error& error) {
    done = true;
    if (watch.joinable()) watch.join();
    std::fprintf(stderr, "snapshot_read_bench: %s\n", error.what());
    status = 1;
  }
  return status;
}
