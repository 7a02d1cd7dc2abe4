// SPDX-License-Identifier: Apache-2.0
// Arrays and descriptors: making leaves and nodes, waiting, reading, letting go.
#include "strandline/array/array.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "array/cast.h"
#include "array/data.h"
#include "array/iterate.h"
#include "array/node_memory.h"
#include "array/node_record.h"
#include "array/tracing.h"
#include "strandline/array/eval.h"
#include "strandline/array/primitive.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

std::shared_ptr<Descriptor> make_descriptor(const char* function, const Shape& shape, Dtype dtype) {
  if (!is_supported(dtype)) {
    throw InvalidArgument(error_message(function, "dtype", dtype_name(dtype),
                                        "bool, uint8, uint32, int32, int64, float16, bfloat16, "
                                        "float32 or float64"));
  }
  auto node = make_node_part<Descriptor>();
  node->shape = shape;
  node->strides = row_major_strides(shape);
  node->size = element_count(function, shape);
  node->dtype = dtype;
  return node;
}

constexpr std::string_view kLeafOp = "Array";

// Memory of a leaf, allocated in a scope that says whose it is.
Array make_leaf(const Shape& shape, Dtype dtype, const Device& device) {
  Array leaf(make_descriptor("array", shape, dtype));
  Descriptor& node = leaf.descriptor();
  node.record = record_node(kLeafOp);
  node.status = Status::available;
  const record::OpContext context = leaf_context(node.record);
  const record::OpScope scope(context);
  auto data = make_node_part<Data>();
  data->storage = std::make_shared<Storage>(device.state(), node.nbytes(), StreamId{});
  data->version = data->storage->versions;
  data->storage->written.store(data->version, std::memory_order_release);
  set_data(leaf, std::move(data));
  return leaf;
}

bool has_passed(const Completion& point) noexcept {
  try {
    return point.is_done();
  } catch (...) {  // the device will not say
    return false;
  }
}

void throw_unmade(const Descriptor& node) {
  throw DeviceError(error_message("read", "values",
                                  fmt::format("an array {} {} whose work failed",
                                              shape_text(node.shape), dtype_name(node.dtype)),
                                  "one whose work ran: make it again"));
}

}  // namespace

// -- making ---------------------------------------------------------------------------------------

Array::Array(const void* values, const Shape& shape, Dtype dtype, const Device& device)
    : Array(converted(values, dtype, shape, dtype, device)) {}

Array Array::converted(const void* values, Dtype from, const Shape& shape, Dtype dtype,
                       const Device& device) {
  Array leaf = make_leaf(shape, dtype, device);
  const Descriptor& node = leaf.descriptor();
  if (node.size == 0) return leaf;
  cast_elements(from, values, dtype, bytes_of(leaf), node.size);
  device.port().memory().note_host_write(slice_of(leaf));
  return leaf;
}

const void* Array::checked_values(const void* values, std::size_t count, const Shape& shape) {
  if (element_count("array", shape) == count) return values;
  throw InvalidArgument(error_message("array", "values", fmt::format("{} of them", count),
                                      "as many as shape " + shape_text(shape) + " has"));
}

Array Array::wrap(void* memory, const Shape& shape, Dtype dtype, std::function<void(void*)> deleter,
                  const Device& device) {
  Array leaf(make_descriptor("wrap", shape, dtype));
  Descriptor& node = leaf.descriptor();
  alloc::Allocator& allocator = device.allocator();
  node.record = record_node(kLeafOp);
  const record::OpContext context = leaf_context(node.record);
  const record::OpScope scope(context);
  alloc::Buffer buffer;
  if (node.size > 0) buffer = allocator.try_make_buffer(memory, node.nbytes());
  if (!buffer) {
    Array copy(memory, shape, dtype, device);
    deleter(memory);
    return copy;
  }
  auto data = make_node_part<Data>();
  data->storage = std::make_shared<Storage>(
      device.state(), Storage::Wrapped{.buffer = buffer, .deleter = std::move(deleter)});
  data->version = data->storage->versions;
  data->storage->written.store(data->version, std::memory_order_release);
  node.status = Status::available;
  set_data(leaf, std::move(data));
  device.port().memory().note_host_write(slice_of(leaf));
  return leaf;
}

