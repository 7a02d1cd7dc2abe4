// SPDX-License-Identifier: Apache-2.0
// Topic: random arrays, the submodule strandline._native.array.random.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "array_topics.h"
#include "array_values.h"
#include "strandline/array/random.h"

namespace strandline::python {
namespace {

using array::Array;
using array::Dtype;
using Key = std::optional<Array>;

nb::object empty_shape() {
  return nb::make_tuple();
}

Dtype float_or(const char* function, nb::handle dtype) {
  return dtype_or_none(function, dtype).value_or(Dtype::float32);
}

}  // namespace

void init_array_random(nb::module_& m) {
  namespace random = array::random;
  nb::module_ sub = m.def_submodule("random", "Random arrays from keys, equal to MLX's.");
  sub.def("seed", &random::seed, nb::arg("seed"), "Begins this thread's sequence of keys anew.");
  sub.def("key", &random::key, nb::arg("seed"), "A key: uint32 of shape (2,).");
  sub.def("split", &random::split, nb::arg("key"), nb::arg("num") = 2,
          "Keys that are independent of each other and of the one given.");
  sub.def(
      "bits",
      [](nb::object shape, const Key& key) { return random::bits(shape_of("bits", shape), key); },
      nb::arg("shape") = empty_shape(), nb::arg("key") = nb::none(), "Uniform uint32.");
  sub.def(
      "uniform",
      [](nb::object low, nb::object high, nb::object shape, nb::object dtype, const Key& key) {
        return random::uniform(operand_of("uniform", low), operand_of("uniform", high),
                               shape_of("uniform", shape), float_or("uniform", dtype), key);
      },
      nb::arg("low") = nb::int_(0), nb::arg("high") = nb::int_(1), nb::arg("shape") = empty_shape(),
      nb::arg("dtype") = nb::none(), nb::arg("key") = nb::none(), "Evenly in [low, high).");
  sub.def(
      "normal",
      [](nb::object shape, nb::object dtype, double loc, double scale, const Key& key) {
        return random::normal(shape_of("normal", shape), float_or("normal", dtype), loc, scale,
                              key);
      },
      nb::arg("shape") = empty_shape(), nb::arg("dtype") = nb::none(), nb::arg("loc") = 0.0,
      nb::arg("scale") = 1.0, nb::arg("key") = nb::none(), "Normal, of mean loc.");
  sub.def(
      "randint",
      [](nb::object low, nb::object high, nb::object shape, nb::object dtype, const Key& key) {
        return random::randint(operand_of("randint", low), operand_of("randint", high),
                               shape_of("randint", shape),
                               dtype_or_none("randint", dtype).value_or(Dtype::int32), key);
      },
      nb::arg("low"), nb::arg("high"), nb::arg("shape") = empty_shape(),
      nb::arg("dtype") = nb::none(), nb::arg("key") = nb::none(), "Integers in [low, high).");
  sub.def(
      "categorical",
      [](const Array& logits, std::int64_t axis, const random::Key& key) {
        return random::categorical(logits, axis_of("categorical", axis), key);
      },
      nb::arg("logits"), nb::arg("axis") = -1, nb::arg("key") = nb::none(),
      "Indices drawn by softmax(logits) along an axis.");
}

}  // namespace strandline::python
