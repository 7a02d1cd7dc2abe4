// SPDX-License-Identifier: Apache-2.0
// Where the slots of a shadow lead: the op scope around a primitive's evaluation, and the forward
// traceback while a primitive's gradient makes nodes.
#include <array>
#include <atomic>

#include "describe.h"
#include "hook_calls.h"
#include "quietly.h"
#include "shadow.h"
#include "thread_work.h"
#include "traced_primitives.h"

namespace strandline::mlx_adapter {
namespace {

using record::recorder;

template <typename Function>
Function* real_function(const mx::Primitive& primitive, Slot slot) noexcept {
  return reinterpret_cast<Function*>(shadow_of(primitive)->real_slot(slot));
}

// By the framework's number of the stream; ids of streams are never taken back.
StreamId stream_of(mx::Primitive& primitive) {
  static constinit std::array<std::atomic<std::uint32_t>, 64> known{};
  const auto number = static_cast<std::uint64_t>(primitive.stream().index);
  if (number < known.size()) {
    if (const std::uint32_t id = known[number].load(std::memory_order_relaxed)) return {id};
  }
  const StreamId id = recorder().tables().streams.intern(number);
  if (number < known.size()) known[number].store(id.value, std::memory_order_relaxed);
  return id;
}

void fill_context(record::OpContext& context, mx::Primitive& primitive, Arrays& outputs) {
  context.stream = stream_of(primitive);
  context.layout_of = layout_of_unbound_output;
  context.outputs = &outputs;
  if (!outputs.empty()) {
    if (const Node node(outputs[0]); node.is_known()) {
      context.op = node.op();
      context.traceback = node.traceback();
      context.label = node.label();
    }
  }
  if (!context.op) context.op = op_of(primitive);
  if (!context.label) context.label = record::thread_state().label;
}

// In force after the call as well: what adds the gradients up belongs to this operation until the
// next one's gradient begins or the transform ends.
void belong_to(const mx::Primitive& primitive) {
  PrimitiveInfo info;
  if (primitives().find(&primitive, info)) {
    record::thread_state().forward = recorder().tables().tracebacks.calling(info.traceback);
  }
}

}  // namespace

void shadow_eval_cpu(mx::Primitive* self, const Arrays& inputs, Arrays& outputs) {
  count_call(Hook::eval_cpu);
  auto* eval = real_function<void(mx::Primitive*, const Arrays&, Arrays&)>(*self, Slot::eval_cpu);
  if (!recording()) return eval(self, inputs, outputs);
  record::OpContext context;
  quietly([&] { fill_context(context, *self, outputs); });
  if (!context.op) return eval(self, inputs, outputs);
  const record::OpScope scope(context);
  struct ForgetTold {
    ~ForgetTold() { t_work.told = {}; }
  } forget_told;
  eval(self, inputs, outputs);
}

Arrays shadow_jvp(mx::Primitive* self, const Arrays& primals, const Arrays& tangents,
                  const std::vector<int>& argnums) {
  count_call(Hook::primitive_jvp);
  if (recording()) quietly([&] { belong_to(*self); });
  return real_function<Arrays(mx::Primitive*, const Arrays&, const Arrays&,
                              const std::vector<int>&)>(*self, Slot::jvp)(self, primals, tangents,
                                                                          argnums);
}

std::pair<Arrays, std::vector<int>> shadow_vmap(mx::Primitive* self, const Arrays& inputs,
                                                const std::vector<int>& axes) {
  count_call(Hook::primitive_vmap);
  struct Restore {
    TracebackId previous = t_work.vmapped_operation;
    ~Restore() { t_work.vmapped_operation = previous; }
  } restore;
  PrimitiveInfo info;
  if (recording() && primitives().find(self, info)) t_work.vmapped_operation = info.traceback;
  return real_function<std::pair<Arrays, std::vector<int>>(
      mx::Primitive*, const Arrays&, const std::vector<int>&)>(*self, Slot::vmap)(self, inputs,
                                                                                  axes);
}

Arrays shadow_vjp(mx::Primitive* self, const Arrays& primals, const Arrays& cotangents,
                  const std::vector<int>& argnums, const Arrays& outputs) {
  count_call(Hook::primitive_vjp);
  if (recording()) quietly([&] { belong_to(*self); });
  return real_function<Arrays(mx::Primitive*, const Arrays&, const Arrays&, const std::vector<int>&,
                              const Arrays&)>(*self, Slot::vjp)(self, primals, cotangents, argnums,
                                                                outputs);
}

}  // namespace strandline::mlx_adapter
