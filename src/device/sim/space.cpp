// SPDX-License-Identifier: Apache-2.0
// Allocations and buffer objects of a machine.
#include "device/sim/space.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "device/checks.h"

namespace strandline::sim {

using device::Address;
using device::BufferId;
using device::DeviceIndex;
using device::FreeStatus;
using device::Placement;

namespace {

bool is_charged(Placement placement) {
  return placement == Placement::device || placement == Placement::managed;
}

bool inside(const device::Slice& slice, Address address, std::uint64_t size) {
  return slice.address >= address && slice.size <= size &&
         slice.address - address <= size - slice.size;
}

}  // namespace

Block::~Block() {
  space.end_block(*this);
}

Space::Space(const MachineOptions& options, std::vector<device::Facts> facts) : arena_(options) {
  const std::size_t count = facts.size();
  for (device::Facts& one : facts) {
    accounts_.push_back({.facts = std::move(one), .peers = std::vector<bool>(count, false)});
  }
  pages_file_ = memfd_create("strandline-sim-pages", MFD_CLOEXEC);
  constexpr off_t kSparse = off_t{1} << 46;
  if (pages_file_ < 0 || ftruncate(pages_file_, kSparse) != 0) {
    const int error = errno;
    if (pages_file_ >= 0) ::close(pages_file_);
    device::throw_device("sim::Machine", "no file for physical pages", std::strerror(error),
                         "memfd_create and ftruncate to work");
  }
}

Space::~Space() {
  buffers_.clear();
  ::close(pages_file_);
}

void Space::charge(Account& account, const Block& block) {
  constexpr const char* kFunction = "Memory::allocate";
  const device::Facts& facts = account.facts;
  if (facts.max_buffers > 0 && live_buffers_ >= facts.max_buffers) {
    throw OutOfMemory(
        error_message(kFunction, "buffer objects", fmt::format("{} living", live_buffers_),
                      fmt::format("fewer than {}", facts.max_buffers)),
        block.size, 0, facts.max_buffers);
  }
  if (block.placement == Placement::pinned_host &&
      block.cost > facts.max_pinned_bytes - account.pinned) {
    device::throw_out_of_memory(kFunction, "pinned memory", block.size,
                                facts.max_pinned_bytes - account.pinned, facts.max_pinned_bytes);
  }
  if (is_charged(block.placement) && block.cost > facts.total_bytes - account.used) {
    device::throw_out_of_memory(kFunction, "device memory", block.size,
                                facts.total_bytes - account.used, facts.total_bytes);
  }
  if (block.placement == Placement::pinned_host) account.pinned += block.cost;
  if (is_charged(block.placement)) account.used += block.cost;
}

device::Allocation Space::allocate(DeviceIndex index, std::uint64_t bytes, Placement placement,
                                   std::uint64_t alignment) {
  auto block = std::make_shared<Block>(*this);
  auto buffer = std::make_shared<Buffer>();
  const LockGuard lock(mutex_);
  Account& owner = account(index);
  block->device = index;
  block->placement = placement;
  block->size = bytes;
  block->range = checked_round_up(bytes, kSystemPage);
  block->cost = checked_round_up(bytes, owner.facts.allocation_granularity);
  charge(owner, *block);
  block->address = arena_.take(block->range, std::max(alignment, kSystemPage));
  const bool opened = block->address != 0 && arena_.open(block->address, block->range);
  if (!opened) {
    if (block->address != 0) arena_.give_back(block->address, block->range);
    if (is_charged(placement)) owner.used -= block->cost;
    if (placement == Placement::pinned_host) owner.pinned -= block->cost;
    device::throw_out_of_memory("Memory::allocate", "address space or mappings of the process",
                                bytes, 0, arena_.size());
  }
  block->is_open = true;
  block->buffer = BufferId{++last_id_};
  if (!is_charged(placement)) block->written.add(block->address, block->address + bytes);
  *buffer = {block->buffer, block->address, bytes, block};
  blocks_.emplace(block->address, block.get());
  buffers_.emplace(buffer->id, buffer);
  ++live_buffers_;
  return {block->address, bytes, block->buffer};
}

void Space::end_block(Block& block) noexcept {
  if (!block.is_open) return;
  const LockGuard lock(mutex_);
  blocks_.erase(block.address);
  arena_.retire(block.address, block.range);
  Account& owner = account(block.device);
  if (is_charged(block.placement)) owner.used -= block.cost;
  if (block.placement == Placement::pinned_host) owner.pinned -= block.cost;
  if (block.resident) owner.resident -= block.cost;
}

FreeStatus Space::deallocate(DeviceIndex index, Address address,
                             std::shared_ptr<Buffer>& dying) noexcept {
  const LockGuard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second->freed || found->second->device != index) {
    return FreeStatus::unknown;
  }
  Block& block = *found->second;
  block.freed = true;
  if (block.resident) {
    account(index).resident -= block.cost;
    block.resident = false;
  }
  const auto buffer = buffers_.find(block.buffer);
  dying = std::move(buffer->second);
  buffers_.erase(buffer);
  --live_buffers_;
  return FreeStatus::freed;
}

