// SPDX-License-Identifier: Apache-2.0
// What happens before what, as a plain program would note it: work has a position on its stream;
// a stream has seen the work of others up to the positions it waited for; the device is done with
// each stream up to a position.
//
//   a use (s, p) is over for work that stream t queues now  <=>  p <= done[s] or p <= seen[t][s]
//   seen[t][t] = the last position queued on t: a stream is in order with itself
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "alloc/random/model.h"
#include "alloc/segments_random/operation.h"

namespace strandline::alloc::segments_random {

using Positions = std::array<std::uint64_t, kStreams>;

class Order {
 public:
  /// Work queued on a stream; its position.
  std::uint64_t queue(std::size_t stream) { return seen_[stream][stream] = ++queued_[stream]; }
  /// The device did it.
  void finish(std::size_t stream, std::uint64_t position) {
    random::must_equal(position, done_[stream] + 1, "position of the work that was done");
    done_[stream] = position;
  }

  void record(std::size_t event, std::size_t stream) { events_[event] = seen_[stream]; }
  void wait(std::size_t stream, std::size_t event) { see(stream, events_[event]); }
  /// Later work of `stream` is behind all that is queued on `other`.
  void wait_for(std::size_t stream, std::size_t other) { see(stream, seen_[other]); }

  [[nodiscard]] bool is_done(std::size_t stream, std::uint64_t position) const {
    return position <= done_[stream];
  }
  [[nodiscard]] std::uint64_t done(std::size_t stream) const { return done_[stream]; }
  [[nodiscard]] std::uint64_t queued(std::size_t stream) const { return queued_[stream]; }
  /// Work that `next` queues from now on is behind that use.
  [[nodiscard]] bool is_over(std::size_t stream, std::uint64_t position, std::size_t next) const {
    return is_done(stream, position) || position <= seen_[next][stream];
  }

 private:
  void see(std::size_t stream, const Positions& positions) {
    for (std::size_t i = 0; i < kStreams; ++i) {
      seen_[stream][i] = std::max(seen_[stream][i], positions[i]);
    }
  }

  Positions queued_ = {};
  Positions done_ = {};
  std::array<Positions, kStreams> seen_ = {};
  std::array<Positions, kEvents> events_ = {};
};

/// Bytes of freed blocks that streams may still use.
class PastUses {
 public:
  void add(std::uint64_t address, std::uint64_t size, const Positions& uses, const Order& order) {
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      if (uses[stream] == 0 || order.is_done(stream, uses[stream])) continue;
      uses_.push_back({address, address + size, stream, uses[stream]});
    }
    if (uses_.size() < 2 * kept_ + 64) return;
    std::erase_if(uses_, [&](const Use& use) { return order.is_done(use.stream, use.position); });
    kept_ = uses_.size();
  }

  /// Bytes are handed out for work of a stream: nothing else may still be at them.
  void check(std::uint64_t address, std::uint64_t size, std::size_t next,
             const Order& order) const {
    for (const Use& use : uses_) {
      if (use.end <= address || address + size <= use.begin) continue;
      if (order.is_over(use.stream, use.position, next)) continue;
      throw random::Violation(
          fmt::format("bytes handed out to stream {} are in use by work {} of stream {}, which has "
                      "done {}",
                      next, use.position, use.stream, order.done(use.stream)));
    }
  }

 private:
  struct Use {
    std::uint64_t begin;
    std::uint64_t end;
    std::size_t stream;
    std::uint64_t position;
  };

  std::vector<Use> uses_;
  std::size_t kept_ = 0;
};

}  // namespace strandline::alloc::segments_random