Array Array::placeholder(const Shape& shape, Dtype dtype) {
  Array made(make_descriptor("placeholder", shape, dtype));
  made.descriptor().is_tracer = true;
  return made;
}

namespace {

struct MadeCall {
  std::shared_ptr<Call> call;
  bool is_tracer;  ///< of its outputs
};

MadeCall make_call(std::shared_ptr<Primitive> primitive, std::vector<Array> inputs) {
  const bool has_tracer = std::any_of(inputs.begin(), inputs.end(), [](const Array& input) {
    return input.descriptor().is_tracer;
  });
  const bool is_tracer = has_tracer && primitive->is_followed();
  auto call = make_node_part<Call>();
  call->record = record_node(primitive->name());
  call->primitive = std::move(primitive);
  call->inputs = std::move(inputs);
  return {std::move(call), is_tracer};
}

}  // namespace

Array::Array(const Shape& shape, Dtype dtype, std::shared_ptr<Primitive> primitive,
             std::vector<Array> inputs)
    : node_(make_descriptor("array", shape, dtype)) {
  MadeCall made = make_call(std::move(primitive), std::move(inputs));
  node_->is_tracer = made.is_tracer;
  node_->record = made.call->record;
  node_->call = std::move(made.call);
}

std::vector<Array> Array::call(const std::vector<std::pair<Shape, Dtype>>& outputs,
                               std::shared_ptr<Primitive> primitive, std::vector<Array> inputs) {
  const MadeCall one = make_call(std::move(primitive), std::move(inputs));
  one.call->layouts = outputs;
  std::vector<Array> made;
  for (const auto& [shape, dtype] : outputs) {
    auto node = make_descriptor("array", shape, dtype);
    node->is_tracer = one.is_tracer;
    node->record = one.call->record;
    node->position = static_cast<std::uint32_t>(made.size());
    node->call = one.call;
    one.call->outputs.push_back(node);
    made.emplace_back(std::move(node));
  }
  return made;
}

// -- facts ----------------------------------------------------------------------------------------

const Shape& Array::shape() const noexcept {
  return node_->shape;
}

std::int64_t Array::shape(int axis) const {
  const int rank = static_cast<int>(ndim());
  if (axis < -rank || axis >= rank) {
    throw OutOfRange(error_message("shape", "axis", std::to_string(axis),
                                   "an axis of an array of shape " + shape_text(shape())));
  }
  return shape()[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)];
}

std::uint64_t Array::size() const noexcept {
  return node_->size;
}
std::uint64_t Array::nbytes() const noexcept {
  return node_->nbytes();
}
Dtype Array::dtype() const noexcept {
  return node_->dtype;
}
Status Array::status() const noexcept {
  return node_->status;
}

// -- waiting and reading --------------------------------------------------------------------------

bool Array::is_available() const {
  if (node_->status == Status::available) return true;
  if (node_->status == Status::unscheduled) return false;
  if (node_->completion != nullptr && !node_->completion->is_done()) return false;
  wait();
  return true;
}

void Array::wait() const {
  if (node_->status == Status::available) return;
  if (node_->status == Status::unscheduled) {
    throw InvalidArgument(error_message("wait", "array", "one that was never evaluated",
                                        "one given to eval or async_eval before"));
  }
  const std::shared_ptr<Completion> completion = node_->completion;
  const auto arrive = [&]() noexcept {
    node_->completion = nullptr;
    node_->status = Status::available;
  };
  try {
    if (completion != nullptr) completion->wait();
  } catch (...) {
    // Work failed, and the wait is over; or the wait itself did, and may be tried again.
    if (has_passed(*completion)) arrive();
    throw;
  }
  arrive();
}

void Array::eval() const {
  if (node_->status == Status::unscheduled) {
    array::eval({*this});
  } else {
    wait();
  }
}

const void* Array::read_data(Dtype dtype) const {
  if (dtype != node_->dtype) {
    throw TypeMismatch(
        error_message("data", "element type", dtype_name(dtype), dtype_name(node_->dtype)));
  }
  eval();
  const Data& data = *node_->data;
  if (node_->size > 0 && data.storage->written.load(std::memory_order_acquire) < data.version) {
    throw_unmade(*node_);
  }
  return bytes_of(*this);
}

