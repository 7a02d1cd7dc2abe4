// SPDX-License-Identifier: Apache-2.0
#include "array/node_record.h"

#include "array/data.h"
#include "strandline/array/primitive.h"

namespace strandline::array {
namespace {

using record::recorder;

LayoutId layout_of(const Descriptor& node) {
  return recorder().tables().layouts.intern(node.shape.span(), node.dtype);
}

LayoutId layout_of_unbound_output(void* outputs, std::uint64_t bytes) noexcept {
  try {
    for (const Array& output : *static_cast<const std::vector<Array>*>(outputs)) {
      const Descriptor& node = output.descriptor();
      if (node.data == nullptr && node.nbytes() == bytes) return layout_of(node);
    }
  } catch (...) {  // no memory for a table entry: the layout stays unknown
  }
  return {};
}

ArrayKey key_of(const Descriptor& node) noexcept {
  return {reinterpret_cast<std::uint64_t>(&node)};
}

}  // namespace

NodeRecord record_node(std::string_view op) {
  if (!record::recording()) return {};
  const record::ThreadState& thread = record::thread_state();
  record::Tables& tables = recorder().tables();
  TracebackId traceback = recorder().capture();
  if (thread.forward) traceback = tables.tracebacks.pair(traceback, thread.forward);
  return {.traceback = traceback, .op = tables.ops.intern(op), .label = thread.label};
}

record::OpContext leaf_context(const NodeRecord& record) noexcept {
  return {.op = record.op, .traceback = record.traceback, .label = record.label};
}

record::OpContext call_context(const Call& call, std::vector<Array>& outputs) {
  record::OpContext context{
      .op = call.record.op,
      .traceback = call.record.traceback,
      .label = call.record.label,
      .stream = recorder().tables().streams.intern(call.primitive->stream().id().value),
      .layout_of = layout_of_unbound_output,
      .outputs = &outputs};
  // A node made before recording began still tells its operation.
  if (!context.op) context.op = recorder().tables().ops.intern(call.primitive->name());
  if (!context.label) context.label = record::thread_state().label;
  return context;
}

void note_bound(const Array& array) {
  if (!record::recording()) return;
  Descriptor& node = array.descriptor();
  const std::uint64_t address = node.data->storage->slice.address;
  if (address == 0) return;
  node.is_bound = true;
  const record::OpContext* scope = record::thread_state().scope;
  record::Holder holder{.traceback = node.record.traceback,
                        .op = node.record.op,
                        .layout = layout_of(node),
                        .label = node.record.label,
                        .view_bytes = node.data_size * dtype_size_bytes(node.dtype),
                        .view_offset = node.offset_bytes};
  if (scope != nullptr) {
    if (!holder.traceback) holder.traceback = scope->traceback;
    if (!holder.op) holder.op = scope->op;
    if (!holder.label) holder.label = scope->label;
  }
  recorder().bind(address, key_of(node), holder);
}

void note_left(Descriptor& node) noexcept {
  if (!node.is_bound) return;
  node.is_bound = false;
  if (record::tracking()) recorder().leave(key_of(node));
}

}  // namespace strandline::array
