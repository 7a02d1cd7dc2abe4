// SPDX-License-Identifier: Apache-2.0
// The programs of the segment allocator's random test: lists of operations on numbered slots,
// streams, events and pools, made from a seed. Every operation has a meaning wherever it stands
// (what does not fit the state does nothing), so that a list stays a program when operations are
// left out of it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "alloc/random/operation.h"
#include "strandline/device/calls.h"

namespace strandline::alloc::segments_random {

using random::kSlots;
inline constexpr std::size_t kStreams = 4;  // the first is the default one
inline constexpr std::size_t kEvents = 6;
inline constexpr std::size_t kPools = 3;

enum class Kind : std::uint8_t {
  malloc,    ///< slot, stream, bytes; extra = alignment
  free,      ///< slot
  use,       ///< slot, stream: queued work writes it; extra 1: its own stream waits, else recorded
  record,    ///< stream, extra = event
  wait,      ///< stream, extra = event: later work of the stream is behind the event's point
  progress,  ///< stream, bytes: so many pieces of queued work are done
  synchronize,  ///< stream; extra 1: all
  poll,
  misuse,        ///< slot, extra: one of several wrong calls
  pool_create,   ///< slot = pool; extra: bit 0 use_on_oom, bit 1 no_split
  pool_begin,    ///< slot = pool
  pool_end,      ///< slot = which of the open scopes
  pool_release,  ///< slot = pool; extra 1: destroy
  pool_empty,    ///< slot = pool
  settings,      ///< extra = number of a string
  fraction,      ///< bytes = per cent
  empty_cache,
  reset,  ///< extra 0: peaks, 1: sums
  fault,  ///< extra = device::Call, bytes = how many calls from now
  check,  ///< looks at everything; every 64th operation
};
inline constexpr std::size_t kKindCount = static_cast<std::size_t>(Kind::check) + 1;

struct Operation {
  Kind kind = Kind::malloc;
  std::uint8_t stream = 0;
  std::uint16_t slot = 0;
  std::uint32_t extra = 0;
  std::uint64_t bytes = 0;
};

/// One line, as a failure prints it.
inline std::string describe(const Operation& operation) {
  constexpr std::string_view kNames[kKindCount] = {
      "malloc",     "free",        "use",          "record",     "wait",
      "progress",   "synchronize", "poll",         "misuse",     "pool_create",
      "pool_begin", "pool_end",    "pool_release", "pool_empty", "settings",
      "fraction",   "empty_cache", "reset",        "fault",      "check"};
  return fmt::format("{{Kind::{}, {}, {}, {}, {}}},",
                     kNames[static_cast<std::size_t>(operation.kind)], operation.stream,
                     operation.slot, operation.extra, operation.bytes);
}

/// Strings for Kind::settings.
inline constexpr std::string_view kSettings[] = {
    "max_split_size_mb:default,garbage_collection_threshold:default",
    "max_split_size_mb:default",
    "max_split_size_mb:24",
    "max_split_size_mb:32,max_non_split_rounding_mb:24",
    "max_split_size_mb:64,max_non_split_rounding_mb:default",
    "roundup_power2_divisions:default",
    "roundup_power2_divisions:1",
    "roundup_power2_divisions:8",
    "roundup_power2_divisions:[1:4,4:2,16:0,>:1]",
    "garbage_collection_threshold:default",
    "garbage_collection_threshold:0.3",
    "garbage_collection_threshold:0.8",
    "large_segment_size_mb:24,max_split_size_mb:default,max_non_split_rounding_mb:default",
    "large_segment_size_mb:default",
    "throw_on_device_malloc_oom:True",
    "throw_on_device_malloc_oom:False",
    "throw_on_device_malloc_oom:False",
    "max_split_size_mb:5,roundup_power2_divisions:8",  // refused as a whole
};

/// How a program's sizes and rare operations are drawn.
struct Mix {
  std::uint64_t largest_bytes = 64 << 20;
  std::uint32_t faults_in_10000 = 0;
  std::uint32_t settings_in_10000 = 30;
  bool pools = true;
};

class Generator {
 public:
  Generator(std::uint64_t seed, const Mix& mix) : random_(seed), mix_(mix) {
    for (std::uint64_t& size : palette_) size = fresh_size();
  }

