// SPDX-License-Identifier: Apache-2.0
// The mapping behind a machine's address space. Whether a page was touched is asked of the system
// (mincore), so that writes through pointers count as well.
#include "device/sim/arena.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <sys/mman.h>

#include "device/checks.h"
#include "device/operation.h"

namespace strandline::sim {

using device::Address;
using device::to_address;
using device::to_pointer;

namespace {

constexpr std::uint64_t kSmallest = std::uint64_t{1} << 36;
// A first machine starts here wherever it can, so that addresses are the same in every process. No
// more than a wish: the thread sanitizer takes what must be here for address 0, and ends there.
constexpr Address kPreferredBase = 0x2000'0000'0000;
constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

Address map_inaccessible(std::uint64_t bytes) {
  void* const mapped = mmap(to_pointer(kPreferredBase), bytes, PROT_NONE, kFlags, -1, 0);
  return mapped == MAP_FAILED ? 0 : to_address(mapped);
}

Address align_up(Address address, std::uint64_t alignment) {
  return (address + alignment - 1) / alignment * alignment;
}

}  // namespace

Arena::Arena(const MachineOptions& options)
    : reuse_(options.reuse),
      poison_(static_cast<int>(options.poison)),
      poisoned_bytes_kept_(options.poisoned_bytes_kept) {
  size_ = checked_round_up(std::max(options.address_space_bytes, kSystemPage), kSystemPage);
  base_ = map_inaccessible(size_);
  while (base_ == 0 && size_ > kSmallest) {
    size_ = align_up(size_ / 2, kSystemPage);
    base_ = map_inaccessible(size_);
  }
  if (base_ == 0) {
    device::throw_out_of_memory("sim::Machine", "no address space", size_, 0, size_);
  }
  next_ = base_;
}

Arena::~Arena() {
  munmap(to_pointer(base_), size_);
}

Address Arena::take(std::uint64_t bytes, std::uint64_t alignment) {
  if (const Address hole = take_hole(bytes, alignment)) return hole;
  const Address address = align_up(next_, alignment);
  const Address end = base_ + size_;
  if (address > end || bytes > end - address) return 0;
  if (address > next_) add_hole(next_, address - next_);
  next_ = address + bytes;
  return address;
}

Address Arena::take_hole(std::uint64_t bytes, std::uint64_t alignment) {
  // The hole around the address freed last comes first, then the smallest that fits.
  auto latest = holes_.upper_bound(freed_last_);
  if (latest != holes_.begin()) {
    --latest;
    const Address end = latest->first + latest->second;
    const bool fits =
        freed_last_ % alignment == 0 && freed_last_ < end && bytes <= end - freed_last_;
    if (fits) {
      const Address address = freed_last_;
      cut_hole(latest->first, address, bytes);
      return address;
    }
  }
  for (auto hole = holes_by_size_.lower_bound({bytes, 0}); hole != holes_by_size_.end(); ++hole) {
    const Address address = align_up(hole->second, alignment);
    if (address - hole->second > hole->first - bytes) continue;
    cut_hole(hole->second, address, bytes);
    return address;
  }
  return 0;
}

void Arena::cut_hole(Address hole, Address address, std::uint64_t bytes) {
  const auto found = holes_.find(hole);
  const Address end = hole + found->second;
  erase_hole(found);
  if (address > hole) add_hole(hole, address - hole);
  if (end > address + bytes) add_hole(address + bytes, end - address - bytes);
}

void Arena::add_hole(Address address, std::uint64_t bytes) {
  if (reuse_ == AddressReuse::never) return;
  holes_.emplace(address, bytes);
  holes_by_size_.emplace(bytes, address);
}

void Arena::erase_hole(std::map<Address, std::uint64_t>::iterator hole) {
  holes_by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

void Arena::give_back(Address address, std::uint64_t bytes) noexcept {
  freed_last_ = address;
  if (reuse_ == AddressReuse::never) return;
  auto after = holes_.lower_bound(address);
  if (after != holes_.end() && after->first == address + bytes) {
    bytes += after->second;
    erase_hole(after);
  }
  auto before = holes_.lower_bound(address);
  if (before != holes_.begin()) {
    --before;
    if (before->first + before->second == address) {
      address = before->first;
      bytes += before->second;
      erase_hole(before);
    }
  }
  add_hole(address, bytes);
}

bool Arena::open(Address address, std::uint64_t bytes) noexcept {
  poisoned_.remove(address, address + bytes);
  return mprotect(to_pointer(address), bytes, PROT_READ | PROT_WRITE) == 0;
}

void Arena::retire(Address address, std::uint64_t bytes) noexcept {
  poison_touched(address, bytes);
  give_back(address, bytes);
  limit_poison();
}

void Arena::poison_touched(Address address, std::uint64_t bytes) noexcept {
  std::array<unsigned char, 4096> touched = {};
  Address at = address;
  const Address end = address + bytes;
  while (at < end) {
    const std::uint64_t chunk = std::min(end - at, touched.size() * kSystemPage);
    if (mincore(to_pointer(at), chunk, touched.data()) != 0) touched.fill(0);
    const std::size_t pages = chunk / kSystemPage;
    for (std::size_t i = 0; i < pages;) {
      const std::size_t first = i;
      const bool was_touched = (touched[first] & 1u) != 0;
      while (i < pages && ((touched[i] & 1u) != 0) == was_touched) ++i;
      const Address run = at + first * kSystemPage;
      const std::uint64_t run_bytes = (i - first) * kSystemPage;
      if (was_touched) {
        std::memset(to_pointer(run), poison_, run_bytes);
        poisoned_.add(run, run + run_bytes);
        poison_queue_.emplace_back(run, run + run_bytes);
        queued_poison_ += run_bytes;
      } else {
        close(run, run_bytes);
      }
    }
    at += chunk;
  }
}

void Arena::close(Address address, std::uint64_t bytes) noexcept {
  // Refused only when the process has too many mappings: the range then stays readable, as zeros.
  [[maybe_unused]] const int result = mprotect(to_pointer(address), bytes, PROT_NONE);
}

void Arena::limit_poison() noexcept {
  while (queued_poison_ > poisoned_bytes_kept_) {
    const auto [begin, end] = poison_queue_.front();
    poison_queue_.pop_front();
    queued_poison_ -= end - begin;
    // Parts that were handed out again, or dropped before, are not poison any more.
    Address at = begin;
    while (at < end) {
      const Address poison_end = poisoned_.first_missing(at, end);
      if (poison_end > at) {
        madvise(to_pointer(at), poison_end - at, MADV_DONTNEED);
        close(at, poison_end - at);
        poisoned_.remove(at, poison_end);
        at = poison_end;
      } else {
        at += kSystemPage;
      }
    }
  }
}

bool Arena::is_poisoned(Address address, std::uint64_t bytes) const {
  return poisoned_.first_missing(address, address + bytes) == address + bytes;
}

}  // namespace strandline::sim
