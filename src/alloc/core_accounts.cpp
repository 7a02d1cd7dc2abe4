// SPDX-License-Identifier: Apache-2.0
// The books of an allocator: handing out and taking back, the record of both, and memory on its way
// back to the device.
#include <algorithm>
#include <optional>

#include "alloc/core.h"

namespace strandline::alloc {

using device::Address;
using device::FreeStatus;
using record::Action;

namespace {

// Events name streams by a number of the recorder's own table.
StreamId recorded(StreamId stream) noexcept {
  if (!stream) return {};
  try {
    return record::recorder().tables().streams.intern(stream.value);
  } catch (...) {  // no memory for one more: the event goes without
    return {};
  }
}

// And pools as PyTorch does, by two numbers of which the second counts.
PoolId recorded(PoolId pool) noexcept {
  if (!pool) return {};
  try {
    return record::recorder().tables().pools.intern(0, pool.value);
  } catch (...) {
    return {};
  }
}

}  // namespace

void Core::add_reserved(Block& block) noexcept {
  reserved_ += block.size;
  peak_reserved_ = std::max(peak_reserved_, reserved_);
  if (block.kind == BlockKind::wrapped) return;  // counted when its address was taken
  ++buffers_;
  ++device_mallocs_;
}

// -- the record -----------------------------------------------------------------------------------

void Core::note_handed_out(Block& block, Action action) noexcept {
  // Recording began after malloc looked: the stack is not gathered any more, see malloc_recorded.
  const record::OpContext nothing{.label = record::thread_state().label};
  std::optional<record::OpScope> scope;
  if (record::thread_state().scope == nullptr) scope.emplace(nothing);
  record::recorder().note_alloc({.action = action,
                                 .address = block.address,
                                 .size = block.size,
                                 .requested = block.requested,
                                 .stream = recorded(block.stream),
                                 .pool = recorded(do_pool(block)),
                                 .device = device_number()});
  block.in_record = true;
}

void Core::note_freed(Block& block, Action action) noexcept {
  record::recorder().note_free(
      {.action = action, .address = block.address, .size = block.size, .device = device_number()});
}

void Core::note_segment(Block& block, Action action) noexcept {
  if (!record::recording() && !block.in_record) return;
  record::recorder().note_segment(action, block.address, block.size, recorded(block.stream),
                                  recorded(do_pool(block)), device_number());
  block.in_record = true;
}

void Core::begin_recording(record::InitialState& state) {
  table_.for_each([&](Block& block) STRANDLINE_NO_LOCK_ANALYSIS {
    if (block.in_record || block.kind == BlockKind::region || block.use == BlockUse::unused) return;
    if (block.use == BlockUse::allocated || block.use == BlockUse::pending) {
      state.blocks.push_back({.address = block.address,
                              .size = block.size,
                              .requested = block.requested,
                              .stream = recorded(block.stream),
                              .pool = recorded(do_pool(block)),
                              .device = device_number()});
      block.in_record = true;
    } else if (block.kind == BlockKind::whole) {
      state.cached_bytes += block.size;
      block.in_record = true;
    }
  });
}

// -- back to the device ---------------------------------------------------------------------------

void Core::forget_writers(Block& block) noexcept {
  writers_.erase(block.address);
  block.has_writers = false;
}

void Core::send_off(Block& block, bool is_wired, Departures& out) noexcept {
  block.use = BlockUse::leaving;
  block.previous = nullptr;
  block.next = leaving_;
  if (leaving_ != nullptr) leaving_->previous = &block;
  leaving_ = &block;
  leaving_bytes_ += block.size;
  ++leaving_buffers_;
  out.add(block, is_wired);
}

void Core::unlink(Block& block) noexcept {
  (block.previous == nullptr ? leaving_ : block.previous->next) = block.next;
  if (block.next != nullptr) block.next->previous = block.previous;
  block.next = nullptr;
  block.previous = nullptr;
  leaving_bytes_ -= block.size;
  --leaving_buffers_;
}

void Core::forget(Block& block) noexcept {
  reserved_ -= block.size;
  --buffers_;
  do_forget(block);
  table_.remove(block);
}

bool Core::settle(Block& block, FreeStatus status) noexcept {
  unlink(block);
  if (status == FreeStatus::refused) {
    refused_frees_.fetch_add(1, std::memory_order_relaxed);
    do_keep(block);
    return false;
  }
  if (block.kind == BlockKind::region) {
    note_segment(block, Action::segment_free);
  } else if (block.was_freed) {
    note_free(block, Action::free_to_device);
  } else {
    note_segment(block, Action::cache_to_device);
  }
  forget(block);
  return true;
}

void Core::settle_overlapped(Address address, std::uint64_t size) noexcept {
  for (Block* block = leaving_; block != nullptr;) {
    Block& one = *block;
    block = block->next;
    const bool overlaps =
        one.address < address ? address - one.address < one.size : one.address - address < size;
    if (overlaps) settle(one, FreeStatus::freed);
  }
}

void Core::drop_stale(Address address) noexcept {
  Block* stale = table_.find(address);
  if (stale != nullptr) drop(*stale);
}

void Core::drop(Block& stale) noexcept {
  refused_frees_.fetch_add(1, std::memory_order_relaxed);
  if (stale.use == BlockUse::allocated) {
    take_back(stale);
    note_free(stale, Action::release_external);
  }
  forget(stale);
}

Core::Departed Core::depart(const Departures& out) noexcept {
  Departed departed;
  device::Memory& memory = device_.memory();
  for (const Departures::One& one : out) {
    if (one.is_wired) (void)memory.end_residency(one.address);
    const FreeStatus status = memory.deallocate(one.address);
    const StateGuard guard(lock_);
    Block& block = *one.block;
    // Another thread may have been given the bytes, and settled this already.
    const bool settled = block.serial != one.serial || block.use != BlockUse::leaving;
    if (settled || settle(block, status)) {
      departed.bytes += one.bytes;
    } else {
      ++departed.refused;
    }
  }
  return departed;
}

}  // namespace strandline::alloc