  Operation next() {
    Operation operation{.stream = static_cast<std::uint8_t>(below(kStreams)),
                        .slot = static_cast<std::uint16_t>(below(kSlots))};
    const std::uint64_t choice = below(10'000);
    if (choice < mix_.faults_in_10000) return fault(operation);
    if (choice < mix_.faults_in_10000 + mix_.settings_in_10000) return setting(operation);
    if (choice >= 8'800) return rare(operation, choice - 8'800);
    if (choice >= 8'000) return device_work(operation);
    operation.kind = choice % 2 == 0 ? Kind::malloc : Kind::free;
    if (operation.kind == Kind::malloc) {
      operation.bytes = below(10) < 6 ? palette_[below(std::size(palette_))] : fresh_size();
      if (below(64) == 0) operation.extra = std::uint32_t{1} << below(13);
    }
    return operation;
  }

  std::vector<Operation> program(std::size_t count) {
    std::vector<Operation> operations;
    operations.reserve(count);
    while (operations.size() < count) {
      operations.push_back(next());
      if (operations.size() % 64 == 0) {
        operations.back() = {.kind = Kind::check, .extra = static_cast<std::uint32_t>(below(4))};
      }
    }
    return operations;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  std::uint64_t fresh_size() {
    constexpr std::uint64_t kMiB = 1 << 20;
    constexpr std::uint64_t kBorders[] = {0,
                                          1,
                                          511,
                                          512,
                                          513,
                                          kMiB - 1,
                                          kMiB,
                                          kMiB + 1,
                                          2 * kMiB,
                                          10 * kMiB,
                                          10 * kMiB - 1,
                                          12 * kMiB,
                                          20 * kMiB,
                                          24 * kMiB,
                                          32 * kMiB,
                                          33 * kMiB,
                                          UINT64_MAX,
                                          UINT64_MAX / 2 + 1,
                                          std::uint64_t{1} << 60};
    if (below(20) == 0) return kBorders[below(std::size(kBorders))];
    // Every magnitude alike.
    return below((mix_.largest_bytes >> below(24)) + 1) + 1;
  }

  Operation device_work(Operation operation) {
    const std::uint64_t choice = below(100);
    operation.kind = choice < 60   ? Kind::use
                     : choice < 70 ? Kind::record
                     : choice < 80 ? Kind::wait
                     : choice < 96 ? Kind::progress
                     : choice < 98 ? Kind::synchronize
                                   : Kind::poll;
    operation.bytes = below(6) + 1;
    operation.extra = static_cast<std::uint32_t>(
        operation.kind == Kind::record || operation.kind == Kind::wait ? below(kEvents)
                                                                       : below(4) == 0);
    return operation;
  }

  Operation rare(Operation operation, std::uint64_t choice) {
    if (choice < 500) return device_work(operation);
    if (choice < 600) {
      operation.kind = Kind::misuse;
      operation.extra = static_cast<std::uint32_t>(below(5));
      return operation;
    }
    if (choice < 620) {
      operation.kind = choice < 605 ? Kind::empty_cache : Kind::reset;
      operation.extra = static_cast<std::uint32_t>(below(2));
      return operation;
    }
    if (!mix_.pools || choice >= 900) return next();
    constexpr Kind kKinds[] = {Kind::pool_create,  Kind::pool_begin, Kind::pool_begin,
                               Kind::pool_end,     Kind::pool_end,   Kind::pool_end,
                               Kind::pool_release, Kind::pool_empty};
    operation.kind = kKinds[below(std::size(kKinds))];
    operation.extra = static_cast<std::uint32_t>(below(4));
    return operation;
  }

  Operation setting(Operation operation) {
    operation.kind = below(4) == 0 ? Kind::fraction : Kind::settings;
    operation.extra = static_cast<std::uint32_t>(below(std::size(kSettings)));
    operation.bytes = below(2) == 0 ? 100 : below(80) + 20;
    return operation;
  }

  Operation fault(Operation operation) {
    using device::Call;
    constexpr Call kCalls[] = {Call::allocate,    Call::allocate,     Call::allocate,
                               Call::deallocate,  Call::record_event, Call::create_event,
                               Call::query_event, Call::wait_event,   Call::wait_stream,
                               Call::memory_info, Call::destroy_event};
    operation.kind = Kind::fault;
    operation.extra = static_cast<std::uint32_t>(kCalls[below(std::size(kCalls))]);
    operation.bytes = below(4) + 1;
    return operation;
  }

  std::mt19937_64 random_;
  Mix mix_;
  std::uint64_t palette_[12] = {};
};

}  // namespace strandline::alloc::segments_random
