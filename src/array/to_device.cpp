// SPDX-License-Identifier: Apache-2.0
// Arrays from one device to another.
#include "array/device_state.h"
#include "array/kernels/kernels.h"
#include "array/primitives.h"
#include "strandline/array/descriptor.h"
#include "strandline/array/operations.h"

namespace strandline::array {
namespace {

class ToDevice final : public Primitive {
 public:
  using Primitive::Primitive;
  std::string_view name() const noexcept override { return "ToDevice"; }
  bool takes_other_devices() const noexcept override { return true; }

  void eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) override {
    if (inputs[0].descriptor().port != outputs[0].descriptor().port) {
      encoder.copy_across(inputs[0], outputs[0]);
      return;
    }
    // One port, two allocators.
    encoder.allocate(outputs[0]);
    if (outputs[0].size() == 0) return;
    const Operand in = encoder.read(inputs[0]);
    const Operand out = encoder.write(outputs[0]);
    encoder.run([in, out] { run_copy(in, out); });
  }

  Arrays vjp(const Arrays& inputs, const Arrays& cotangents,
             const std::vector<std::size_t>& /*arguments*/, const Arrays& /*outputs*/) override {
    return {to_device(cotangents[0], device_of(inputs[0]))};
  }
};

}  // namespace

Array to_device(const Array& a, const Device& device) {
  if (device_of(a) == device) return a;
  const Stream current = current_stream();
  const Stream stream = current.device() == device ? current : device.default_stream();
  return {a.shape(), a.dtype(), std::make_shared<ToDevice>(stream), {a}};
}

}  // namespace strandline::array
