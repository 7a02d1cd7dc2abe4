// SPDX-License-Identifier: Apache-2.0
// Topic: random arrays, the submodule strandline._native.array.random.

#include <optional>
#include <string>

#include <nanobind/nanobind.h>

#include "array_topics.h"
#include "array_values.h"
#include "strandline/array/random.h"
#include "strandline/core/error.h"

namespace strandline::python {
namespace {

using array::Array;
using array::Dtype;
namespace random = array::random;

nb::object empty_shape() {
  return nb::make_tuple();
}

Dtype float_or(const char* function, nb::handle dtype) {
  return dtype_or_none(function, dtype).value_or(Dtype::float32);
}

// Seeds are 64 bits without a sign.
std::uint64_t seed_of(const char* function, nb::handle value) {
  if (PyIndex_Check(value.ptr()) == 0) throw_type(function, "seed", value, "an integer");
  const nb::object number = nb::steal(PyNumber_Index(value.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  const unsigned long long seed = PyLong_AsUnsignedLongLong(number.ptr());
  if (PyErr_Occurred() == nullptr) return seed;
  PyErr_Clear();
  throw InvalidArgument(error_message(function, "seed", nb::cast<std::string>(nb::repr(number)),
                                      "an integer from 0 to 18446744073709551615"));
}

std::optional<Array> key_or_none(const char* function, nb::handle key) {
  return array_or_none(function, "key", key);
}

constexpr const char* kShapeToKey =
    "shape: ShapeLike = (), dtype: DtypeLike | None = None, key: Array | None = None";

void def_keys(nb::module_& m) {
  m.def(
      "seed", [](nb::handle seed) { random::seed(seed_of("seed", seed)); }, value_arg("seed"),
      nb::sig("def seed(seed: int) -> None"),
      "Begins this thread's sequence of keys anew, from an integer of 64 bits without a sign.");
  m.def(
      "key", [](nb::handle seed) { return random::key(seed_of("key", seed)); }, value_arg("seed"),
      nb::sig("def key(seed: int) -> Array"),
      "A key, uint32 of shape (2,), of an integer of 64 bits without a sign.");
  m.def(
      "split",
      [](nb::handle key, nb::handle num) {
        return random::split(given_array("split", "key", key), int_of("split", "num", num));
      },
      value_arg("key"), nb::arg("num").none() = 2,
      nb::sig("def split(key: Array, num: int = 2) -> Array"),
      "Keys that are independent of each other and of the one given: uint32 of shape (num, 2).");
  m.def(
      "bits",
      [](nb::handle shape, nb::handle key) {
        return random::bits(shape_of("bits", shape), key_or_none("bits", key));
      },
      nb::arg("shape").none() = empty_shape(), nb::arg("key") = nb::none(),
      nb::sig(signature("bits", "shape: ShapeLike = (), key: Array | None = None").c_str()),
      "Uniform uint32.");
}

void def_floats(nb::module_& m) {
  m.def(
      "uniform",
      [](nb::handle low, nb::handle high, nb::handle shape, nb::handle dtype, nb::handle key) {
        return random::uniform(operand_of("uniform", "low", low),
                               operand_of("uniform", "high", high), shape_of("uniform", shape),
                               float_or("uniform", dtype), key_or_none("uniform", key));
      },
      nb::arg("low").none() = nb::int_(0), nb::arg("high").none() = nb::int_(1),
      nb::arg("shape").none() = empty_shape(), nb::arg("dtype") = nb::none(),
      nb::arg("key") = nb::none(),
      nb::sig(signature("uniform",
                        std::string("low: ArrayLike = 0, high: ArrayLike = 1, ") + kShapeToKey)
                  .c_str()),
      "Evenly in [low, high); the bounds broadcast to the shape. float32 unless said.");
  m.def(
      "normal",
      [](nb::handle shape, nb::handle dtype, nb::handle loc, nb::handle scale, nb::handle key) {
        return random::normal(shape_of("normal", shape), float_or("normal", dtype),
                              real_of("normal", "loc", loc), real_of("normal", "scale", scale),
                              key_or_none("normal", key));
      },
      nb::arg("shape").none() = empty_shape(), nb::arg("dtype") = nb::none(),
      nb::arg("loc").none() = 0.0, nb::arg("scale").none() = 1.0, nb::arg("key") = nb::none(),
      nb::sig(signature("normal",
                        "shape: ShapeLike = (), dtype: DtypeLike | None = None, loc: float = 0.0,"
                        " scale: float = 1.0, key: Array | None = None")
                  .c_str()),
      "Normal, of mean loc and standard deviation scale. float32 unless said.");
}

void def_integers(nb::module_& m) {
  m.def(
      "randint",
      [](nb::handle low, nb::handle high, nb::handle shape, nb::handle dtype, nb::handle key) {
        return random::randint(operand_of("randint", "low", low),
                               operand_of("randint", "high", high), shape_of("randint", shape),
                               dtype_or_none("randint", dtype).value_or(Dtype::int32),
                               key_or_none("randint", key));
      },
      value_arg("low"), value_arg("high"), nb::arg("shape").none() = empty_shape(),
      nb::arg("dtype") = nb::none(), nb::arg("key") = nb::none(),
      nb::sig(signature("randint", std::string("low: ArrayLike, high: ArrayLike, ") + kShapeToKey)
                  .c_str()),
      "Integers in [low, high); the bounds broadcast to the shape. int32 unless said.");
  m.def(
      "categorical",
      [](nb::handle logits, nb::handle axis, nb::handle key) {
        return random::categorical(operand_of("categorical", "logits", logits),
                                   axis_of("categorical", axis), key_or_none("categorical", key));
      },
      value_arg("logits"), nb::arg("axis").none() = -1, nb::arg("key") = nb::none(),
      nb::sig(
          signature("categorical", "logits: ArrayLike, axis: int = -1, key: Array | None = None")
              .c_str()),
      "Indices drawn by softmax(logits) along an axis, which the result lacks; uint32.");
}

}  // namespace

void init_array_random(nb::module_& m) {
  nb::module_ sub = m.def_submodule("random", "Random arrays from keys, equal to MLX's.");
  def_keys(sub);
  def_floats(sub);
  def_integers(sub);
}

}  // namespace strandline::python
