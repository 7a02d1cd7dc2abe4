// SPDX-License-Identifier: Apache-2.0
// Leaves over memory of the caller in a layout of its own: any strides, also negative ones and 0.
#include <utility>

#include "array/data.h"
#include "array/node_record.h"
#include "strandline/array/array.h"
#include "strandline/array/descriptor.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

// Null also for memory that is wrapped or in use already, which an allocator calls a mistake.
alloc::Buffer buffer_over(alloc::Allocator& allocator, void* memory, std::uint64_t bytes) {
  try {
    return allocator.try_make_buffer(memory, bytes);
  } catch (const InvalidArgument&) {
    return {};
  }
}

}  // namespace

std::optional<Array> Array::try_wrap(void* memory, const Shape& shape, const Strides& strides,
                                     Dtype dtype, const std::function<void(void*)>& deleter,
                                     const Device& device) {
  Array leaf = placeholder(shape, dtype);
  Descriptor& node = leaf.descriptor();
  if (node.size == 0) return std::nullopt;
  std::int64_t lowest = 0;  // elements from the first one, both included
  std::int64_t highest = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t reach = (shape[i] - 1) * strides[i];
    (reach < 0 ? lowest : highest) += reach;
  }
  const auto item = static_cast<std::int64_t>(dtype_size_bytes(dtype));
  const auto span = static_cast<std::uint64_t>(highest - lowest + 1);
  std::byte* const start = static_cast<std::byte*>(memory) + lowest * item;
  node.record = record_node("Array");
  const record::OpContext context = leaf_context(node.record);
  const record::OpScope scope(context);
  const alloc::Buffer buffer =
      buffer_over(device.allocator(), start, span * static_cast<std::uint64_t>(item));
  if (!buffer) return std::nullopt;
  auto data = std::make_shared<Data>();
  data->storage = std::make_shared<Storage>(device.state(),
                                            Storage::Wrapped{.buffer = buffer, .deleter = deleter});
  data->version = data->storage->versions;
  data->storage->written.store(data->version, std::memory_order_release);
  node.is_tracer = false;
  node.status = Status::available;
  set_data(leaf, std::move(data), strides, static_cast<std::uint64_t>(-lowest * item), span);
  device.port().memory().note_host_write(slice_of(leaf));
  return leaf;
}

}  // namespace strandline::array
