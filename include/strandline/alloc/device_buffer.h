// SPDX-License-Identifier: Apache-2.0
// A buffer that owns its memory and frees it where it came from.
#pragma once

#include <cstdint>
#include <utility>

#include "strandline/alloc/allocator.h"
#include "strandline/core/export.h"

namespace strandline::alloc {

/// Movable, not copyable. The allocator outlives it (a replaced default allocator does, see
/// default_allocator.h). Errors as in allocator.h.
class STRANDLINE_API DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// From the default allocator of the process's host device.
  explicit DeviceBuffer(std::uint64_t bytes, const MallocOptions& options = {});
  DeviceBuffer(Allocator& allocator, std::uint64_t bytes, const MallocOptions& options = {})
      : buffer_(allocator.malloc(bytes, options)), bytes_(bytes) {}
  /// Over memory that the caller keeps as long as this lives (Allocator::make_buffer).
  [[nodiscard]] static DeviceBuffer wrap(Allocator& allocator, void* memory, std::uint64_t bytes);

  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    DeviceBuffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;
  ~DeviceBuffer() { reset(); }

  [[nodiscard]] Buffer buffer() const noexcept { return buffer_; }
  [[nodiscard]] void* ptr() const noexcept { return buffer_.ptr(); }
  [[nodiscard]] void* raw_ptr() const { return buffer_.raw_ptr(); }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }  ///< asked for
  explicit operator bool() const noexcept { return static_cast<bool>(buffer_); }

  /// Frees now.
  void reset() noexcept;
  /// Hands the buffer to the caller, who frees (or releases) it.
  [[nodiscard]] Buffer take() noexcept;

 private:
  void swap(DeviceBuffer& other) noexcept {
    std::swap(buffer_, other.buffer_);
    std::swap(bytes_, other.bytes_);
    std::swap(is_wrapped_, other.is_wrapped_);
  }

  Buffer buffer_;
  std::uint64_t bytes_ = 0;
  bool is_wrapped_ = false;
};

}  // namespace strandline::alloc
