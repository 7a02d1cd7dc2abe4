// SPDX-License-Identifier: Apache-2.0
// One of our allocators beneath MLX, in place of its own. It is asked for before MLX has memory and
// stays for the life of the process; buffers of MLX's own allocator go back to that.
//
//   an MLX buffer of ours   [payload - header]      nothing is stored there, nothing is read
//                                     └─ Buffer::raw_ptr() = pointer + header = payload, at 64
//                                     bytes
//
// MLX's own payloads lie `header` = 8 bytes behind what std::malloc gave, so they never lie at a
// multiple of 16: that tells whose a buffer is. Any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "mlx_api.h"
#include "strandline/alloc/allocator.h"

namespace strandline::mlx_adapter {

/// MLX's allocator and its memory functions, answered by `ours` with MLX's rules.
class ReplacingAllocator final : public mx::allocator::Allocator {
 public:
  ReplacingAllocator(alloc::Allocator& ours, std::uint64_t header_bytes) noexcept
      : ours_(ours), header_bytes_(header_bytes), memory_limit_(ours.limits().memory.bytes) {}

  mx::allocator::Buffer malloc(std::size_t size) override;
  void free(mx::allocator::Buffer buffer) override;
  std::size_t size(mx::allocator::Buffer buffer) const override;
  // make_buffer and release stay as they are, null and nothing: MLX on the CPU then copies foreign
  // memory and calls its deleter at once. Programs rely on that, since an array that shared the
  // memory would follow what is written there later.

  std::size_t active_memory() const noexcept { return ours_.active_bytes(); }
  std::size_t peak_memory() const { return ours_.statistics().peak_active_bytes; }
  void reset_peak_memory() noexcept { ours_.reset_peaks(alloc::PeakReset::to_zero); }
  std::size_t cache_memory() const;
  /// Asked by eval for every node, so without the allocator's lock.
  std::size_t memory_limit() const noexcept {
    return memory_limit_.load(std::memory_order_relaxed);
  }
  std::size_t set_memory_limit(std::size_t bytes);
  std::size_t set_cache_limit(std::size_t bytes);
  std::size_t set_wired_limit(std::size_t bytes) { return ours_.set_wired_limit(bytes); }
  void clear_cache();

  alloc::Allocator& ours() const noexcept { return ours_; }

 private:
  std::uint64_t payload_of(const mx::allocator::Buffer& buffer) const noexcept {
    return reinterpret_cast<std::uint64_t>(buffer.ptr()) + header_bytes_;
  }
  mx::allocator::Buffer buffer_at(const void* payload) const noexcept;

  alloc::Allocator& ours_;
  const std::uint64_t header_bytes_;
  std::atomic<std::size_t> memory_limit_;
};

/// Where the payload of every buffer of 0 bytes is: no memory of anybody.
const void* empty_payload() noexcept;

/// From now on, or from MLX's first call on, its memory comes from `ours`, which is kept for ever.
/// Throws InvalidArgument when MLX has had memory of its own or another allocator is in force.
void replace_allocator(std::shared_ptr<alloc::Allocator> ours);
/// What replace_allocator was given; null when MLX uses its own.
alloc::Allocator* replaced_by() noexcept;
/// Why what was asked for did not come into force; empty when it did, or nothing was asked for.
std::string replacement_refused();

namespace detail {
extern std::atomic<ReplacingAllocator*> g_replacement;
extern std::atomic<bool> g_wanted;
ReplacingAllocator* begin_replacement() noexcept;
}  // namespace detail

/// Null while MLX uses its own allocator. For hooks alone: libmlx is loaded.
inline ReplacingAllocator* replacement() noexcept {
  ReplacingAllocator* known = detail::g_replacement.load(std::memory_order_acquire);
  if (known != nullptr || !detail::g_wanted.load(std::memory_order_relaxed)) return known;
  return detail::begin_replacement();
}

}  // namespace strandline::mlx_adapter
