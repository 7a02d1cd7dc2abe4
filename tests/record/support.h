// SPDX-License-Identifier: Apache-2.0
// What the tests of this room share: short ways to say blocks and holders, the memory of this
// process, and a fixture that gives each test the process's recorder as good as new.
#pragma once

#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "strandline/record/recorder.h"

namespace strandline::record {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;  // memory is not given back at once, time is scarce
#else
inline constexpr bool kSanitized = false;
#endif

inline std::uint64_t resident_bytes() {
  std::uint64_t total_pages = 0;
  std::uint64_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> total_pages >> resident_pages;
  return resident_pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

inline std::vector<std::uint64_t> addresses_of(const std::vector<LiveBlock>& blocks) {
  std::vector<std::uint64_t> addresses;
  for (const LiveBlock& block : blocks) addresses.push_back(block.address);
  return addresses;
}

inline const LiveBlock* block_at(const std::vector<LiveBlock>& blocks, std::uint64_t address) {
  for (const LiveBlock& block : blocks) {
    if (block.address == address) return &block;
  }
  return nullptr;
}

inline std::vector<Action> actions_of(const std::vector<Event>& events) {
  std::vector<Action> actions;
  for (const Event& event : events) actions.push_back(event.action);
  return actions;
}

/// A holder told apart by its traceback's number.
inline Holder holder(std::uint32_t number, std::uint32_t label = 0) {
  return {.traceback = {number},
          .op = {number + 1},
          .layout = {number + 2},
          .label = {label},
          .view_bytes = number * 8,
          .view_offset = number};
}

/// The process's recorder, off, with no live block, no event, no peak and empty tables.
class RecorderTest : public testing::Test {
 protected:
  void SetUp() override { reset(); }
  void TearDown() override { reset(); }

  static void reset() {
    Recorder& r = recorder();
    r.stop();
    for (const LiveBlock& block : r.cut(Recorder::Events::none).live) {
      r.note_free({.address = block.address});
    }
    r.clear_history(Recorder::ClearTables::yes);
    r.reset_peak();
    thread_state().label = {};
  }

  static void start(std::uint64_t max_entries = 10'000, std::uint64_t min_size = 0) {
    recorder().start({.max_entries = max_entries, .min_size = min_size});
  }
  static void alloc(std::uint64_t address, std::uint64_t size) {
    recorder().note_alloc({.address = address, .size = size, .requested = size});
  }
  static void free(std::uint64_t address) { recorder().note_free({.address = address}); }
  static void bind(std::uint64_t address, std::uint64_t array, const Holder& by) {
    recorder().bind(address, {array}, by);
  }
  static void leave(std::uint64_t array) { recorder().leave({array}); }
  static std::vector<LiveBlock> peak_set(Measure measure = Measure::capacity) {
    return recorder().cut().peak_set[static_cast<std::size_t>(measure)];
  }
  /// On another thread, to its end.
  template <typename Work>
  static void elsewhere(Work&& work) {
    std::thread(std::forward<Work>(work)).join();
  }
};

}  // namespace strandline::record
