// SPDX-License-Identifier: Apache-2.0
#include "describe.h"

#include <atomic>
#include <vector>

#include "thread_caches.h"

namespace strandline::mlx_adapter {
namespace {

record::Dtype dtype_of(mx::Dtype dtype) noexcept {
  using Val = mx::Dtype::Val;
  using record::Dtype;
  switch (dtype.val()) {
    case Val::bool_:
      return Dtype::bool_;
    case Val::uint8:
      return Dtype::uint8;
    case Val::uint16:
      return Dtype::uint16;
    case Val::uint32:
      return Dtype::uint32;
    case Val::uint64:
      return Dtype::uint64;
    case Val::int8:
      return Dtype::int8;
    case Val::int16:
      return Dtype::int16;
    case Val::int32:
      return Dtype::int32;
    case Val::int64:
      return Dtype::int64;
    case Val::float16:
      return Dtype::float16;
    case Val::float32:
      return Dtype::float32;
    case Val::float64:
      return Dtype::float64;
    case Val::bfloat16:
      return Dtype::bfloat16;
    case Val::complex64:
      return Dtype::complex64;
  }
  return Dtype::unknown;
}

}  // namespace

LayoutId layout_of(const mx::array& array) {
  record::Tables& tables = record::recorder().tables();
  RecentLayouts& recent = thread_caches().layouts;
  const std::uint32_t generation = tables.generation.load(std::memory_order_acquire);
  const mx::Shape& shape = array.shape();
  if (const LayoutId known = recent.find(shape, array.dtype(), generation)) return known;
  const std::vector<std::int64_t> extents(shape.begin(), shape.end());
  const LayoutId id = tables.layouts.intern(extents, dtype_of(array.dtype()));
  recent.keep(shape, array.dtype(), generation, id);
  return id;
}

OpId op_of(mx::Primitive& primitive, const ShadowTable* shadow) {
  record::Tables& tables = record::recorder().tables();
  const std::uint32_t generation = tables.generation.load(std::memory_order_acquire);
  const char* name = primitive.name();
  if (shadow != nullptr) {
    if (const OpId known = shadow->op.find(name, generation)) return known;
  }
  RecentOps& recent = thread_caches().ops;
  OpId id = recent.find(name, generation);
  if (!id) {
    id = tables.ops.intern(name);
    recent.keep(name, generation, id);
  }
  if (shadow != nullptr) shadow->op.keep(name, generation, id);
  return id;
}

OpId leaf_op() {
  // Asked for with every leaf: kept, with the generation of the table it is from in the upper half.
  static constinit std::atomic<std::uint64_t> cached{0};
  record::Tables& tables = record::recorder().tables();
  const std::uint64_t generation = tables.generation.load(std::memory_order_acquire);
  const std::uint64_t known = cached.load(std::memory_order_relaxed);
  if (known >> 32 == generation && static_cast<std::uint32_t>(known) != 0) {
    return {static_cast<std::uint32_t>(known)};
  }
  const OpId op = tables.ops.intern("Array");
  cached.store(generation << 32 | op.value, std::memory_order_relaxed);
  return op;
}

std::uint64_t payload_of(mx::allocator::Buffer buffer) noexcept {
  if (buffer.ptr() == nullptr) return 0;
  return reinterpret_cast<std::uint64_t>(mlx_functions().raw_ptr(&buffer));
}

record::Holder holder_of(const mx::array& array, Node node, TracebackId traceback) {
  const bool is_told = t_work.told.descriptor == node.descriptor();
  record::Holder holder{.layout = is_told ? t_work.told.layout : layout_of(array),
                        .view_bytes = array.data_size() * array.itemsize(),
                        .view_offset = static_cast<std::uint64_t>(array.offset())};
  const record::ThreadState& thread = record::thread_state();
  const record::OpContext* scope = thread.scope;
  holder.traceback = traceback;
  if (node.is_known()) {
    holder.op = node.op();
    holder.label = node.label();
  }
  if (!holder.traceback && scope != nullptr) holder.traceback = scope->traceback;
  if (!holder.label) {
    holder.label = scope != nullptr && scope->label ? scope->label : thread.label;
  }
  if (!holder.op) {
    if (array.has_primitive()) {
      holder.op = op_of(array.primitive());
    } else {
      holder.op = scope != nullptr ? scope->op : leaf_op();
    }
  }
  return holder;
}

LayoutId layout_of_unbound_output(void* outputs, std::uint64_t bytes) noexcept {
  try {
    for (const mx::array& output : *static_cast<const Arrays*>(outputs)) {
      if (output.data_shared_ptr() != nullptr || output.nbytes() != bytes) continue;
      t_work.told = {.descriptor = Node(output).descriptor(), .layout = layout_of(output)};
      return t_work.told.layout;
    }
  } catch (...) {  // no memory for a table entry: the layout stays unknown
  }
  return {};
}

}  // namespace strandline::mlx_adapter
