// SPDX-License-Identifier: Apache-2.0
#include "array/data.h"

#include <algorithm>
#include <utility>

#include "array/node_record.h"
#include "strandline/core/error.h"

namespace strandline::array {

Storage::Storage(std::shared_ptr<DeviceState> on, std::uint64_t bytes, StreamId stream)
    : device(std::move(on)) {
  if (bytes == 0) return;
  alloc::Allocator& from = device->allocator();
  buffer = device->allocate(from, bytes, stream);
  try {
    slice = from.slice(buffer);
  } catch (...) {
    from.free(buffer);
    throw;
  }
}

Storage::Storage(std::shared_ptr<DeviceState> on, Wrapped wrapped)
    : device(std::move(on)), buffer(wrapped.buffer), deleter(std::move(wrapped.deleter)) {
  slice = buffer.allocator()->slice(buffer);
}

Storage::~Storage() {
  if (!buffer) return;
  if (!deleter) {
    buffer.allocator()->free(buffer);
    return;
  }
  buffer.allocator()->release(buffer);
  deleter(buffer.ptr());
}

void Storage::note_use(StreamId stream) noexcept {
  const std::uint32_t before = user_.load(std::memory_order_relaxed);
  if (before == stream.value) return;
  user_.store(before == 0 ? stream.value : kSeveral, std::memory_order_relaxed);
}

bool Storage::is_only_used_by(StreamId stream) const noexcept {
  const std::uint32_t user = user_.load(std::memory_order_relaxed);
  return user == 0 || user == stream.value;
}

namespace {

// All elements in some order of the axes, without gaps: sorted by stride, each stride is the
// product of the extents below it.
bool is_dense(const Shape& shape, const Strides& strides) {
  std::array<std::size_t, kMaxRank> order{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] > 1) order[count++] = i;
  }
  std::sort(order.begin(), order.begin() + count,
            [&](std::size_t a, std::size_t b) { return strides[a] < strides[b]; });
  std::int64_t expected = 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (strides[order[i]] != expected) return false;
    expected *= shape[order[i]];
  }
  return true;
}

bool is_row_contiguous(const Shape& shape, const Strides& strides) {
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

}  // namespace

void set_data(const Array& array, std::shared_ptr<Data> data, const Strides& strides,
              std::uint64_t offset_bytes, std::uint64_t data_size) {
  Descriptor& node = array.descriptor();
  node.data = std::move(data);
  node.strides = strides;
  node.offset_bytes = offset_bytes;
  node.data_size = data_size;
  node.is_row_contiguous = node.size == 0 || is_row_contiguous(node.shape, strides);
  node.is_dense = node.is_row_contiguous || is_dense(node.shape, strides);
  note_bound(array);
}

void set_data(const Array& array, std::shared_ptr<Data> data) {
  Descriptor& node = array.descriptor();
  node.data = std::move(data);
  node.data_size = node.size;
  note_bound(array);
}

void reset_data(const Array& array) noexcept {
  Descriptor& node = array.descriptor();
  note_left(node);
  node.data = nullptr;
  node.completion = nullptr;
  node.strides = row_major_strides(node.shape);
  node.offset_bytes = 0;
  node.data_size = 0;
  node.is_row_contiguous = true;
  node.is_dense = true;
}

std::byte* bytes_of(const Array& array) noexcept {
  const Descriptor& node = array.descriptor();
  std::byte* const at = node.data->storage->at();
  return at == nullptr ? nullptr : at + node.offset_bytes;
}

device::Slice slice_of(const Array& array) noexcept {
  const Descriptor& node = array.descriptor();
  if (node.size == 0) return {};
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  for (std::size_t i = 0; i < node.shape.size(); ++i) {
    const std::int64_t reach = (node.shape[i] - 1) * node.strides[i];
    (reach < 0 ? lowest : highest) += reach;
  }
  const auto item = static_cast<std::int64_t>(dtype_size_bytes(node.dtype));
  const Storage& storage = *node.data->storage;
  return {storage.slice.address + node.offset_bytes + static_cast<std::uint64_t>(lowest * item),
          static_cast<std::uint64_t>((highest - lowest + 1) * item), storage.slice.buffer};
}

}  // namespace strandline::array