BufferId Space::wrap(DeviceIndex index, Address address, std::uint64_t bytes) {
  constexpr const char* kFunction = "Memory::wrap";
  const LockGuard lock(mutex_);
  const device::Facts& facts = account(index).facts;
  const Block* block = block_at(address);
  if (block == nullptr || block->freed ||
      !inside({address, bytes, {}}, block->address, block->size)) {
    device::check_multiple(kFunction, "address", address, facts.no_copy_alignment);
    device::check_multiple(kFunction, "size", bytes, facts.no_copy_alignment);
  }
  if (facts.max_buffers > 0 && live_buffers_ >= facts.max_buffers) {
    throw OutOfMemory(
        error_message(kFunction, "buffer objects", fmt::format("{} living", live_buffers_),
                      fmt::format("fewer than {}", facts.max_buffers)),
        bytes, 0, facts.max_buffers);
  }
  const BufferId id{++last_id_};
  buffers_.emplace(id, std::make_shared<Buffer>(Buffer{id, address, bytes, nullptr}));
  ++live_buffers_;
  return id;
}

FreeStatus Space::release_buffer(BufferId buffer, std::shared_ptr<Buffer>& dying) noexcept {
  const LockGuard lock(mutex_);
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end() || found->second->block != nullptr) return FreeStatus::unknown;
  dying = std::move(found->second);
  buffers_.erase(found);
  --live_buffers_;
  return FreeStatus::freed;
}

Block* Space::block_at(Address address) const {
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin()) return nullptr;
  --found;
  return address - found->first < found->second->range ? found->second : nullptr;
}

void Space::make_resident(DeviceIndex index, Address address) {
  constexpr const char* kFunction = "Memory::make_resident";
  const LockGuard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second->freed || found->second->device != index) {
    device::throw_invalid(kFunction, "address", fmt::format("{:#x}", address),
                          "an allocation's start");
  }
  Block& block = *found->second;
  Account& owner = account(index);
  if (block.resident) return;
  if (block.cost > owner.facts.working_set_bytes - owner.resident) {
    device::throw_out_of_memory(kFunction, "resident memory", block.cost,
                                owner.facts.working_set_bytes - owner.resident,
                                owner.facts.working_set_bytes);
  }
  block.resident = true;
  owner.resident += block.cost;
}

FreeStatus Space::end_residency(DeviceIndex index, Address address) noexcept {
  const LockGuard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second->freed || found->second->device != index) {
    return FreeStatus::unknown;
  }
  if (found->second->resident) account(index).resident -= found->second->cost;
  found->second->resident = false;
  return FreeStatus::freed;
}

device::MemoryInfo Space::info(DeviceIndex index) const {
  const LockGuard lock(mutex_);
  const Account& owner = accounts_[index.value];
  return {owner.facts.total_bytes - owner.used, owner.facts.total_bytes};
}

void Space::bind(device::Operation& operation) const {
  const LockGuard lock(mutex_);
  const auto keep = [&](BufferId id) STRANDLINE_NO_LOCK_ANALYSIS {
    const auto found = buffers_.find(id);
    if (found == buffers_.end()) {
      device::throw_invalid(operation.work.name, "buffer", std::to_string(id.value),
                            "a living buffer");
    }
    operation.keeps.push_back(found->second);
    return found->second.get();
  };
  for (const device::Access& access : operation.work.accesses) {
    if (!access.slice.buffer) continue;
    const Buffer* buffer = keep(access.slice.buffer);
    if (inside(access.slice, buffer->address, buffer->size)) continue;
    device::throw_invalid(
        operation.work.name, "slice",
        fmt::format("{:#x} + {} bytes", access.slice.address, access.slice.size),
        fmt::format("bytes of the buffer at {:#x} + {} bytes", buffer->address, buffer->size));
  }
  for (const BufferId id : operation.work.binds) keep(id);
}

BufferId Space::ordering_buffer(const device::Slice& slice) const {
  if (slice.buffer) return slice.buffer;
  const LockGuard lock(mutex_);
  if (const Block* block = block_at(slice.address)) return block->buffer;
  // Mapped memory is ordered as one object per reservation; other addresses each by themselves.
  const Address reservation = table_.reservation_of(slice.address, 1);
  return BufferId{reservation != 0 ? reservation : slice.address};
}

std::uint64_t Space::poisoned_bytes() const {
  const LockGuard lock(mutex_);
  return arena_.poisoned_bytes();
}

}  // namespace strandline::sim
