// SPDX-License-Identifier: Apache-2.0
// Arrays and descriptors: making leaves and nodes, and letting go of them.
#include "strandline/array/array.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "array/cast.h"
#include "array/data.h"
#include "array/node_memory.h"
#include "array/node_record.h"
#include "array/plan.h"
#include "array/tracing.h"
#include "strandline/array/graph_lock.h"
#include "strandline/array/primitive.h"
#include "strandline/core/error.h"

namespace strandline::array {
namespace {

std::shared_ptr<Descriptor> make_descriptor(const char* function, const Shape& shape, Dtype dtype,
                                            const device::Device* port) {
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
  node->port = port;
  return node;
}

const device::Device* port_of(const Primitive& primitive) noexcept {
  return primitive.stream().state()->device->port.get();
}

[[noreturn]] void throw_other_device(const Primitive& primitive, std::size_t input,
                                     const Array& array) {
  const std::string lies = device_of(array).name();
  const std::string runs = primitive.stream().device().name();
  throw InvalidArgument(error_message(
      primitive.name(), fmt::format("input {}", input),
      lies == runs ? "an array on another device named " + lies : "an array on " + lies,
      fmt::format("one on {}, where the operation runs: move it there with to_device, or run the "
                  "operation on a stream of the array's device",
                  runs)));
}

constexpr std::string_view kLeafOp = "Array";

// Memory of a leaf, allocated in a scope that says whose it is.
Array make_leaf(const Shape& shape, Dtype dtype, const Device& device) {
  Array leaf(make_descriptor("array", shape, dtype, &device.port()));
  Descriptor& node = leaf.descriptor();
  node.record = record_node(kLeafOp);
  node.status.store(Status::available, std::memory_order_release);
  const record::OpContext context = leaf_context(node.record);
  const record::OpScope scope(context);
  auto data = make_node_part<Data>();
  data->storage =
      std::make_shared<Storage>(device.state()->shared_from_this(), node.nbytes(), StreamId{});
  data->version = data->storage->versions;
  data->storage->written.store(data->version, std::memory_order_release);
  set_data(leaf, std::move(data));
  return leaf;
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
  Array leaf(make_descriptor("wrap", shape, dtype, &device.port()));
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
  data->storage =
      std::make_shared<Storage>(device.state()->shared_from_this(),
                                Storage::Wrapped{.buffer = buffer, .deleter = std::move(deleter)});
  data->version = data->storage->versions;
  data->storage->written.store(data->version, std::memory_order_release);
  node.status.store(Status::available, std::memory_order_release);
  set_data(leaf, std::move(data));
  device.port().memory().note_host_write(slice_of(leaf));
  return leaf;
}

Array Array::placeholder(const Shape& shape, Dtype dtype) {
  Array made(make_descriptor("placeholder", shape, dtype, nullptr));
  made.descriptor().is_tracer = true;
  return made;
}

namespace {

struct MadeCall {
  std::shared_ptr<Call> call;
  bool is_tracer;  ///< of its outputs
};

MadeCall make_call(std::shared_ptr<Primitive> primitive, std::vector<Array> inputs) {
  const device::Device* const port = port_of(*primitive);
  bool has_tracer = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Descriptor& input = inputs[i].descriptor();
    has_tracer = has_tracer || input.is_tracer;
    if (input.port == port || input.port == nullptr) [[likely]]
      continue;
    if (!primitive->takes_other_devices()) throw_other_device(*primitive, i, inputs[i]);
  }
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
    : node_(make_descriptor("array", shape, dtype, port_of(*primitive))) {
  MadeCall made = make_call(std::move(primitive), std::move(inputs));
  node_->is_tracer = made.is_tracer;
  node_->record = made.call->record;
  node_->call = std::move(made.call);
}

std::vector<Array> Array::call(const std::vector<std::pair<Shape, Dtype>>& outputs,
                               std::shared_ptr<Primitive> primitive, std::vector<Array> inputs) {
  const device::Device* const port = port_of(*primitive);
  const MadeCall one = make_call(std::move(primitive), std::move(inputs));
  one.call->layouts = outputs;
  std::vector<Array> made;
  for (const auto& [shape, dtype] : outputs) {
    auto node = make_descriptor("array", shape, dtype, port);
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
  return node_->status.load(std::memory_order_acquire);
}

// -- letting go -----------------------------------------------------------------------------------

std::shared_ptr<Call> take_call(const Array& array) noexcept {
  Descriptor& node = array.descriptor();
  std::shared_ptr<Call> call = std::move(node.call);
  node.call = nullptr;
  node.position = 0;
  if (call == nullptr) return call;
  for (const std::weak_ptr<Descriptor>& weak : call->outputs) {
    const std::shared_ptr<Descriptor> sibling = weak.lock();
    if (sibling != nullptr && sibling->call == call) {
      sibling->call = nullptr;
      sibling->position = 0;
    }
  }
  return call;
}

void Array::detach() const noexcept {
  std::shared_ptr<Call> call;  // goes when the graph has been let go of
  const GraphGuard guard;
  call = take_call(*this);
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

std::shared_ptr<Call> call_of(const Array& array) noexcept {
  const GraphGuard guard;
  return array.descriptor().call;
}

std::vector<Array> outputs_of(const Array& array) {
  const GraphGuard guard;
  return outputs_of_unlocked(array);
}

std::vector<Array> outputs_of_unlocked(const Array& array) {
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
      node = make_descriptor("array", shape, dtype, array.descriptor().port);
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
  const GraphGuard guard;
  const std::shared_ptr<Call>& call = array.descriptor().call;
  if (call == nullptr) return siblings;
  for (const std::weak_ptr<Descriptor>& weak : call->outputs) {
    std::shared_ptr<Descriptor> node = weak.lock();
    if (node != nullptr && node.get() != array.node().get()) siblings.emplace_back(std::move(node));
  }
  return siblings;
}

std::uint64_t buffer_size_of(const Array& array) noexcept {
  const GraphGuard guard;
  const Descriptor& node = array.descriptor();
  return node.data == nullptr ? 0 : node.data->storage->slice.size;
}

std::uint64_t buffer_address_of(const Array& array) noexcept {
  const GraphGuard guard;
  const Descriptor& node = array.descriptor();
  return node.data == nullptr ? 0 : node.data->storage->slice.address;
}

Device device_of(const Array& array) {
  const GraphGuard guard;
  const Descriptor& node = array.descriptor();
  if (node.data != nullptr) return Device(node.data->storage->device->leased());
  if (node.call != nullptr) return node.call->primitive->stream().device();
  return default_device();
}

bool is_followed(const Array& array) noexcept {
  return array.descriptor().is_tracer && is_tracing();
}

}  // namespace strandline::array
