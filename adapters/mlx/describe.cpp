// SPDX-License-Identifier: Apache-2.0
#include "describe.h"

#include <vector>

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

constinit std::atomic<std::uint64_t> detail::g_leaf_op{0};
constinit std::atomic<std::uint64_t> detail::g_header_bytes{0};

std::uint64_t detail::ask_for_header(mx::allocator::Buffer buffer) noexcept {
  const auto payload = reinterpret_cast<std::uint64_t>(mlx_functions().raw_ptr(&buffer));
  const std::uint64_t header = payload - reinterpret_cast<std::uint64_t>(buffer.ptr());
  g_header_bytes.store(header, std::memory_order_relaxed);
  return header;
}

LayoutId detail::enter_layout(const mx::array& array) {
  const std::uint32_t generation = table_generation();
  const mx::Shape& shape = array.shape();
  const std::vector<std::int64_t> extents(shape.begin(), shape.end());
  const LayoutId id = record::recorder().tables().layouts.intern(extents, dtype_of(array.dtype()));
  thread_caches().layouts.keep(shape, array.dtype(), generation, id);
  return id;
}

OpId detail::find_op(const char* name, std::uint32_t generation, const ShadowTable* shadow) {
  RecentOps& recent = thread_caches().ops;
  OpId id = recent.find(name, generation);
  if (!id) {
    id = record::recorder().tables().ops.intern(name);
    recent.keep(name, generation, id);
  }
  if (shadow != nullptr) shadow->op.keep(name, generation, id);
  return id;
}

OpId detail::enter_leaf_op() {
  const std::uint64_t generation = table_generation();
  const OpId op = record::recorder().tables().ops.intern("Array");
  g_leaf_op.store(generation << 32 | op.value, std::memory_order_relaxed);
  return op;
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
