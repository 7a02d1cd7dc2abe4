// SPDX-License-Identifier: Apache-2.0
// Whether declared accesses are sound: a walk over the bytes of a slice, one owner after another.
#include <algorithm>

#include "device/sim/space.h"

namespace strandline::sim {

using device::Address;

/// The bytes [at, end) of one access are still to be looked at. A step moves `at` on; it is false
/// when these bytes cannot be touched at all.
struct Space::Walk {
  const device::Operation& operation;
  StreamId stream;
  const device::Access& access;
  std::vector<Finding>& findings;
  Address at;
  Address end;

  [[nodiscard]] bool reads() const { return access.mode != device::AccessMode::write; }
  [[nodiscard]] bool writes() const { return access.mode != device::AccessMode::read; }
  void find(FindingKind kind, Address begin, Address until) const {
    findings.push_back({kind, operation.work.name, "", stream, begin, until - begin});
  }
  void find_use_of_freed(Address until) const {
    if (reads()) find(FindingKind::read_of_freed, at, until);
    if (writes()) find(FindingKind::write_to_freed, at, until);
  }
};

bool Space::check(const device::Operation& operation, StreamId stream,
                  std::vector<Finding>& findings) {
  const LockGuard lock(mutex_);
  bool touchable = true;
  for (const device::Access& access : operation.work.accesses) {
    Walk walk{operation,
              stream,
              access,
              findings,
              access.slice.address,
              access.slice.address + access.slice.size};
    while (walk.at < walk.end) touchable = step(walk) && touchable;
  }
  return touchable;
}

bool Space::step(Walk& walk) {
  if (!arena_.contains(walk.at)) {  // memory of the host that the machine knows nothing about
    walk.at = walk.at < arena_.base() ? std::min(walk.end, arena_.base()) : walk.end;
    return true;
  }
  if (Block* block = block_at(walk.at)) return step_in_block(walk, *block);
  Address start = 0;
  if (const device::Mapping* mapped = table_.mapping_at(walk.at, start)) {
    return step_in_pages(walk, *mapped, start);
  }
  // Nobody's, up to the next block or mapping.
  Address stop = walk.end;
  const auto block = blocks_.upper_bound(walk.at);
  if (block != blocks_.end()) stop = std::min(stop, block->first);
  const auto mapping = table_.mappings().upper_bound(walk.at);
  if (mapping != table_.mappings().end()) stop = std::min(stop, mapping->first);
  const bool reserved = table_.reservation_of(walk.at, 1) != 0;
  if (reserved) {
    walk.find(FindingKind::no_access, walk.at, stop);
  } else {
    walk.find_use_of_freed(stop);
  }
  const bool touchable = !reserved && arena_.is_poisoned(walk.at, stop - walk.at);
  walk.at = stop;
  return touchable;
}

bool Space::step_in_block(Walk& walk, Block& block) {
  const Address block_end = block.address + block.size;
  if (walk.at >= block_end) {  // the rest of its last page
    const Address until = std::min(walk.end, block.address + block.range);
    walk.find(FindingKind::no_access, walk.at, until);
    walk.at = until;
    return false;
  }
  const Address until = std::min(walk.end, block_end);
  const device::DeviceIndex device = walk.operation.device;
  const bool local = block.device == device || block.placement != device::Placement::device;
  const bool reachable = local || accounts_[device.value].peers[block.device.value];
  if (!reachable && !walk.operation.copies_between_devices()) {
    walk.find(FindingKind::no_access, walk.at, until);
    walk.at = until;
    return false;
  }
  if (block.freed && walk.access.slice.buffer != block.buffer) {
    walk.find_use_of_freed(until);
  } else {
    mark(walk, block.written, walk.at, until);
  }
  walk.at = until;
  return true;
}

bool Space::step_in_pages(Walk& walk, const device::Mapping& mapping, Address start) {
  const Address until = std::min(walk.end, start + mapping.bytes);
  const auto& access = mapping.access;
  const bool reachable =
      std::find(access.begin(), access.end(), walk.operation.device) != access.end();
  if (!reachable) {
    walk.find(FindingKind::no_access, walk.at, until);
    walk.at = until;
    return false;
  }
  mark(walk, pages_written_.at(mapping.pages), walk.at - start, until - start);
  walk.at = until;
  return true;
}

/// `begin` and `end` as the owner counts; the bytes that stand for walk.at and on.
void Space::mark(Walk& walk, RangeSet& written, std::uint64_t begin, std::uint64_t end) {
  if (walk.reads()) {
    const std::uint64_t missing = written.first_missing(begin, end);
    if (missing < end) {
      const Address first = walk.at + (missing - begin);
      walk.find(FindingKind::read_of_unwritten, first, walk.at + (end - begin));
    }
  }
  if (walk.writes()) written.add(begin, end);
}

void Space::note_write(const device::Slice& slice) noexcept {
  const LockGuard lock(mutex_);
  Address at = slice.address;
  const Address end = slice.address + slice.size;
  while (at < end) {
    Address start = 0;
    if (Block* block = block_at(at)) {
      const Address until = std::min(end, block->address + block->range);
      block->written.add(at, std::min(until, block->address + block->size));
      at = until;
    } else if (const device::Mapping* mapping = table_.mapping_at(at, start)) {
      const Address until = std::min(end, start + mapping->bytes);
      pages_written_.at(mapping->pages).add(at - start, until - start);
      at = until;
    } else {
      return;
    }
  }
}

}  // namespace strandline::sim