void Array::read_values(void* to, Dtype dtype) const {
  const auto* from = static_cast<const std::byte*>(read_data(node_->dtype));
  const std::size_t from_bytes = dtype_size_bytes(node_->dtype);
  const std::size_t to_bytes = dtype_size_bytes(dtype);
  auto* out = static_cast<std::byte*>(to);
  std::vector<std::byte> row;
  for_each_row<1>(node_->shape, {node_->strides}, [&](const auto& at, const Row<1>& run) {
    const auto count = static_cast<std::size_t>(run.count);
    row.resize(count * from_bytes);
    gather(from_bytes, from + at[0] * static_cast<std::int64_t>(from_bytes), run.strides[0],
           row.data(), count);
    cast_elements(node_->dtype, row.data(), dtype, out, count);
    out += count * to_bytes;
  });
}

void Array::read_item(void* to, Dtype dtype) const {
  if (node_->size != 1) {
    throw InvalidArgument(
        error_message("item", "array", fmt::format("{} elements", node_->size), "one element"));
  }
  read_values(to, dtype);
}

// -- letting go -----------------------------------------------------------------------------------

void Array::detach() const noexcept {
  const std::shared_ptr<Call> call = std::move(node_->call);
  node_->call = nullptr;
  node_->position = 0;
  if (call == nullptr) return;
  for (const std::weak_ptr<Descriptor>& weak : call->outputs) {
    const std::shared_ptr<Descriptor> sibling = weak.lock();
    if (sibling != nullptr && sibling->call == call) {
      sibling->call = nullptr;
      sibling->position = 0;
    }
  }
}

Descriptor::~Descriptor() {
  note_left(*this);
}

namespace {

// Inputs whose destruction has been put off by a call that is being destroyed on this thread.
thread_local std::vector<Array>* t_put_off = nullptr;

}  // namespace

Call::~Call() {
  if (inputs.empty()) return;
  if (t_put_off != nullptr) {
    try {
      for (Array& input : inputs) t_put_off->push_back(std::move(input));
      inputs.clear();
    } catch (const std::bad_alloc&) {  // the rest goes by recursion
    }
    return;
  }
  std::vector<Array> put_off = std::move(inputs);
  t_put_off = &put_off;
  while (!put_off.empty()) {
    const Array last = std::move(put_off.back());
    put_off.pop_back();
  }
  t_put_off = nullptr;
}

std::vector<Array> outputs_of(const Array& array) {
  const std::shared_ptr<Call>& call = array.descriptor().call;
  std::vector<Array> outputs;
  if (call == nullptr) return outputs;
  if (call->outputs.empty()) {  // it has one
    outputs.push_back(array);
    return outputs;
  }
  for (std::size_t i = 0; i < call->outputs.size(); ++i) {
    std::shared_ptr<Descriptor> node = call->outputs[i].lock();
    if (node == nullptr) {
      const auto& [shape, dtype] = call->layouts[i];
      node = make_descriptor("array", shape, dtype);
      node->record = call->record;
      node->is_tracer = array.descriptor().is_tracer;
      node->position = static_cast<std::uint32_t>(i);
      node->call = call;
      call->outputs[i] = node;
    }
    outputs.emplace_back(std::move(node));
  }
  return outputs;
}

std::vector<Array> siblings_of(const Array& array) {
  std::vector<Array> siblings;
  const std::shared_ptr<Call>& call = array.descriptor().call;
  if (call == nullptr) return siblings;
  for (const std::weak_ptr<Descriptor>& weak : call->outputs) {
    std::shared_ptr<Descriptor> node = weak.lock();
    if (node != nullptr && node.get() != array.node().get()) siblings.emplace_back(std::move(node));
  }
  return siblings;
}

std::uint64_t buffer_size_of(const Array& array) noexcept {
  const Descriptor& node = array.descriptor();
  return node.data == nullptr ? 0 : node.data->storage->slice.size;
}

std::uint64_t buffer_address_of(const Array& array) noexcept {
  const Descriptor& node = array.descriptor();
  return node.data == nullptr ? 0 : node.data->storage->slice.address;
}

Device device_of(const Array& array) {
  const Descriptor& node = array.descriptor();
  if (node.data != nullptr) return Device(node.data->storage->device);
  if (node.call != nullptr) return node.call->primitive->stream().device();
  return default_device();
}

bool is_followed(const Array& array) noexcept {
  return array.descriptor().is_tracer && is_tracing();
}

}  // namespace strandline::array
