// SPDX-License-Identifier: Apache-2.0
// What an allocator has handed out, as a plain program would note it: slots, addresses in a map,
// sums taken from them. It knows nothing of caches, heaps or segments; it says what may never be:
// two blocks over the same bytes, bytes that changed, sums that differ.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "alloc/random/operation.h"
#include "strandline/alloc/allocator.h"

namespace strandline::alloc::random {

/// Something that may never be was seen.
struct Violation : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void must(bool holds, const char* what) {
  if (!holds) throw Violation(what);
}
template <typename A, typename B>
void must_equal(const A& actual, const B& expected, const char* what) {
  if (actual == expected) return;
  throw Violation(fmt::format("{}: {}, where {} is right", what, actual, expected));
}

enum class Content : std::uint8_t { stamped, filled, unknown };

struct Block {
  Buffer buffer{};
  std::uint64_t requested = 0;
  std::uint64_t size = 0;
  std::uint64_t stamp = 0;
  Content content = Content::unknown;
  bool is_wrapped = false;
  bool is_leaving = false;                // a queued task will free it
  std::optional<std::uint8_t> filling{};  // the stream whose queued fill will write it
};

/// Writes what `check_bytes` looks for: both ends of the block.
inline void write_stamp(Block& block, std::uint64_t stamp, void* memory) {
  auto* bytes = static_cast<unsigned char*>(memory);
  const std::size_t length = std::min<std::uint64_t>(block.requested, sizeof(stamp));
  std::memcpy(bytes, &stamp, length);
  std::memcpy(bytes + block.requested - length, &stamp, length);
  block.stamp = stamp;
  block.content = Content::stamped;
}

inline void check_bytes(const Block& block, const void* memory) {
  const auto* bytes = static_cast<const unsigned char*>(memory);
  std::array<unsigned char, sizeof(block.stamp)> expected{};
  std::memcpy(expected.data(), &block.stamp, expected.size());
  if (block.content == Content::filled) expected.fill(static_cast<unsigned char>(block.stamp));
  if (block.content == Content::unknown) return;
  const std::size_t length = std::min<std::uint64_t>(block.requested, expected.size());
  // In blocks shorter than two stamps the second lies over the first.
  must(std::memcmp(bytes + block.requested - length, expected.data(), length) == 0 &&
           (block.requested < 2 * length || std::memcmp(bytes, expected.data(), length) == 0),
       "bytes of a live block have changed");
}

class Model {
 public:
  std::array<Block, kSlots> slots;
  std::uint64_t active = 0;
  std::uint64_t requested = 0;
  std::uint64_t peak = 0;
  std::uint64_t mallocs = 0;
  std::uint64_t frees = 0;
  std::uint64_t refused = 0;

  [[nodiscard]] static bool holds(const Block& block) { return static_cast<bool>(block.buffer); }
  [[nodiscard]] std::size_t count() const { return by_address_.size(); }
  [[nodiscard]] bool is_live(device::Address address) const {
    return by_address_.contains(address);
  }
  [[nodiscard]] const std::map<device::Address, std::uint64_t>& by_address() const {
    return by_address_;
  }

  void add(Block& slot, const Block& block) {
    const device::Address address = block.buffer.address();
    const auto after = by_address_.lower_bound(address);
    must(after == by_address_.end() || address + block.size <= after->first,
         "a block overlaps the next one");
    if (after != by_address_.begin()) {
      const auto before = std::prev(after);
      must(before->first + before->second <= address, "a block overlaps the one before");
    }
    by_address_.emplace_hint(after, address, block.size);
    slot = block;
    active += block.size;
    requested += block.requested;
    peak = std::max(peak, active);
    ++mallocs;
  }

  void remove(Block& slot) {
    by_address_.erase(slot.buffer.address());
    active -= slot.size;
    requested -= slot.requested;
    ++frees;
    slot = Block{};
  }

 private:
  std::map<device::Address, std::uint64_t> by_address_;  // size
};

}  // namespace strandline::alloc::random
