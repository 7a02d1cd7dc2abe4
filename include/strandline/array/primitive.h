// SPDX-License-Identifier: Apache-2.0
// The primitive: one kind of operation, with the stream it runs on. `eval` is called when all
// inputs have memory; it gives each output memory through the encoder, says what the kernel reads
// and writes, and hands over the kernel, which runs later as work of the stream.
//
//   void eval(inputs, outputs, encoder) {
//     encoder.allocate(outputs[0]);
//     auto in = encoder.read(inputs[0]);  auto out = encoder.write(outputs[0]);
//     encoder.run([in, out] { kernel(in, out); });
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "strandline/array/array.h"
#include "strandline/core/export.h"

namespace strandline::array {

/// An operand as a kernel sees it: where element (0, …) lies, and strides in elements.
struct Operand {
  std::byte* at = nullptr;
  Shape shape;
  Strides strides;
  std::uint64_t size = 0;
  std::uint64_t data_size = 0;
  Dtype dtype = Dtype::unknown;
  bool is_row_contiguous = true;
};

class Encoder;

class STRANDLINE_API Primitive {
 public:
  explicit Primitive(Stream stream) : stream_(std::move(stream)) {}
  virtual ~Primitive() = default;
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;

  /// A string that lives as long as the library: the op of the record.
  virtual std::string_view name() const noexcept = 0;
  /// May throw; the array stays unscheduled then, and what it had been given is taken back.
  virtual void eval(const std::vector<Array>& inputs, std::vector<Array>& outputs,
                    Encoder& encoder) = 0;
  /// Gradients with respect to the inputs named by `arguments`, one each. `cotangents` and
  /// `outputs` go by output. The default refuses with InvalidArgument.
  virtual std::vector<Array> vjp(const std::vector<Array>& inputs,
                                 const std::vector<Array>& cotangents,
                                 const std::vector<std::size_t>& arguments,
                                 const std::vector<Array>& outputs);
  /// Whether what it makes of followed inputs is followed.
  virtual bool is_followed() const noexcept { return true; }
  /// Whether inputs may lie on other devices than its stream's; elsewhere a call is refused.
  virtual bool takes_other_devices() const noexcept { return false; }

  const Stream& stream() const noexcept { return stream_; }

 private:
  Stream stream_;
};

/// Of one evaluation of one primitive; lives on the stack of the evaluating thread.
class STRANDLINE_API Encoder {
 public:
  explicit Encoder(const Stream& stream);
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  /// Memory for `output`, row-major.
  void allocate(Array& output);
  /// The same with the strides of a dense array of its shape.
  void allocate(Array& output, const Strides& strides);
  /// `output` takes over the buffer of an input that nobody else has: same element size, and a
  /// buffer that is not larger than it needs by more than 16 KiB. The input must be dense.
  bool try_donate(const Array& input, Array& output);
  /// `output` becomes a view: of `input`'s memory, `offset` elements further.
  void share(const Array& input, Array& output, const Strides& strides, std::int64_t offset = 0);

  /// `output` gets memory and the values of an input of another device, now and by the host.
  void copy_across(const Array& input, Array& output);

  /// What the next run() reads, and writes.
  Operand read(const Array& input);
  Operand write(Array& output);
  /// Memory for the next run() alone.
  std::byte* temporary(std::uint64_t bytes);
  /// Queues the kernel with all that was named since the last one. It must not wait.
  void run(std::function<void()> kernel);

  const Stream& stream() const noexcept { return stream_; }
  /// Whether anything was queued.
  bool has_run() const noexcept { return has_run_; }
  void set_name(std::string_view name) noexcept { name_ = name; }
  /// Somebody else needs the inputs as they are.
  void forbid_donation() noexcept { may_donate_ = false; }

 private:
  struct Task;
  struct Pending;
  const Stream& stream_;
  std::string_view name_ = "Work";
  std::unique_ptr<Pending> pending_;
  bool has_run_ = false;
  bool may_donate_ = true;
};

}  // namespace strandline::array
