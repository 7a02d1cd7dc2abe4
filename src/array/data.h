// SPDX-License-Identifier: Apache-2.0
// Memory of arrays. A storage owns one buffer and gives it back when the last array and the last
// queued task that use it are gone, on whichever thread that is.
//
//   versions: a storage lives through several arrays when it is donated. Work that has run sets
//   `written` to the version it wrote, so that what failed work should have written is never read:
//   values of `data` are there  ⇔  data.storage->written >= data.version
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "array/device_state.h"
#include "strandline/alloc/allocator.h"
#include "strandline/array/descriptor.h"

namespace strandline::array {

struct Storage {
  /// `bytes` from the device's allocator; none for 0.
  Storage(std::shared_ptr<DeviceState> on, std::uint64_t bytes, StreamId stream);
  struct Wrapped {
    alloc::Buffer buffer;
    std::function<void(void*)> deleter;
  };
  Storage(std::shared_ptr<DeviceState> on, Wrapped wrapped);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* at() const noexcept { return static_cast<std::byte*>(buffer.ptr()); }
  /// Work of `stream` will use it.
  void note_use(StreamId stream) noexcept;
  /// Whether only work of `stream`, or none, has used it.
  bool is_only_used_by(StreamId stream) const noexcept;

  std::shared_ptr<DeviceState> device;
  alloc::Buffer buffer;
  device::Slice slice;                 ///< all of the buffer
  std::function<void(void*)> deleter;  ///< of wrapped memory
  std::uint32_t versions = 1;          ///< given out; changed by the evaluating thread alone
  std::atomic<std::uint32_t> written{0};

 private:
  static constexpr std::uint32_t kSeveral = UINT32_MAX;
  std::atomic<std::uint32_t> user_{0};  // its stream's id, 0 for none, kSeveral
};

/// Gives `array` memory: its own, as a view, or donated.
void set_data(const Array& array, std::shared_ptr<Data> data, const Strides& strides,
              std::uint64_t offset_bytes, std::uint64_t data_size);
/// The row-major, dense case.
void set_data(const Array& array, std::shared_ptr<Data> data);
/// Takes it back: the array is as if never evaluated.
void reset_data(const Array& array) noexcept;

/// Where its first element lies; null when it has no bytes.
std::byte* bytes_of(const Array& array) noexcept;
/// The bytes that its elements span in its buffer, for the device.
device::Slice slice_of(const Array& array) noexcept;

}  // namespace strandline::array
