// SPDX-License-Identifier: Apache-2.0
// The programs of the random test: lists of operations on numbered slots, made from a seed. Every
// operation has a meaning wherever it stands (malloc into a full slot does nothing, as does free of
// an empty one), so that a list stays a program when operations are left out of it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "strandline/device/calls.h"

namespace strandline::alloc::random {

enum class Kind : std::uint8_t {
  malloc,        ///< slot, bytes, extra = alignment
  free,          ///< slot; a wrapped buffer is released
  read,          ///< slot: waits for its writers and looks at the bytes
  fill,          ///< slot, stream: queued work writes all bytes
  free_later,    ///< slot, stream: a task of the stream frees it
  misuse,        ///< slot, extra: one of several wrong frees
  wrap,          ///< slot: make_buffer over memory of the program
  wait,          ///< stream
  cache_limit,   ///< bytes
  memory_limit,  ///< bytes; extra 1: hard
  buffer_limit,  ///< bytes = count
  wired_limit,   ///< bytes
  empty_cache,
  reset_peaks,  ///< extra 1: to zero
  fault,        ///< extra = device::Call, bytes = how many calls from now
  check,        ///< looks at everything; every 64th operation
};
inline constexpr std::size_t kKindCount = static_cast<std::size_t>(Kind::check) + 1;

struct Operation {
  Kind kind = Kind::malloc;
  std::uint8_t stream = 0;
  std::uint16_t slot = 0;
  std::uint32_t extra = 0;
  std::uint64_t bytes = 0;
};

inline constexpr std::size_t kSlots = 192;
inline constexpr std::size_t kStreams = 2;
inline constexpr std::size_t kWrappedSlots = 8;  // the first ones may hold wrapped buffers

inline std::string_view name_of(Kind kind) {
  constexpr std::string_view kNames[kKindCount] = {
      "malloc",      "free",        "read",        "fill",         "free_later",   "misuse",
      "wrap",        "wait",        "cache_limit", "memory_limit", "buffer_limit", "wired_limit",
      "empty_cache", "reset_peaks", "fault",       "check"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// One line, as a failure prints it.
inline std::string describe(const Operation& operation) {
  return fmt::format("{{Kind::{}, {}, {}, {}, {}}},", name_of(operation.kind), operation.stream,
                     operation.slot, operation.extra, operation.bytes);
}

/// How a program's sizes and rare operations are drawn.
struct Mix {
  std::uint64_t largest_bytes = 1 << 20;
  std::uint32_t faults_in_10000 = 20;
  std::uint32_t limits_in_10000 = 20;
  bool streams = true;
};

class Generator {
 public:
  Generator(std::uint64_t seed, const Mix& mix) : random_(seed), mix_(mix) {}

  Operation next() {
    Operation operation{.stream = static_cast<std::uint8_t>(below(kStreams)),
                        .slot = static_cast<std::uint16_t>(below(kSlots))};
    const std::uint64_t choice = below(10'000);
    if (choice < mix_.faults_in_10000) return fault(operation);
    if (choice < mix_.faults_in_10000 + mix_.limits_in_10000) return limit(operation);
    if (choice >= 9'000) return rare(operation, choice - 9'000);
    operation.kind = choice % 2 == 0 ? Kind::malloc : Kind::free;
    if (operation.kind == Kind::malloc) draw_size(operation);
    return operation;
  }

  std::vector<Operation> program(std::size_t count) {
    std::vector<Operation> operations;
    operations.reserve(count);
    while (operations.size() < count) {
      const bool is_due = operations.size() % 64 == 63;
      operations.push_back(is_due ? Operation{.kind = Kind::check} : next());
    }
    return operations;
  }

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void draw_size(Operation& operation) {
    const std::uint64_t choice = below(100);
    if (choice < 40) {
      operation.bytes = below(300) + 1;
    } else if (choice < 60) {
      operation.bytes = (below(64) + 1) * 1024;
    } else if (choice < 99) {  // every magnitude alike
      operation.bytes = below((mix_.largest_bytes >> below(20)) + 1) + 1;
    } else {
      constexpr std::uint64_t kOdd[] = {0,
                                        255,
                                        256,
                                        257,
                                        4095,
                                        4096,
                                        4097,
                                        UINT64_MAX,
                                        std::uint64_t{1} << 63,
                                        std::uint64_t{1} << 47};
      operation.bytes = kOdd[below(std::size(kOdd))];
    }
    if (below(16) == 0) operation.extra = std::uint32_t{1} << below(13);
    if (below(256) == 0) operation.extra = 3;  // no power of two
  }
  Operation rare(Operation operation, std::uint64_t choice) {
    if (mix_.streams && choice < 600) {
      constexpr Kind kKinds[] = {Kind::fill, Kind::free_later, Kind::wait};
      operation.kind = kKinds[choice / 200];
    } else if (choice < 800) {
      operation.kind = Kind::read;
    } else if (choice < 900) {
      operation.kind = Kind::misuse;
      operation.extra = static_cast<std::uint32_t>(below(5));
    } else {
      operation.kind = Kind::wrap;
      operation.slot %= kWrappedSlots;
    }
    return operation;
  }
  Operation limit(Operation operation) {
    constexpr Kind kKinds[] = {Kind::cache_limit, Kind::memory_limit, Kind::buffer_limit,
                               Kind::wired_limit, Kind::empty_cache,  Kind::reset_peaks};
    operation.kind = kKinds[below(std::size(kKinds))];
    operation.extra = static_cast<std::uint32_t>(below(2));
    operation.bytes = below(4) == 0 ? 0 : (mix_.largest_bytes << below(8)) >> below(8);
    if (operation.kind == Kind::buffer_limit) operation.bytes = below(4 * kSlots) + 1;
    // Mostly limits that let programs run.
    if (operation.kind == Kind::memory_limit && below(4) != 0) operation.bytes = UINT64_MAX / 2;
    return operation;
  }
  Operation fault(Operation operation) {
    using device::Call;
    constexpr Call kCalls[] = {Call::allocate,   Call::allocate,      Call::allocate,
                               Call::deallocate, Call::wrap,          Call::release_buffer,
                               Call::run,        Call::make_resident, Call::end_residency,
                               Call::wait_stream};
    operation.kind = Kind::fault;
    operation.extra = static_cast<std::uint32_t>(kCalls[below(std::size(kCalls))]);
    operation.bytes = below(4) + 1;
    return operation;
  }

  std::mt19937_64 random_;
  Mix mix_;
};

}  // namespace strandline::alloc::random
