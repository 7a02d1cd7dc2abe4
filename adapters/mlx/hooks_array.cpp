// SPDX-License-Identifier: Apache-2.0
// Hooks of mlx::core::array and its descriptor: a node is made, gets memory, shares another's
// memory, leaves the graph, dies.
#include "describe.h"
#include "hook_calls.h"
#include "nodes.h"
#include "quietly.h"
#include "shadow.h"
#include "transforms.h"

namespace strandline::mlx_adapter {
namespace {

using record::recorder;

// A member pointer to a private member, had through an explicit instantiation, which may name it.
template <auto Member>
struct GrantAccess {
  friend auto compiled_outputs_member() { return Member; }
};
auto compiled_outputs_member();
template struct GrantAccess<&mx::Compiled::outputs_>;

const Arrays& compiled_outputs(const mx::Primitive& primitive) {
  return static_cast<const mx::Compiled&>(primitive).*compiled_outputs_member();
}

// What the trace knows of the operation that makes one output of a fused primitive.
bool find_fused(const mx::Primitive& primitive, std::size_t position, PrimitiveInfo& traced) {
  const Arrays& outputs = compiled_outputs(primitive);
  return position < outputs.size() && outputs[position].has_primitive() &&
         primitives().find(&outputs[position].primitive(), traced);
}

TracebackId capture_here() noexcept {
  const TracebackId vmapped = vmapped_operation();
  return recorder().tables().tracebacks.pair(vmapped ? vmapped : recorder().capture(),
                                             record::thread_state().forward);
}

// The traceback of a node whose primitive has been seen: in a compiled call it is a replay of the
// trace, otherwise a sibling, or a graph used again by the line that is running.
TracebackId replayed_traceback(const PrimitiveInfo& traced) {
  if (const CompiledCall* call = CompiledCall::current()) {
    return recorder().tables().tracebacks.splice(call->calling(), traced.traceback,
                                                 traced.outer_frames);
  }
  const TracebackId here = capture_here();
  return here ? here : traced.traceback;
}

NodeInfo node_of_primitive(const mx::array& array) {
  mx::Primitive& primitive = array.primitive();
  const ShadowTable* shadow = shadow_of(primitive);
  const bool seen = shadow != nullptr;
  if (!seen) shadow = put_shadow(primitive);
  const CompiledCall* call = CompiledCall::current();
  PrimitiveInfo traced{.label = record::thread_state().label,
                       .outer_frames = call != nullptr ? call->depth() : 0};
  const bool is_replay =
      (seen && primitives().find(&primitive, traced)) ||
      (shadow != nullptr && shadow->is_compiled && find_fused(primitive, 0, traced));
  NodeInfo node{.primitive = &primitive};
  if (is_replay) {
    node.traceback = replayed_traceback(traced);
    if (shadow != nullptr && shadow->is_compiled && call != nullptr) node.calling = call->calling();
    node.label = traced.label ? traced.label : record::thread_state().label;
  } else {
    node.traceback = traced.traceback = capture_here();
    node.label = traced.label;
  }
  primitives().with(&primitive, [&](PrimitiveInfo& info) {
    if (info.nodes == 0) info = {traced.traceback, traced.label, traced.outer_frames, 0};
    ++info.nodes;
  });
  return node;
}

void note_node(const void* descriptor) {
  const DescriptorView view(descriptor);
  const mx::array& array = view.array();
  NodeInfo node;
  if (array.has_primitive()) {
    node = node_of_primitive(array);
    node.op = op_of(array.primitive());
  } else {
    // Arrays that kernels make take the ids of the open scope when they get memory.
    if (record::thread_state().scope != nullptr) return;
    node.traceback = capture_here();
    if (!node.traceback) return;
    node.op = leaf_op();
    node.label = record::thread_state().label;
    pending_leaf() = {.descriptor = descriptor, .traceback = node.traceback};
  }
  nodes().with(descriptor, [&](NodeInfo& entry) { entry = node; });
}

// Which output of its primitive a node is gets known after it was made.
TracebackId traceback_of_output(const mx::array& array, const NodeInfo& node) {
  PrimitiveInfo traced;
  if (!node.calling || array.sibling_position() == 0 || !array.has_primitive() ||
      !find_fused(array.primitive(), static_cast<std::size_t>(array.sibling_position()), traced)) {
    return node.traceback;
  }
  return recorder().tables().tracebacks.splice(node.calling, traced.traceback, traced.outer_frames);
}

const void* descriptor_of(const mx::array& array) noexcept {
  return reinterpret_cast<const void*>(array.id());
}

// `array` owns or shares the memory of its data now.
void note_bound(const mx::array& array) {
  const void* descriptor = descriptor_of(array);
  if (pending_leaf().descriptor == descriptor) pending_leaf() = {};
  NodeInfo node;
  nodes().with(descriptor, [&](NodeInfo& entry) {
    entry.bound = true;
    node = entry;
  });
  node.traceback = traceback_of_output(array, node);
  recorder().bind(payload_of(array.buffer()), key_of(array), holder_of(array, &node));
}

void note_detached(const mx::array& array) {
  const void* primitive = nullptr;
  nodes().with_known(descriptor_of(array), [&](NodeInfo& node) {
    primitive = std::exchange(node.primitive, nullptr);
    return false;
  });
  if (primitive != nullptr) leave_primitive(primitive);
}

}  // namespace

void hook_desc_init(void* descriptor) STRANDLINE_HOOK("_ZN3mlx4core5array9ArrayDesc4initEv");
void hook_desc_init(void* descriptor) {
  count_call(Hook::desc_init);
  mlx_functions().desc_init(descriptor);
  if (recording()) quietly([&] { note_node(descriptor); });
}

void hook_desc_destroy(void* descriptor) STRANDLINE_HOOK("_ZN3mlx4core5array9ArrayDescD1Ev");
void hook_desc_destroy(void* descriptor) {
  count_call(Hook::desc_destroy);
  if (!nodes().empty() && tracking()) {
    quietly([&] {
      NodeInfo gone;
      const bool known = nodes().with_known(descriptor, [&](NodeInfo& node) {
        gone = node;
        return true;
      });
      if (!known) return;
      if (gone.primitive != nullptr) leave_primitive(gone.primitive);
      if (gone.bound) recorder().leave({reinterpret_cast<std::uint64_t>(descriptor)});
    });
  }
  mlx_functions().desc_destroy(descriptor);
}

void hook_set_data(mx::array* array, mx::allocator::Data* data)
    STRANDLINE_HOOK("_ZN3mlx4core5array8set_dataENS0_9allocator4DataE");
void hook_set_data(mx::array* array, mx::allocator::Data* data) {
  count_call(Hook::set_data);
  const bool owned = data->is_owned();
  mlx_functions().set_data(array, data);
  if (owned && recording()) quietly([&] { note_bound(*array); });
}

void hook_set_data_strided(mx::array* array, mx::allocator::Data* data, std::size_t data_size,
                           mx::Strides* strides, mx::array::Flags flags, std::int64_t offset)
    STRANDLINE_HOOK(
        "_ZN3mlx4core5array8set_dataENS0_9allocator4DataEmNS0_11SmallVectorIlLm10ESaIlE"
        "EENS1_5FlagsEl");
void hook_set_data_strided(mx::array* array, mx::allocator::Data* data, std::size_t data_size,
                           mx::Strides* strides, mx::array::Flags flags, std::int64_t offset) {
  count_call(Hook::set_data_strided);
  const bool owned = data->is_owned();
  mlx_functions().set_data_strided(array, data, data_size, strides, flags, offset);
  if (owned && recording()) quietly([&] { note_bound(*array); });
}

// The one-argument form calls this one, also when a buffer is donated: counted once, here.
void hook_copy_shared_buffer(mx::array* array, const mx::array& other, const mx::Strides& strides,
                             mx::array::Flags flags, std::size_t data_size, std::int64_t offset)
    STRANDLINE_HOOK(
        "_ZN3mlx4core5array18copy_shared_bufferERKS1_RKNS0_11SmallVectorIlLm10ESaIlEEEN"
        "S1_5FlagsEml");
void hook_copy_shared_buffer(mx::array* array, const mx::array& other, const mx::Strides& strides,
                             mx::array::Flags flags, std::size_t data_size, std::int64_t offset) {
  count_call(Hook::copy_shared_buffer);
  mlx_functions().copy_shared_buffer(array, other, strides, flags, data_size, offset);
  if (!recording()) return;
  quietly([&] {
    const auto& data = array->data_shared_ptr();
    if (data != nullptr && data->is_owned()) note_bound(*array);
  });
}

void hook_detach(mx::array* array) STRANDLINE_HOOK("_ZN3mlx4core5array6detachEv");
void hook_detach(mx::array* array) {
  count_call(Hook::detach);
  if (!nodes().empty() && tracking()) {
    quietly([&] {
      note_detached(*array);
      for (const mx::array& sibling : array->siblings()) note_detached(sibling);
    });
  }
  mlx_functions().detach(array);
}

}  // namespace strandline::mlx_adapter
