// SPDX-License-Identifier: Apache-2.0
// The public calls of allocators, but for limits and state (core_state.cpp).
#include "alloc/core.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "alloc/faults.h"
#include "strandline/core/error.h"

namespace strandline::alloc {

using device::Address;
using device::FreeStatus;
using device::Placement;

namespace {

void* to_pointer(Address address) noexcept {
  return reinterpret_cast<void*>(address);
}

Address to_address(const void* pointer) noexcept {
  return reinterpret_cast<Address>(pointer);
}

std::string hex(Address address) {
  return fmt::format("{:#x}", address);
}

}  // namespace

Core::Core(std::string_view name, device::Device& device, Placement placement, const Limits& limits,
           BlockTable table)
    : device_(device),
      facts_(device.facts()),
      placement_(placement),
      table_(std::move(table)),
      limits_(limits),
      name_(name),
      gc_cap_bytes_(limits.gc_bytes) {
  if (!facts_.has(placement)) {
    throw InvalidArgument(error_message(name, "placement", device::placement_name(placement),
                                        "one that Facts::supports names"));
  }
  limits_.gc_bytes = std::min(gc_cap_bytes_, limits.memory.bytes);
  if (limits.memory.rule == LimitRule::hard) hard_limit_ = limits.memory.bytes;
}

std::string Core::describe(std::string_view call) const {
  return fmt::format("{}::{}", name_, call);
}

// -- malloc ---------------------------------------------------------------------------------------

inline Block* Core::malloc_now(const Request& request) {
  {
    const StateGuard guard(lock_);
    if (Block* block = do_take(request)) [[likely]] {
      return block;
    }
  }
  return obtain_new(request);
}

Buffer Core::malloc(std::uint64_t bytes, const MallocOptions& options) {
  if (bytes == 0 && !is_on(Fault::R11_requests_of_no_bytes_reach_the_device)) return {};
  if (options.alignment != 0 || !knows(options.stream)) [[unlikely]] {
    check_options(options);
  }
  Request request{bytes, options.alignment, options.stream};
  const bool attended = attention_.load(std::memory_order_relaxed) != 0;
  if (attended) [[unlikely]] {
    do_prepare(request);
  }
  const Block* block = record::recording() ? malloc_recorded(request) : malloc_now(request);
  const Buffer buffer(to_pointer(block->address), owner_);
  if (attended) [[unlikely]] {
    do_settle();
  }
  return buffer;
}

Block* Core::obtain_new(const Request& request) {
  try {
    return &do_obtain(request);
  } catch (const std::bad_alloc&) {
    throw_out_of_memory("the host has no memory for the books", request, 0, 0);
  }
}

// Outside an op the stack is this thread's own. It is gathered here, since gathering may run
// foreign code, which must not happen under the lock.
Block* Core::malloc_recorded(const Request& request) {
  if (record::thread_state().scope != nullptr) return malloc_now(request);
  const record::OpContext context{.traceback = record::recorder().capture(),
                                  .label = record::thread_state().label};
  const record::OpScope scope(context);
  return malloc_now(request);
}

void Core::check_options(const MallocOptions& options) {
  const std::uint64_t alignment = options.alignment;
  if (alignment != 0 && (!std::has_single_bit(alignment) || alignment > facts_.max_alignment)) {
    throw InvalidArgument(
        error_message(describe("malloc"), "alignment", std::to_string(alignment),
                      fmt::format("a power of two up to {}", facts_.max_alignment)));
  }
  if (options.stream) check_stream("malloc", options.stream);
}

void Core::check_stream(const char* function, StreamId stream) {
  if (knows(stream)) return;
  try {
    // The one question about a stream that a capture of it survives.
    (void)device_.capture().info(stream);
  } catch (const InvalidArgument&) {
    throw InvalidArgument(error_message(describe(function), "stream", std::to_string(stream.value),
                                        fmt::format("a stream of {}", facts_.name)));
  }
  known_streams_[stream.value % known_streams_.size()].store(stream.value,
                                                             std::memory_order_relaxed);
}

// -- free -----------------------------------------------------------------------------------------

FreeStatus Core::try_free(Buffer buffer) noexcept {
  if (!buffer) return FreeStatus::freed;
  Departures out;
  bool more = false;
  Block* deferred = nullptr;
  {
    const StateGuard guard(lock_);
    Block* block = table_.find(buffer.address());
    const bool ours = block != nullptr && block->use == BlockUse::allocated &&
                      block->kind != BlockKind::wrapped && buffer.allocator() == owner_;
    if (!ours) [[unlikely]] {
      return misuse("free", buffer.address());
    }
    if (block->has_uses) [[unlikely]] {
      defer(*block);
      deferred = block;
    } else {
      take_back(*block);
      more = !do_put(*block, out);
    }
  }
  if (deferred != nullptr) [[unlikely]] {
    do_deferred(*deferred);
  }
  if (!out.empty()) [[unlikely]] {
    depart(out);
    if (more) trim_rest();
  }
  if (attention_.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    do_settle();
  }
  return FreeStatus::freed;
}

void Core::defer(Block& block) noexcept {
  end_allocation(block);
  block.use = BlockUse::pending;
  pending_bytes_ += block.size;
  pending_requested_ += block.requested;
  ++pending_count_;
  do_defer(block);
}

FreeStatus Core::misuse(const char* function, Address address) noexcept {
  if (refused_frees_.fetch_add(1, std::memory_order_relaxed) == 0) {
    std::fprintf(stderr,
                 "strandline: %s: %s of %#llx, which it has not handed out; further ones are "
                 "counted only\n",
                 name_.c_str(), function, static_cast<unsigned long long>(address));
  }
  return FreeStatus::unknown;
}

void Core::trim_rest() noexcept {
  for (bool more = true; more;) {
    Departures out;
    {
      const StateGuard guard(lock_);
      more = !do_trim(out);
    }
    if (depart(out).refused > 0) return;  // what is refused is kept: another time
  }
}

// -- what a buffer is -----------------------------------------------------------------------------

void Core::throw_unknown(const char* function, Buffer buffer) const {
  throw InvalidArgument(error_message(describe(function), "buffer", hex(buffer.address()),
                                      "one that this allocator has handed out"));
}

const Block& Core::known(const char* function, Buffer buffer) const {
  const Block* block = table_.find(buffer.address());
  const bool ours =
      block != nullptr && block->use == BlockUse::allocated && buffer.allocator() == owner_;
  if (!ours) throw_unknown(function, buffer);
  return *block;
}

device::Slice Core::slice(Buffer buffer) const {
  if (!buffer) return {};
  const StateGuard guard(lock_);
  const Block& block = known("size", buffer);
  return {block.address, block.size, block.buffer};
}

void Core::note_write(Buffer buffer, StreamId stream) {
  if (!buffer || !stream) return;
  check_stream("note_write", stream);
  const StateGuard guard(lock_);
  const Block& block = known("note_write", buffer);
  if (block.stream == stream) return;
  std::vector<StreamId>& streams = writers_[block.address];
  if (std::find(streams.begin(), streams.end(), stream) == streams.end()) streams.push_back(stream);
  table_.find(block.address)->has_writers = true;
}

void* Core::raw_ptr(Buffer buffer) const {
  if (!buffer) return nullptr;
  std::vector<StreamId> streams;
  BlockKind kind = BlockKind::whole;
  {
    const StateGuard guard(lock_);
    const Block& block = known("raw_ptr", buffer);
    kind = block.kind;
    if (block.has_writers) streams = *writers_.find(block.address);
    if (block.stream) streams.push_back(block.stream);
  }
  if (hides_memory() && kind != BlockKind::wrapped) {
    throw InvalidArgument(error_message(describe("raw_ptr"), "buffer", hex(buffer.address()),
                                        "memory that the host reaches"));
  }
  for (const StreamId stream : streams) {
    try {
      device_.streams().wait(stream);
    } catch (const InvalidArgument&) {  // the stream has ended, and its work before it
    }
  }
  return buffer.ptr();
}

// -- wrapped memory -------------------------------------------------------------------------------

bool Core::can_wrap(const void* memory, std::uint64_t bytes) const noexcept {
  const std::uint64_t unit = facts_.no_copy_alignment;
  return facts_.supports.no_copy_buffers && to_address(memory) % unit == 0 && bytes % unit == 0;
}

void Core::check_wrap(const void* memory, std::uint64_t bytes) const {
  const std::string function = describe("make_buffer");
  if (memory == nullptr) {
    throw InvalidArgument(error_message(function, "memory", "null", "memory that exists"));
  }
  if (bytes == 0 || to_address(memory) + bytes < to_address(memory)) {
    throw InvalidArgument(error_message(function, "size", fmt::format("{} bytes", bytes),
                                        "at least 1, and an end below 2^64"));
  }
  if (can_wrap(memory, bytes)) return;
  throw InvalidArgument(error_message(
      function, fmt::format("{} cannot wrap this memory", facts_.name),
      fmt::format("{} bytes at {}", bytes, hex(to_address(memory))),
      facts_.supports.no_copy_buffers
          ? fmt::format("address and size in multiples of {}", facts_.no_copy_alignment)
          : std::string("a device whose Facts say no_copy_buffers")));
}

// A record that holds the address while the device is asked; null at the limit of buffers.
Block* Core::list_wrapped(Address address) {
  for (;;) {
    Departures out;
    {
      const StateGuard guard(lock_);
      const Block* there = table_.find(address);
      if (there != nullptr &&
          (there->use != BlockUse::leaving || there->kind == BlockKind::wrapped)) {
        throw InvalidArgument(
            error_message(describe("make_buffer"), "memory",
                          fmt::format("{}, {}", hex(address),
                                      there->kind == BlockKind::wrapped ? "wrapped before"
                                                                        : "this allocator's own"),
                          "memory that is wrapped once and is not the allocator's"));
      }
      if (there != nullptr) settle_overlapped(address, 1);
      if (staying_buffers() < limits_.buffers) {
        Block& block = table_.add(address);
        block.kind = BlockKind::wrapped;
        ++buffers_;
        return &block;
      }
      do_evict(1, out);
    }
    if (depart(out).bytes == 0) return nullptr;
  }
}

Buffer Core::make_buffer(void* memory, std::uint64_t bytes) {
  check_wrap(memory, bytes);
  const Request request{.bytes = bytes, .alignment = 0, .stream = {}};
  Block* block = nullptr;
  try {
    block = list_wrapped(to_address(memory));
  } catch (const std::bad_alloc&) {
    throw_out_of_memory("the host has no memory for the books", request, 0, 0);
  }
  if (block == nullptr) throw_buffer_limit(request);
  device::BufferId id;
  try {
    id = device_.memory().wrap(to_address(memory), bytes);
  } catch (const OutOfMemory& refusal) {
    drop_wrapped(*block);
    throw_out_of_memory(refusal.what(), request, refusal.available, refusal.limit);
  } catch (...) {
    drop_wrapped(*block);
    throw;
  }
  const auto finish = [&] {
    const StateGuard guard(lock_);
    block->buffer = id;
    block->size = bytes;
    add_reserved(*block);
    hand_out(*block, request, record::Action::alloc_external);
  };
  if (record::recording() && record::thread_state().scope == nullptr) {
    const record::OpContext context{.traceback = record::recorder().capture(),
                                    .label = record::thread_state().label};
    const record::OpScope scope(context);
    finish();
  } else {
    finish();
  }
  return {memory, owner_};
}

void Core::drop_wrapped(Block& block) noexcept {
  const StateGuard guard(lock_);
  --buffers_;
  table_.remove(block);
}

FreeStatus Core::release(Buffer buffer) noexcept {
  if (!buffer) return FreeStatus::freed;
  Block* block = nullptr;
  {
    const StateGuard guard(lock_);
    block = table_.find(buffer.address());
    const bool ours = block != nullptr && block->use == BlockUse::allocated &&
                      block->kind == BlockKind::wrapped && buffer.allocator() == owner_;
    if (!ours) return misuse("release", buffer.address());
    block->use = BlockUse::leaving;  // a second release finds nothing to end
  }
  const FreeStatus status = device_.memory().release_buffer(block->buffer);
  const StateGuard guard(lock_);
  if (status == FreeStatus::refused) {
    refused_frees_.fetch_add(1, std::memory_order_relaxed);
    block->use = BlockUse::allocated;
    return status;
  }
  take_back(*block);
  note_free(*block, record::Action::release_external);
  forget(*block);
  return FreeStatus::freed;
}

}  // namespace strandline::alloc
