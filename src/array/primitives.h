// SPDX-License-Identifier: Apache-2.0
// The primitives that operations are made of. Gradients stand in gradients_*.cpp, since they are
// written in operations again.
#pragma once

#include <array>
#include <utility>
#include <variant>
#include <vector>

#include "array/axis_set.h"
#include "array/kernels/loops.h"
#include "array/node_memory.h"
#include "strandline/array/primitive.h"

namespace strandline::array {

using Arrays = std::vector<Array>;

// The three functions of every primitive below.
#define STRANDLINE_PRIMITIVE_BODY                                              \
  std::string_view name() const noexcept override;                             \
  void eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) override; \
  Arrays vjp(const Arrays& inputs, const Arrays& cotangents,                   \
             const std::vector<std::size_t>& arguments, const Arrays& outputs) override

class Unary final : public Primitive {
 public:
  Unary(Stream stream, UnaryOp op) : Primitive(std::move(stream)), op_(op) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  UnaryOp op_;
};

class Binary final : public Primitive {
 public:
  Binary(Stream stream, BinaryOp op) : Primitive(std::move(stream)), op_(op) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  BinaryOp op_;
};

class Select final : public Primitive {
 public:
  using Primitive::Primitive;
  STRANDLINE_PRIMITIVE_BODY;
};

class AsType final : public Primitive {
 public:
  using Primitive::Primitive;
  STRANDLINE_PRIMITIVE_BODY;
};

/// A value spread over a shape, in memory of its own.
class Full final : public Primitive {
 public:
  using Primitive::Primitive;
  STRANDLINE_PRIMITIVE_BODY;
};

class Arange final : public Primitive {
 public:
  /// Counted in doubles, or exactly in integers.
  using Start = std::variant<double, std::int64_t>;
  Arange(Stream stream, Start start, Start step)
      : Primitive(std::move(stream)), start_(start), step_(step) {}
  std::string_view name() const noexcept override { return "Arange"; }
  void eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) override;

 private:
  Start start_;
  Start step_;
};

class Reshape final : public Primitive {
 public:
  using Primitive::Primitive;
  STRANDLINE_PRIMITIVE_BODY;
};

class Transpose final : public Primitive {
 public:
  Transpose(Stream stream, std::vector<std::size_t> axes)
      : Primitive(std::move(stream)), axes_(std::move(axes)) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  std::vector<std::size_t> axes_;
};

class Broadcast final : public Primitive {
 public:
  using Primitive::Primitive;
  STRANDLINE_PRIMITIVE_BODY;
};

class Slice final : public Primitive {
 public:
  Slice(Stream stream, const Shape& start, const Shape& step)
      : Primitive(std::move(stream)), start_(start), step_(step) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  Shape start_;
  Shape step_;
};

class Split final : public Primitive {
 public:
  Split(Stream stream, std::size_t axis, std::vector<std::int64_t> starts)
      : Primitive(std::move(stream)), axis_(axis), starts_(std::move(starts)) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  std::size_t axis_;
  std::vector<std::int64_t> starts_;
};

enum class ViewKind : std::uint8_t { copy, stop_gradient, contiguous };

/// The same elements: as a view, without a gradient, or brought into row-major order.
class View final : public Primitive {
 public:
  View(Stream stream, ViewKind kind) : Primitive(std::move(stream)), kind_(kind) {}
  bool is_followed() const noexcept override { return kind_ != ViewKind::stop_gradient; }
  STRANDLINE_PRIMITIVE_BODY;

 private:
  ViewKind kind_;
};

class Concatenate final : public Primitive {
 public:
  Concatenate(Stream stream, std::size_t axis) : Primitive(std::move(stream)), axis_(axis) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  std::size_t axis_;
};

/// Inputs (a, value): a placed every `step` from `start` on, value elsewhere.
class Pad final : public Primitive {
 public:
  Pad(Stream stream, const Shape& start, const Shape& step)
      : Primitive(std::move(stream)), start_(start), step_(step) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  Shape start_;
  Shape step_;
};

/// Inputs (a, indices…), one for each of the axes.
class Gather final : public Primitive {
 public:
  /// `function` is named by errors.
  Gather(Stream stream, const char* function, std::vector<std::size_t> axes)
      : Primitive(std::move(stream)), function_(function), axes_(std::move(axes)) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  const char* function_;
  std::vector<std::size_t> axes_;
};

/// Inputs (a, updates, indices…).
class ScatterAdd final : public Primitive {
 public:
  ScatterAdd(Stream stream, std::vector<std::size_t> axes)
      : Primitive(std::move(stream)), axes_(std::move(axes)) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  std::vector<std::size_t> axes_;
};

class Matmul final : public Primitive {
 public:
  using Primitive::Primitive;
  STRANDLINE_PRIMITIVE_BODY;
};

/// Without the folded axes.
class Reduce final : public Primitive {
 public:
  Reduce(Stream stream, ReduceOp op, AxisSet axes)
      : Primitive(std::move(stream)), op_(op), axes_(axes) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  ReduceOp op_;
  AxisSet axes_;
};

class ArgReduce final : public Primitive {
 public:
  ArgReduce(Stream stream, ReduceOp op, std::size_t axis)
      : Primitive(std::move(stream)), op_(op), axis_(axis) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  ReduceOp op_;
  std::size_t axis_;
};

class Softmax final : public Primitive {
 public:
  Softmax(Stream stream, AxisSet axes) : Primitive(std::move(stream)), axes_(axes) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  AxisSet axes_;
};

/// Without the folded axes.
class LogSumExp final : public Primitive {
 public:
  LogSumExp(Stream stream, AxisSet axes) : Primitive(std::move(stream)), axes_(axes) {}
  STRANDLINE_PRIMITIVE_BODY;

 private:
  AxisSet axes_;
};

/// Input: keys of shape (…, 2).
class RandomBits final : public Primitive {
 public:
  using Primitive::Primitive;
  std::string_view name() const noexcept override { return "RandomBits"; }
  void eval(const Arrays& inputs, Arrays& outputs, Encoder& encoder) override;
};

#undef STRANDLINE_PRIMITIVE_BODY

/// The inputs of a node. Moved: a vector made of a braced list copies them, and each copy counts up
/// and down once more.
template <typename... Inputs>
Arrays node_inputs(Inputs&&... inputs) {
  Arrays list;
  list.reserve(sizeof...(inputs));
  (list.push_back(std::forward<Inputs>(inputs)), ...);
  return list;
}

/// One output node of a P on the current stream.
template <typename P, typename... Arguments>
Array make_node(const Shape& shape, Dtype dtype, std::vector<Array> inputs,
                Arguments&&... arguments) {
  return Array(shape, dtype,
               make_node_part<P>(current_stream(), std::forward<Arguments>(arguments)...),
               std::move(inputs));
}

}  // namespace strandline::array
