// SPDX-License-Identifier: Apache-2.0
// Hooks of mlx::core::array and its descriptor: a node is made, gets memory, shares another's
// memory, leaves the graph, dies.
#include "describe.h"
#include "hook_calls.h"
#include "nodes.h"
#include "quietly.h"
#include "replacement.h"
#include "shadow.h"
#include "thread_work.h"
#include "traced_primitives.h"
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

STRANDLINE_ALWAYS_INLINE TracebackId capture_here() {
  const TracebackId vmapped = t_work.vmapped_operation;
  const TracebackId calling = vmapped ? vmapped : recorder().capture();
  const TracebackId forward = record::thread_state().forward;
  return forward ? recorder().tables().tracebacks.pair(calling, forward) : calling;
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

void count_node(const mx::array& array, const PrimitiveInfo& traced) {
  primitives().with(&array.primitive(), [&](PrimitiveInfo& info) {
    if (info.nodes == 0) info = {traced.traceback, traced.label, traced.outer_frames, 0};
    ++info.nodes;
  });
  Node(array).add(Node::kCounted);
}

// A node whose primitive has been seen before, or may be seen again: the rare case.
__attribute__((noinline)) void note_traced_node(Node node, const mx::array& array,
                                                const ShadowTable* shadow, bool is_seen) {
  const CompiledCall* call = CompiledCall::current();
  const bool is_fused = shadow != nullptr && shadow->is_compiled;
  const LabelId label = record::thread_state().label;
  PrimitiveInfo traced{.label = label, .outer_frames = call != nullptr ? call->depth() : 0};
  const bool is_replay = (is_seen && primitives().find(&array.primitive(), traced)) ||
                         (is_fused && find_fused(array.primitive(), 0, traced));
  const OpId op = op_of(array.primitive(), shadow);
  if (is_replay) {
    node.set(replayed_traceback(traced), op, traced.label ? traced.label : label);
  } else {
    traced.traceback = capture_here();
    node.set(traced.traceback, op, label);
  }
  if (is_replay || call != nullptr || node.is_tracer()) count_node(array, traced);
  if (is_fused && call != nullptr && compiled_outputs(array.primitive()).size() > 1) {
    fused_calls().with(node.descriptor(), [&](TracebackId& stack) { stack = call->calling(); });
    node.add(Node::kFused);
  }
}

void note_node(Node node, const mx::array& array) {
  if (!array.has_primitive()) {
    const TracebackId here = capture_here();
    if (!here) return;
    node.set(here, leaf_op(), record::thread_state().label);
    t_work.leaf = {.descriptor = node.descriptor(), .traceback = here};
    return;
  }
  mx::Primitive& primitive = array.primitive();
  const ShadowTable* shadow = shadow_of(primitive);
  const bool is_seen = shadow != nullptr;
  if (!is_seen) shadow = put_shadow(primitive);
  if (is_seen || node.is_tracer() || CompiledCall::current() != nullptr) {
    return note_traced_node(node, array, shadow, is_seen);
  }
  node.set(capture_here(), op_of(primitive, shadow), record::thread_state().label);
}

// Which output of its primitive a node is gets known after it was made.
STRANDLINE_ALWAYS_INLINE TracebackId traceback_of_output(const mx::array& array, Node node) {
  if (!node.is_known()) return {};
  if (!node.has(Node::kFused)) [[likely]] {
    return node.traceback();
  }
  PrimitiveInfo traced;
  TracebackId calling;
  if (array.sibling_position() == 0 || !array.has_primitive() ||
      !find_fused(array.primitive(), static_cast<std::size_t>(array.sibling_position()), traced) ||
      !fused_calls().find(node.descriptor(), calling)) {
    return node.traceback();
  }
  return recorder().tables().tracebacks.splice(calling, traced.traceback, traced.outer_frames);
}

// `array` owns or shares the memory of its data now.
void note_bound(const mx::array& array) {
  const Node node(array);
  if (t_work.leaf.descriptor == node.descriptor()) t_work.leaf = {};
  const std::uint64_t address = payload_of(array.buffer());
  if (address == reinterpret_cast<std::uint64_t>(empty_payload())) return;
  const record::Holder holder = holder_of(array, node, traceback_of_output(array, node));
  node.add(Node::kBound);
  recorder().bind(address, key_of(array), holder);
}

void note_detached(const mx::array& array) {
  const Node node(array);
  if (!node.has(Node::kCounted)) return;
  node.remove(Node::kCounted);
  if (array.has_primitive()) leave_primitive(&array.primitive());
}

// The last descriptor of a buffer: its block is about to be freed, and its sharers go with it.
STRANDLINE_ALWAYS_INLINE bool frees_its_block(const mx::array& array) noexcept {
  const auto& data = array.data_shared_ptr();
  return data != nullptr && data.use_count() == 1 && data->is_owned();
}

// What follows is rare, or more than a call: the hooks themselves stay short, since most
// descriptors that come and go while an operation is evaluated are copies that mean nothing.

__attribute__((noinline)) void note_made(const void* descriptor) noexcept {
  quietly([&] { note_node(Node(descriptor), DescriptorView(descriptor).array()); });
}

void note_death(Node node, const mx::array& array) {
  note_detached(array);
  if (node.has(Node::kFused)) {
    fused_calls().with_known(node.descriptor(), [](TracebackId&) { return true; });
  }
  if (node.has(Node::kBound) && !frees_its_block(array)) recorder().leave(key_of(array));
}

__attribute__((noinline)) void note_dying(const void* descriptor) noexcept {
  if (!tracking()) return;
  quietly([&] { note_death(Node(descriptor), DescriptorView(descriptor).array()); });
}

}  // namespace

void hook_desc_init(void* descriptor) STRANDLINE_HOOK("_ZN3mlx4core5array9ArrayDesc4initEv");
void hook_desc_init(void* descriptor) {
  count_call(Hook::desc_init);
  const Node node(descriptor);
  node.reset();
  mlx_functions().desc_init(descriptor);
  if (!recording()) return;
  // Arrays that kernels make take the ids of the open scope when they get memory.
  const bool is_copy = record::thread_state().scope != nullptr &&
                       !DescriptorView(descriptor).array().has_primitive();
  if (!is_copy) note_made(descriptor);
}

void hook_desc_destroy(void* descriptor) STRANDLINE_HOOK("_ZN3mlx4core5array9ArrayDescD1Ev");
void hook_desc_destroy(void* descriptor) {
  count_call(Hook::desc_destroy);
  const Node node(descriptor);
  if (node.is_more_than_known()) [[unlikely]] {
    note_dying(descriptor);
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
  if (!primitives().empty() && tracking()) {
    quietly([&] {
      note_detached(*array);
      for (const mx::array& sibling : array->siblings()) note_detached(sibling);
    });
  }
  mlx_functions().detach(array);
}

}  // namespace strandline::mlx_adapter
