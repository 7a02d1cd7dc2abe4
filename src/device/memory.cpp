// SPDX-License-Identifier: Apache-2.0
// The checks around memory calls.
#include "strandline/device/memory.h"

#include <bit>

#include "device/checks.h"

namespace strandline::device {

namespace {

void check_size(const char* function, std::uint64_t bytes, const Facts& facts) {
  check_positive(function, bytes);
  if (bytes <= facts.max_allocation_bytes) return;
  throw_out_of_memory(function, "more than one allocation can have", bytes,
                      facts.max_allocation_bytes, facts.total_bytes);
}

}  // namespace

Allocation Memory::allocate(std::uint64_t bytes, const AllocateOptions& options) {
  constexpr const char* kFunction = "Memory::allocate";
  if (!facts_.has(options.placement)) {
    throw_invalid(kFunction, "placement", placement_name(options.placement),
                  "one that Facts::supports names");
  }
  const std::uint64_t alignment =
      options.alignment == 0 ? facts_.allocation_alignment : options.alignment;
  if (!std::has_single_bit(alignment) || alignment > facts_.max_alignment) {
    throw_invalid(kFunction, "alignment", std::to_string(options.alignment),
                  fmt::format("a power of two up to {}", facts_.max_alignment));
  }
  check_size(kFunction, bytes, facts_);
  gate_.pass(Call::allocate);
  return do_allocate(bytes, options.placement, alignment);
}

FreeStatus Memory::deallocate(Address address) noexcept {
  if (address == 0) return FreeStatus::freed;
  if (!gate_.try_pass(Call::deallocate)) return FreeStatus::refused;
  return do_deallocate(address);
}

Allocation Memory::allocate_ordered(std::uint64_t bytes, StreamId stream) {
  constexpr const char* kFunction = "Memory::allocate_ordered";
  check_supported(facts_.supports.ordered_allocation, kFunction, "ordered_allocation", facts_);
  check_size(kFunction, bytes, facts_);
  gate_.pass(Call::allocate_ordered);
  return do_allocate_ordered(bytes, stream);
}

FreeStatus Memory::deallocate_ordered(Address address, StreamId stream) noexcept {
  if (address == 0) return FreeStatus::freed;
  if (!facts_.supports.ordered_allocation) return FreeStatus::unknown;
  if (!gate_.try_pass(Call::deallocate_ordered)) return FreeStatus::refused;
  return do_deallocate_ordered(address, stream);
}

BufferId Memory::wrap(Address address, std::uint64_t bytes) {
  constexpr const char* kFunction = "Memory::wrap";
  check_supported(facts_.supports.no_copy_buffers, kFunction, "no_copy_buffers", facts_);
  check_positive(kFunction, bytes);
  if (address == 0) throw_invalid(kFunction, "address", "0", "memory that exists");
  check_no_wrap(kFunction, address, bytes);
  gate_.pass(Call::wrap);
  return do_wrap(address, bytes);
}

FreeStatus Memory::release_buffer(BufferId buffer) noexcept {
  if (!buffer) return FreeStatus::freed;
  if (!gate_.try_pass(Call::release_buffer)) return FreeStatus::refused;
  return do_release_buffer(buffer);
}

void Memory::make_resident(Address address) {
  check_supported(facts_.supports.residency, "Memory::make_resident", "residency", facts_);
  gate_.pass(Call::make_resident);
  do_make_resident(address);
}

FreeStatus Memory::end_residency(Address address) noexcept {
  if (!facts_.supports.residency) return FreeStatus::unknown;
  if (!gate_.try_pass(Call::end_residency)) return FreeStatus::refused;
  return do_end_residency(address);
}

MemoryInfo Memory::info() const {
  gate_.pass(Call::memory_info);
  return do_info();
}

}  // namespace strandline::device
