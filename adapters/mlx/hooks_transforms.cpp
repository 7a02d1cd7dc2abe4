// SPDX-License-Identifier: Apache-2.0
// Hooks of transforms, compiled functions, and tasks that run later on a stream's thread.
#include "hook_calls.h"
#include "quietly.h"
#include "transforms.h"

namespace strandline::mlx_adapter {
namespace {

using record::recorder;

thread_local constinit const CompiledCall* t_call = nullptr;

// The scope of an op, for a task that allocates after the op's evaluation has returned. Its outputs
// may be gone by then.
struct CarriedScope {
  explicit CarriedScope(const record::OpContext& scope) : context(scope) {
    context.layout_of = nullptr;
    context.outputs = nullptr;
  }
  record::OpContext context;
};

}  // namespace

CompiledCall::CompiledCall() noexcept : previous_(t_call) {
  calling_ = recorder().capture();
  quietly(
      [&] { depth_ = static_cast<std::uint32_t>(recorder().tables().tracebacks.depth(calling_)); });
  t_call = this;
}

CompiledCall::~CompiledCall() {
  t_call = previous_;
}

const CompiledCall* CompiledCall::current() noexcept {
  return t_call;
}

std::pair<Arrays, Arrays> hook_vjp(const ArraysFunction& function, const Arrays& primals,
                                   const Arrays& cotangents)
    STRANDLINE_HOOK("_ZN3mlx4core3vjpERKSt8functionIFSt6vectorINS0_5arrayESaIS3_EERKS5_EES7_S7_");
std::pair<Arrays, Arrays> hook_vjp(const ArraysFunction& function, const Arrays& primals,
                                   const Arrays& cotangents) {
  count_call(Hook::vjp);
  const record::ForwardScope scope({});
  return mlx_functions().vjp(function, primals, cotangents);
}

std::pair<Arrays, Arrays> hook_jvp(const ArraysFunction& function, const Arrays& primals,
                                   const Arrays& tangents)
    STRANDLINE_HOOK("_ZN3mlx4core3jvpERKSt8functionIFSt6vectorINS0_5arrayESaIS3_EERKS5_EES7_S7_");
std::pair<Arrays, Arrays> hook_jvp(const ArraysFunction& function, const Arrays& primals,
                                   const Arrays& tangents) {
  count_call(Hook::jvp);
  const record::ForwardScope scope({});
  return mlx_functions().jvp(function, primals, tangents);
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
  ValueAndGradFunction transformed = mlx_functions().value_and_grad(function, argnums);
  if (!recording()) return transformed;
  return [transformed = std::move(transformed)](const Arrays& inputs) {
    const record::ForwardScope scope({});
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
  CompiledFunction compiled =
      mlx_functions().compile(std::move(function), id, shapeless, std::move(constants));
  if (!recording()) return compiled;
  return [compiled = std::move(compiled)](const Arrays& inputs) {
    const CompiledCall call;
    return compiled(inputs);
  };
}

void hook_enqueue(void* scheduler, mx::Stream stream, std::function<void()> task)
    STRANDLINE_HOOK("_ZN3mlx4core9scheduler9Scheduler7enqueueENS0_6StreamESt8functionIFvvEE");
void hook_enqueue(void* scheduler, mx::Stream stream, std::function<void()> task) {
  count_call(Hook::enqueue);
  const record::OpContext* scope = record::thread_state().scope;
  if (scope != nullptr && recording()) {
    quietly([&] {
      task = [carried = CarriedScope(*scope), inner = std::move(task)] {
        const record::OpScope open(carried.context);
        inner();
      };
    });
  }
  mlx_functions().enqueue(scheduler, stream, std::move(task));
}

}  // namespace strandline::mlx_adapter
