// SPDX-License-Identifier: Apache-2.0
// The array: a shared pointer to a descriptor. Copying an array copies the pointer; `y = x` has x's
// id, every new array another. An array is a leaf, which has its values from the start, or one
// output of a call of a primitive, which is run when somebody asks for the values (eval.h).
//
//   Array a({1.0F, 2.0F});  Array b = a + a;       b is unscheduled
//   b.eval();                                      evaluated (queued), then available
//
//   status   unscheduled ──eval──▶ evaluated ──its work is done──▶ available
//
// Threads: any, also those that share arrays not yet evaluated; an Array object itself, as a
// pointer to its descriptor, is written by one thread at a time. Errors: InvalidArgument,
// OutOfRange, OutOfMemory, DeviceError as said; work that failed shows once, at the wait that
// covers it, and values that were never made are refused from then on.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "strandline/array/device.h"
#include "strandline/array/dtype.h"
#include "strandline/array/shape.h"
#include "strandline/core/export.h"

namespace strandline::array {

struct Descriptor;
class Primitive;

enum class Status : std::uint8_t { unscheduled, evaluated, available };

class STRANDLINE_API Array {
 public:
  /// A leaf with a copy of `values`, row-major, on `device`.
  Array(const void* values, const Shape& shape, Dtype dtype,
        const Device& device = current_stream().device());
  template <Element T>
  Array(T value) : Array(&value, Shape{}, kDtypeOf<T>) {}  // NOLINT(google-explicit-constructor)
  template <Element T>
  Array(std::initializer_list<T> values)
      : Array(values.begin(), Shape{static_cast<std::int64_t>(values.size())}, kDtypeOf<T>) {}
  /// InvalidArgument when `shape` has another number of elements.
  template <Element T>
  Array(std::initializer_list<T> values, const Shape& shape)
      : Array(checked_values(values.begin(), values.size(), shape), shape, kDtypeOf<T>) {}
  /// A leaf with `values` of `from` converted to `dtype`.
  static Array converted(const void* values, Dtype from, const Shape& shape, Dtype dtype,
                         const Device& device = current_stream().device());
  /// A leaf over memory of the caller, given back by `deleter` exactly once: when the last array
  /// that shares it is gone, or at once when the device cannot wrap it and a copy was made.
  static Array wrap(void* memory, const Shape& shape, Dtype dtype,
                    std::function<void(void*)> deleter,
                    const Device& device = current_stream().device());
  /// The same over any layout: `memory` is the first element, `strides` count elements and may be
  /// negative or 0. None, and `deleter` not called, when the device cannot wrap the memory, when it
  /// is wrapped or in use already, and when there are no elements.
  static std::optional<Array> try_wrap(void* memory, const Shape& shape, const Strides& strides,
                                       Dtype dtype, const std::function<void(void*)>& deleter,
                                       const Device& device = current_stream().device());
  /// A row of a function that is being traced: no values, refused by eval.
  static Array placeholder(const Shape& shape, Dtype dtype);
  /// The one output of a call of `primitive`.
  Array(const Shape& shape, Dtype dtype, std::shared_ptr<Primitive> primitive,
        std::vector<Array> inputs);
  /// All outputs of a call: siblings.
  static std::vector<Array> call(const std::vector<std::pair<Shape, Dtype>>& outputs,
                                 std::shared_ptr<Primitive> primitive, std::vector<Array> inputs);

  const Shape& shape() const noexcept;
  /// OutOfRange for an axis that is not there; negative ones count from the end.
  std::int64_t shape(int axis) const;
  std::size_t ndim() const noexcept { return shape().size(); }
  std::uint64_t size() const noexcept;  ///< elements
  std::uint64_t nbytes() const noexcept;
  Dtype dtype() const noexcept;
  /// Address of the descriptor.
  std::uintptr_t id() const noexcept { return reinterpret_cast<std::uintptr_t>(node_.get()); }

  Status status() const noexcept;
  /// Whether the values are there; never waits. Throws what made their work fail, once.
  bool is_available() const;
  /// Blocks until they are; an unscheduled array is refused with InvalidArgument.
  void wait() const;
  /// Evaluates if need be, and waits.
  void eval() const;
  /// Takes it, and its siblings, out of the graph: what only they needed is freed.
  void detach() const noexcept;

  /// The value of an array of one element, converted to T. Evaluates. InvalidArgument for others.
  template <Element T>
  T item() const {
    T value{};
    read_item(&value, kDtypeOf<T>);
    return value;
  }
  /// Where the values lie, with `descriptor().strides`. Evaluates. TypeMismatch for another dtype.
  template <Element T>
  const T* data() const {
    return static_cast<const T*>(read_data(kDtypeOf<T>));
  }
  /// The values row by row, converted to T (uint8_t for bool).
  template <Element T>
  requires(!std::is_same_v<T, bool>) std::vector<T> values()
  const {
    std::vector<T> result(size());
    read_values(result.data(), kDtypeOf<T>);
    return result;
  }
  const void* read_data(Dtype dtype) const;
  void read_values(void* to, Dtype dtype) const;

  Descriptor& descriptor() const noexcept { return *node_; }
  /// Of descriptors that share this array's.
  long use_count() const noexcept { return node_.use_count(); }

  explicit Array(std::shared_ptr<Descriptor> node) noexcept : node_(std::move(node)) {}
  const std::shared_ptr<Descriptor>& node() const noexcept { return node_; }

 private:
  static const void* checked_values(const void* values, std::size_t count, const Shape& shape);
  void read_item(void* to, Dtype dtype) const;

  std::shared_ptr<Descriptor> node_;
};

}  // namespace strandline::array
