// SPDX-License-Identifier: Apache-2.0
// Makes a snapshot file of N events in memory and prints, as JSON, the CPU seconds of each
// analysis. Blocks live for a random number of events; a tenth of the allocs stays. The maker
// follows the level itself, and the peak the analyses find has to be that one.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <queue>
#include <random>
#include <vector>

#include <fmt/format.h>

#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/file_report.h"
#include "strandline/snapshot/leaks.h"
#include "strandline/snapshot/stack_groups.h"

namespace {

using namespace strandline;
using namespace strandline::snapshot;
using record::Action;

struct Live {
  std::uint64_t end = 0;  // the event before which it is freed
  std::uint64_t address = 0;
  std::uint64_t size = 0;

  bool operator>(const Live& other) const { return end > other.end; }
};

class Maker {
 public:
  explicit Maker(std::uint64_t events) : events_(events) {}

  SnapshotFile make() {
    make_stacks();
    while (file_.snapshot.events.count() < events_) {
      if (!live_.empty() && live_.top().end <= file_.snapshot.events.count()) {
        free_next();
      } else {
        alloc();
      }
    }
    while (!live_.empty()) {
      kept_.push_back(live_.top());
      live_.pop();
    }
    make_segment();
    for (std::uint64_t i = 0; i < 200; ++i) {
      const auto at = static_cast<std::int64_t>(i * events_ / 200);
      file_.annotations.push_back({name_, Stage::start, 0, at});
      file_.annotations.push_back(
          {name_, Stage::end, 0, at + static_cast<std::int64_t>(events_ / 250)});
    }
    file_.traces = {{0, file_.snapshot.events.count()}};
    file_.snapshot.taken_us = static_cast<std::int64_t>(events_);
    return std::move(file_);
  }

  std::uint64_t peak() const { return peak_; }

 private:
  void make_stacks() {
    Snapshot& snapshot = file_.snapshot;
    name_ = snapshot.strings.intern("step");
    for (std::uint32_t s = 0; s < 4000; ++s) {
      StackId stack;
      for (std::uint32_t depth = 0; depth < 32; ++depth) {
        const StringId file = snapshot.strings.intern(fmt::format("/home/u/f{}.py", depth));
        const StringId function = snapshot.strings.intern(fmt::format("g{}", (s >> depth / 2) % 7));
        stack = snapshot.stacks.child(stack, snapshot.frames.intern(file, function, s >> depth));
      }
      stacks_.push_back(stack);
    }
  }

  void add(Action action, const Live& block, StackId stack) {
    EventRow row{.address = block.address,
                 .size = block.size,
                 .requested = block.size,
                 .time_us = static_cast<std::int64_t>(file_.snapshot.events.count()),
                 .stack = stack,
                 .action = action};
    file_.snapshot.events.push_back(row);
  }

  void alloc() {
    const std::uint64_t number = file_.snapshot.events.count();
    const bool stays = random_() % 10 == 0;
    const Live block{.end = stays ? UINT64_MAX : number + random_() % 20'000,
                     .address = next_,
                     .size = 512 + 8 * (random_() % 10'000)};
    next_ += 128 << 10;
    add(Action::alloc, block, stacks_[random_() % stacks_.size()]);
    level_ += block.size;
    peak_ = std::max(peak_, level_);
    if (stays) {
      kept_.push_back(block);
    } else {
      live_.push(block);
    }
  }

  void free_next() {
    const Live block = live_.top();
    live_.pop();
    add(Action::free_requested, block, {});
    add(Action::free_completed, block, {});
    level_ -= block.size;
  }

  void make_segment() {
    Snapshot& snapshot = file_.snapshot;
    for (const Live& block : kept_) {
      const std::uint64_t room = 128 << 10;
      snapshot.segments.push_back(
          {.address = block.address,
           .size = room,
           .first_block = static_cast<std::uint32_t>(snapshot.blocks.count()),
           .block_count = 1});
      snapshot.blocks.push_back({.address = block.address,
                                 .size = room,
                                 .requested = block.size,
                                 .use = record::BlockUse::allocated});
      file_.unaddressed.push_back(0);
    }
  }

  std::uint64_t events_;
  SnapshotFile file_;
  StringId name_;
  std::vector<StackId> stacks_;
  std::mt19937_64 random_{1};
  std::priority_queue<Live, std::vector<Live>, std::greater<>> live_;
  std::vector<Live> kept_;
  std::uint64_t next_ = 1 << 20;
  std::uint64_t level_ = 0;
  std::uint64_t peak_ = 0;
};

/// Of the processor: what else runs on the machine does not count.
template <typename Body>
double seconds_of(Body&& body) {
  const std::clock_t start = std::clock();
  body();
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: snapshot_analysis_bench EVENTS\n");
    return 2;
  }
  Maker maker(std::strtoull(argv[1], nullptr, 10));
  SnapshotFile file = maker.make();
  Account account;
  std::vector<DeviceReport> reports;
  std::size_t stacks = 0;
  BlockColumns half;
  const double check = seconds_of([&] { account = make_account(file); });
  const double report = seconds_of([&] { reports = make_file_report(file); });
  const double text = seconds_of([&] { (void)file_report_text(reports, "file"); });
  const double json = seconds_of([&] { (void)file_report_json(reports, "file"); });
  const double leaks = seconds_of([&] { stacks = find_leaks(file, 0).stacks.size(); });
  const double at = seconds_of([&] {
    half = blocks_held(file, 0, static_cast<std::int64_t>(file.snapshot.events.count() / 2));
  });
  const double diff = seconds_of([&] {
    const BlockColumns end =
        blocks_held(file, 0, static_cast<std::int64_t>(file.snapshot.events.count()) - 1);
    (void)make_difference(file, half, file, end);
  });
  const auto found = static_cast<std::uint64_t>(account.devices.at(0).active_peak);
  if (found != maker.peak() || reports.at(0).report.peak.bytes != maker.peak() || stacks == 0) {
    std::fprintf(stderr, "the peak is %llu, found: %llu\n",
                 static_cast<unsigned long long>(maker.peak()),
                 static_cast<unsigned long long>(found));
    return 1;
  }
  fmt::print(
      "{{\"seconds\": {{\"check\": {:.4f}, \"report\": {:.4f}, \"text\": {:.4f}, \"json\": {:.4f}, "
      "\"leaks\": {:.4f}, \"at\": {:.4f}, \"diff\": {:.4f}}}}}\n",
      check, report, text, json, leaks, at, diff);
  return 0;
}
