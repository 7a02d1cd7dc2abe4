// SPDX-License-Identifier: Apache-2.0
// Hooks of transforms, compiled functions, and tasks that run later on a stream's thread.
#include <type_traits>

#include "hook_calls.h"
#include "quietly.h"
#include "thread_caches.h"
#include "transforms.h"

namespace strandline::mlx_adapter {
namespace {

using record::recorder;

// A task with its op's scope around it; small enough for std::function to hold without memory of
// its own. It is moved about and runs once.
struct RunCarried {
  CarriedTask* carried;

  void operator()() const {
    struct GiveBack {
      CarriedTask& carried;
      ~GiveBack() { CarriedTasks::give_back(carried); }
    } give_back{*carried};
    // Without its outputs, which may be gone by now.
    const record::OpContext context{.op = carried->op,
                                    .traceback = carried->traceback,
                                    .label = carried->label,
                                    .stream = carried->stream};
    const record::OpScope open(context);
    carried->task();
  }
};
static_assert(std::is_trivially_copyable_v<RunCarried> && sizeof(RunCarried) <= 16);

// For a task that allocates after the op's evaluation has returned.
void put_in_scope(const record::OpContext& scope, std::function<void()>& task) {
  CarriedTask& carried = thread_caches().tasks.take();
  carried.op = scope.op;
  carried.traceback = scope.traceback;
  carried.label = scope.label;
  carried.stream = scope.stream;
  carried.task.swap(task);  // leaves it without one
  task = RunCarried{&carried};
}

bool records_merged_stacks() noexcept {
  return recording() && recorder().stacks() == record::Stacks::all;
}

}  // namespace

CompiledCall::CompiledCall() noexcept : previous_(t_work.compiled_call) {
  calling_ = recorder().capture();
  quietly(
      [&] { depth_ = static_cast<std::uint32_t>(recorder().tables().tracebacks.depth(calling_)); });
  t_work.compiled_call = this;
}

CompiledCall::~CompiledCall() {
  t_work.compiled_call = previous_;
}

TransformEntry::TransformEntry() noexcept {
  if (!records_merged_stacks()) return;
  entry_.emplace(record::CppFrames::need_unwinding, record::language_frame());
}

ArraysFunction with_callback_scope(const ArraysFunction& function) {
  if (!records_merged_stacks()) return function;
  return [function](const Arrays& inputs) {
    const record::CallbackScope callback;
    return function(inputs);
  };
}

std::pair<Arrays, Arrays> hook_vjp(const ArraysFunction& function, const Arrays& primals,
                                   const Arrays& cotangents)
    STRANDLINE_HOOK("_ZN3mlx4core3vjpERKSt8functionIFSt6vectorINS0_5arrayESaIS3_EERKS5_EES7_S7_");
std::pair<Arrays, Arrays> hook_vjp(const ArraysFunction& function, const Arrays& primals,
                                   const Arrays& cotangents) {
  count_call(Hook::vjp);
  const record::ForwardScope scope({});
  const TransformEntry entry;
  return mlx_functions().vjp(with_callback_scope(function), primals, cotangents);
}

std::pair<Arrays, Arrays> hook_jvp(const ArraysFunction& function, const Arrays& primals,
                                   const Arrays& tangents)
    STRANDLINE_HOOK("_ZN3mlx4core3jvpERKSt8functionIFSt6vectorINS0_5arrayESaIS3_EERKS5_EES7_S7_");
std::pair<Arrays, Arrays> hook_jvp(const ArraysFunction& function, const Arrays& primals,
                                   const Arrays& tangents) {
  count_call(Hook::jvp);
  const record::ForwardScope scope({});
  const TransformEntry entry;
  return mlx_functions().jvp(with_callback_scope(function), primals, tangents);
}

// Gradients asked for in Python come through here, not through vjp.
ValueAndGradFunction hook_value_and_grad(const ArraysFunction& function,
                                         const std::vector<int>& argnums)
    STRANDLINE_HOOK(
        "_ZN3mlx4core14value_and_gradERKSt8functionIFSt6vectorINS0_5arrayESaIS3_EERKS5_"
        "EERKS2_IiSaIiEE");
ValueAndGradFunction hook_value_and_grad(const ArraysFunction& function,
                                         const std::vector<int>& argnums) {
  count_call(Hook::value_and_grad);
  ValueAndGradFunction transformed =
      mlx_functions().value_and_grad(with_callback_scope(function), argnums);
  if (!recording()) return transformed;
  return [transformed = std::move(transformed)](const Arrays& inputs) {
    const record::ForwardScope scope({});
    const TransformEntry entry;
    return transformed(inputs);
  };
}

CompiledFunction hook_compile(CompiledFunction function, std::uintptr_t id, bool shapeless,
                              std::vector<std::uint64_t> constants)
    STRANDLINE_HOOK(
        "_ZN3mlx4core6detail7compileESt8functionIFSt4pairISt6vectorINS0_5arrayESaIS5_EE"
        "St10shared_ptrIvEERKS7_EEmbS4_ImSaImEE");
CompiledFunction hook_compile(CompiledFunction function, std::uintptr_t id, bool shapeless,
                              std::vector<std::uint64_t> constants) {
  count_call(Hook::compile);
  if (records_merged_stacks()) {
    function = [traced = std::move(function)](const Arrays& inputs) {
      const record::CallbackScope callback;
      return traced(inputs);
    };
  }
  CompiledFunction compiled =
      mlx_functions().compile(std::move(function), id, shapeless, std::move(constants));
  if (!recording()) return compiled;
  return [compiled = std::move(compiled)](const Arrays& inputs) {
    const CompiledCall call;
    const TransformEntry entry;
    return compiled(inputs);
  };
}

void hook_enqueue(void* scheduler, mx::Stream stream, std::function<void()>* task)
    STRANDLINE_HOOK("_ZN3mlx4core9scheduler9Scheduler7enqueueENS0_6StreamESt8functionIFvvEE");
void hook_enqueue(void* scheduler, mx::Stream stream, std::function<void()>* task) {
  count_call(Hook::enqueue);
  const record::OpContext* scope = record::thread_state().scope;
  if (scope != nullptr && recording()) quietly([&] { put_in_scope(*scope, *task); });
  mlx_functions().enqueue(scheduler, stream, task);
}

}  // namespace strandline::mlx_adapter
