// SPDX-License-Identifier: Apache-2.0
// Mapped regions, their account, and what the system says about memory.
#include "device/host/host_state.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include <sys/mman.h>
#include <unistd.h>

#include "device/checks.h"

namespace strandline::device {

std::uint64_t system_page_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t machine_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * system_page_bytes();
}

std::uint64_t available_memory_bytes() {
  std::ifstream meminfo("/proc/meminfo");
  std::string key;
  std::uint64_t kib = 0;
  std::string unit;
  while (meminfo >> key >> kib >> unit) {
    if (key == "MemAvailable:") return kib * 1024;
  }
  return machine_memory_bytes();
}

void HostAccount::charge(const char* function, std::uint64_t bytes) {
  std::uint64_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > capacity_ - used) {
      throw_out_of_memory(function, "host memory", bytes, capacity_ - used, capacity_);
    }
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

HostRegion::HostRegion(std::shared_ptr<HostAccount> account, std::uint64_t bytes,
                       std::uint64_t alignment)
    : account_(std::move(account)) {
  constexpr const char* kFunction = "Memory::allocate";
  const std::uint64_t page = system_page_bytes();
  mapped_bytes_ = checked_round_up(bytes, page);
  account_->charge(kFunction, mapped_bytes_);
  // A larger alignment than a page: map more, then give the ends back.
  const std::uint64_t extra = alignment > page ? alignment - page : 0;
  void* const mapped = mmap(nullptr, mapped_bytes_ + extra, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) {  // NOLINT(performance-no-int-to-ptr)
    const std::uint64_t available = account_->free_bytes();
    account_->refund(mapped_bytes_);
    throw_out_of_memory(kFunction, std::strerror(errno), bytes, available_memory_bytes(),
                        available);
  }
  const Address start = to_address(mapped);
  address_ = (start + alignment - 1) / alignment * alignment;
  const std::uint64_t head = address_ - start;
  if (head > 0) munmap(mapped, head);
  if (extra > head) munmap(to_pointer(address_ + mapped_bytes_), extra - head);
}

HostRegion::~HostRegion() {
  munmap(to_pointer(address_), mapped_bytes_);
  account_->refund(mapped_bytes_);
}

void HostState::bind(Operation& operation) {
  const auto keep = [&](BufferId id) {
    mutex.assert_held();
    const auto found = buffers.find(id);
    if (found == buffers.end()) {
      throw_invalid(operation.work.name, "buffer", std::to_string(id.value), "a living buffer");
    }
    operation.keeps.push_back(found->second);
    return found->second.get();
  };
  for (const Access& access : operation.work.accesses) {
    const Slice& slice = access.slice;
    if (!slice.buffer) continue;
    const HostBuffer* buffer = keep(slice.buffer);
    const bool inside = slice.address >= buffer->address && slice.size <= buffer->size &&
                        slice.address - buffer->address <= buffer->size - slice.size;
    if (!inside) {
      throw_invalid(
          operation.work.name, "slice", fmt::format("{:#x} + {} bytes", slice.address, slice.size),
          fmt::format("bytes of the buffer at {:#x} + {} bytes", buffer->address, buffer->size));
    }
  }
  for (const BufferId id : operation.work.binds) keep(id);
}

}  // namespace strandline::device
