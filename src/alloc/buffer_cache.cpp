// SPDX-License-Identifier: Apache-2.0
// The order of frees, and the index of sizes: a bitmap of classes, a trie in each, a ring for each
// size. Whatever changes the shape of a trie is below "The trie"; the rest only follows links.
#include "strandline/alloc/buffer_cache.h"

#include <algorithm>
#include <bit>
#include <string_view>

#include <fmt/format.h>

#include "alloc/invariant.h"
#include "strandline/core/error.h"

namespace strandline::alloc {
namespace {

constexpr std::string_view kBufferCache = "BufferCache";

std::uint64_t twice(std::uint64_t page_bytes) {
  if (page_bytes == 0) {
    throw InvalidArgument(error_message("BufferCache", "page_bytes", "0", "more than 0"));
  }
  return page_bytes > UINT64_MAX / 2 ? UINT64_MAX : 2 * page_bytes;
}

}  // namespace

BufferCache::BufferCache(std::uint64_t page_bytes) : two_pages_(twice(page_bytes)) {
  roots_.fill(kNone);
}

// Sizes below 8 are a class each; above, a class fixes the leading bit and three more:
//
//   size 0b1_011_0110  ->  octave 7, step 0b011, four free bits, class (7 - 3) * 8 + 0b1011
std::uint32_t BufferCache::free_bits(std::uint64_t size) noexcept {
  const auto octave = static_cast<std::uint32_t>(std::bit_width(size)) - 1;
  return octave < kStepBits ? 0 : octave - kStepBits;
}

std::uint32_t BufferCache::class_of(std::uint64_t size) noexcept {
  const std::uint32_t bits = free_bits(size);
  return (bits << kStepBits) + static_cast<std::uint32_t>(size >> bits);
}

// The child that `size` belongs to below a node with so many bits still free.
unsigned BufferCache::bit(std::uint64_t size, std::uint32_t free_bits_left) noexcept {
  return static_cast<unsigned>(size >> (free_bits_left - 1)) & 1U;
}

void BufferCache::reserve(std::size_t entries) {
  const std::size_t had = nodes_.size();
  if (entries <= had) return;
  const std::size_t grown = std::max(entries, std::min<std::size_t>(had * 2, kInRing));
  if (grown > kInRing) {
    throw InvalidArgument(error_message("BufferCache::reserve", "entries",
                                        fmt::format("{}", entries), "fewer than 2^32 - 2"));
  }
  nodes_.resize(grown);
  for (std::size_t i = grown; i > had; --i) {
    nodes_[i - 1].newer = unused_;
    unused_ = static_cast<Index>(i - 1);
  }
}

bool BufferCache::try_put(const Entry& entry) noexcept {
  if (unused_ == kNone || entry.size == 0) return false;
  const Index at = unused_;
  unused_ = nodes_[at].newer;
  nodes_[at].entry = entry;
  link_order(at);
  link_size(at);
  bytes_ += entry.size;
  ++count_;
  return true;
}

std::optional<BufferCache::Entry> BufferCache::take(std::uint64_t size) noexcept {
  if (size == 0) return std::nullopt;
  const Index holder = find(size);
  if (holder == kNone || !serves(nodes_[holder].entry.size, size)) return std::nullopt;
  return remove(nodes_[holder].ring_before);  // the one freed last
}

std::optional<BufferCache::Entry> BufferCache::take_oldest() noexcept {
  if (oldest_ == kNone) return std::nullopt;
  return remove(oldest_);
}

BufferCache::Entry BufferCache::remove(Index at) noexcept {
  const Entry entry = nodes_[at].entry;
  unlink_size(at);
  unlink_order(at);
  nodes_[at].newer = unused_;
  unused_ = at;
  bytes_ -= entry.size;
  --count_;
  return entry;
}

// The order of frees.

void BufferCache::link_order(Index at) noexcept {
  nodes_[at].older = newest_;
  nodes_[at].newer = kNone;
  (newest_ == kNone ? oldest_ : nodes_[newest_].newer) = at;
  newest_ = at;
}

void BufferCache::unlink_order(Index at) noexcept {
  const Node& node = nodes_[at];
  (node.older == kNone ? oldest_ : nodes_[node.older].newer) = node.newer;
  (node.newer == kNone ? newest_ : nodes_[node.newer].older) = node.older;
}

// Looking for a size.

// The place of the smallest size >= `size`, wherever it is.
BufferCache::Index BufferCache::find(std::uint64_t size) const noexcept {
  const std::uint32_t of = class_of(size);
  const Index here = find_in_class(of, size);
  if (here != kNone) return here;
  const std::uint32_t above = next_class(of);
  return above == kClassCount ? kNone : smallest_below(roots_[above]);
}

// Follows the bits of `size`. Nodes passed may fit themselves; of the subtrees passed on the right,
// which hold larger sizes only, the last one has the smallest.
BufferCache::Index BufferCache::find_in_class(std::uint32_t of, std::uint64_t size) const noexcept {
  Index best = kNone;
  std::uint64_t best_size = UINT64_MAX;
  Index larger = kNone;
  std::uint32_t left = free_bits(size);
  for (Index at = roots_[of]; at != kNone; --left) {
    const Node& node = nodes_[at];
    if (node.entry.size == size) return at;
    if (node.entry.size > size && (best == kNone || node.entry.size < best_size)) {
      best = at;
      best_size = node.entry.size;
    }
    if (left == 0) break;  // a class of one size
    const unsigned side = bit(size, left);
    if (side == 0 && node.child[1] != kNone) larger = node.child[1];
    at = node.child[side];
  }
  if (larger == kNone) return best;
  const Index other = smallest_below(larger);
  return best == kNone || nodes_[other].entry.size < best_size ? other : best;
}

// A node may be smaller than all below it, or not: each of the leftmost path is compared.
BufferCache::Index BufferCache::smallest_below(Index top) const noexcept {
  Index best = top;
  for (Index at = top; at != kNone;) {
    const Node& node = nodes_[at];
    if (node.entry.size < nodes_[best].entry.size) best = at;
    at = node.child[0] != kNone ? node.child[0] : node.child[1];
  }
  return best;
}

// The first occupied class after this one; kClassCount when there is none.
std::uint32_t BufferCache::next_class(std::uint32_t after) const noexcept {
  const std::uint32_t first = after + 1;
  if (first >= kClassCount) return kClassCount;
  std::size_t word = first / 64;
  std::uint64_t bits = occupied_[word] & (UINT64_MAX << (first % 64));
  while (bits == 0) {
    if (++word == kWordCount) return kClassCount;
    bits = occupied_[word];
  }
  return static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
}

// The trie.

void BufferCache::link_size(Index at) noexcept {
  Node& added = nodes_[at];
  added.parent = kNone;
  added.child = {kNone, kNone};
  added.ring_before = at;
  added.ring_after = at;
  const std::uint64_t size = added.entry.size;
  const std::uint32_t of = class_of(size);
  Index* place = &roots_[of];
  for (std::uint32_t left = free_bits(size); *place != kNone; --left) {
    Node& node = nodes_[*place];
    if (node.entry.size == size) return join_ring(at, *place);
    added.parent = *place;
    place = &node.child[bit(size, left)];
  }
  *place = at;
  occupied_[of / 64] |= std::uint64_t{1} << (of % 64);
}

// Behind the newest of its size.
void BufferCache::join_ring(Index at, Index holder) noexcept {
  const Index last = nodes_[holder].ring_before;
  nodes_[at].parent = kInRing;
  nodes_[at].ring_before = last;
  nodes_[at].ring_after = holder;
  nodes_[last].ring_after = at;
  nodes_[holder].ring_before = at;
}

void BufferCache::unlink_size(Index at) noexcept {
  const Node& node = nodes_[at];
  const Index after = node.ring_after;
  if (after != at) {
    nodes_[after].ring_before = node.ring_before;
    nodes_[node.ring_before].ring_after = after;
    if (node.parent != kInRing) set_place(at, after);
    return;
  }
  const bool is_leaf = node.child[0] == kNone && node.child[1] == kNone;
  set_place(at, is_leaf ? kNone : detach_leaf(at));
}

// Cuts off a leaf somewhere below `top`, which has children, and returns it. Any will do: all sizes
// below a place share the bits that lead there.
BufferCache::Index BufferCache::detach_leaf(Index top) noexcept {
  Index leaf = top;
  unsigned side = 0;
  for (;;) {
    const Node& node = nodes_[leaf];
    const unsigned next = node.child[1] != kNone ? 1 : 0;
    if (node.child[next] == kNone) break;
    side = next;
    leaf = node.child[next];
  }
  nodes_[nodes_[leaf].parent].child[side] = kNone;
  return leaf;
}

// Puts `replacement` (or nothing) where `old` is.
void BufferCache::set_place(Index old, Index replacement) noexcept {
  const Node& gone = nodes_[old];
  const std::uint32_t of = class_of(gone.entry.size);
  if (gone.parent == kNone) {
    roots_[of] = replacement;
    if (replacement == kNone) occupied_[of / 64] &= ~(std::uint64_t{1} << (of % 64));
  } else {
    std::array<Index, 2>& child = nodes_[gone.parent].child;
    child[child[1] == old ? 1 : 0] = replacement;
  }
  if (replacement == kNone) return;
  nodes_[replacement].parent = gone.parent;
  nodes_[replacement].child = gone.child;
  for (const Index below : gone.child) {
    if (below != kNone) nodes_[below].parent = replacement;
  }
}

// The invariants.

void BufferCache::validate() const {
  validate_order();
  std::size_t indexed = 0;
  for (std::uint32_t of = 0; of < kClassCount; ++of) {
    const bool marked = (occupied_[of / 64] >> (of % 64) & 1) != 0;
    require(kBufferCache, marked == (roots_[of] != kNone), "the bitmap is that of the roots", of);
    if (roots_[of] == kNone) continue;
    const std::uint64_t size = nodes_[roots_[of]].entry.size;
    require(kBufferCache, class_of(size) == of, "a size lies in its class", size);
    const std::uint32_t bits = free_bits(size);
    indexed += validate_trie(roots_[of], size >> bits, bits, kNone);
  }
  require(kBufferCache, indexed == count_, "the index holds every entry once", indexed);
  std::size_t unused = 0;
  for (Index at = unused_; at != kNone; at = nodes_[at].newer) {
    ++unused;
    require(kBufferCache, unused <= nodes_.size(), "unused nodes end", unused);
  }
  require(kBufferCache, unused + count_ == nodes_.size(), "every node is used or unused", unused);
}

void BufferCache::validate_order() const {
  std::uint64_t sum = 0;
  std::size_t found = 0;
  Index before = kNone;
  for (Index at = oldest_; at != kNone; before = at, at = nodes_[at].newer) {
    const Node& node = nodes_[at];
    require(kBufferCache, node.entry.size > 0, "sizes are above 0", 0);
    require(kBufferCache, node.older == before, "the order is linked both ways", node.entry.size);
    require(kBufferCache, ++found <= count_, "the order holds every entry once", node.entry.size);
    sum += node.entry.size;
  }
  require(kBufferCache, before == newest_, "the order ends with the newest", sum);
  require(kBufferCache, found == count_, "the order holds every entry", found);
  require(kBufferCache, sum == bytes_, "bytes = sum of sizes", sum);
}

// Entries in the subtree, all of whose sizes begin with `prefix`. Depth is at most 60.
std::size_t BufferCache::validate_trie(Index top, std::uint64_t prefix,
                                       std::uint32_t free_bits_left, Index parent) const {
  const Node& node = nodes_[top];
  const std::uint64_t size = node.entry.size;
  require(kBufferCache, size >> free_bits_left == prefix, "a size lies where its bits lead", size);
  require(kBufferCache, node.parent == parent, "the trie is linked both ways", size);
  std::size_t entries = validate_ring(top);
  for (unsigned side = 0; side < 2; ++side) {
    if (node.child[side] == kNone) continue;
    require(kBufferCache, free_bits_left > 0, "the trie is no deeper than its bits", size);
    entries += validate_trie(node.child[side], (prefix << 1) | side, free_bits_left - 1, top);
  }
  return entries;
}

std::size_t BufferCache::validate_ring(Index holder) const {
  const std::uint64_t size = nodes_[holder].entry.size;
  std::size_t entries = 1;
  for (Index at = nodes_[holder].ring_after; at != holder; at = nodes_[at].ring_after) {
    require(kBufferCache, nodes_[at].entry.size == size, "a ring has one size", size);
    require(kBufferCache, nodes_[at].parent == kInRing, "one of a ring has the place", size);
    require(kBufferCache, nodes_[nodes_[at].ring_before].ring_after == at,
            "a ring is linked both ways", size);
    require(kBufferCache, ++entries <= count_, "a ring ends", size);
  }
  return entries;
}

}  // namespace strandline::alloc
