// SPDX-License-Identifier: Apache-2.0
// Topic: copies of arrays as the modules copy and pickle make them. Values never change, so a copy
// is another object of the same array; a pickle has the values row by row.

#include <new>
#include <string>
#include <tuple>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include "array_topics.h"
#include "array_values.h"
#include "strandline/core/error.h"

namespace strandline::python {
namespace {

using array::Array;

nb::bytes values_of(const Array& a) {
  {
    const ReleasedForWait released;
    a.eval();
  }
  nb::bytes values =
      nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(a.nbytes())));
  if (!values.is_valid()) throw nb::python_error();
  a.read_values(PyBytes_AS_STRING(values.ptr()), a.dtype());
  return values;
}

Array from_values(const nb::bytes& values, const std::string& dtype, nb::handle shape) {
  const array::Dtype of = array::dtype_named(dtype);
  const array::Shape extents = shape_of("unpickle", shape);
  const std::uint64_t bytes =
      array::element_count("unpickle", extents) * array::dtype_size_bytes(of);
  if (values.size() != bytes) {
    throw InvalidArgument(error_message("unpickle", "values",
                                        std::to_string(values.size()) + " bytes",
                                        std::to_string(bytes) + ", as dtype and shape say"));
  }
  return Array(values.c_str(), extents, of);
}

}  // namespace

void def_array_copies(ArrayClass& array) {
  array
      .def(
          "__copy__", [](const Array& a) { return a; }, nb::sig("def __copy__(self) -> Array"))
      .def(
          "__deepcopy__", [](const Array& a, nb::handle /*memo*/) { return a; }, nb::arg("memo"),
          nb::sig("def __deepcopy__(self, memo: dict[int, typing.Any]) -> Array"))
      .def(
          "__getstate__",
          [](const Array& given) {
            const Array a(given.node());
            const std::string dtype(array::dtype_name(a.dtype()));
            return nb::make_tuple(values_of(a), dtype, shape_object(a.shape()));
          },
          nb::sig("def __getstate__(self) -> tuple[bytes, str, tuple[int, ...]]"),
          "For pickle: the values, evaluated. Who reads them has them on the default device.")
      .def(
          "__setstate__",
          [](Array& self, const std::tuple<nb::bytes, std::string, nb::object>& state) {
            const auto& [values, dtype, shape] = state;
            new (&self) Array(from_values(values, dtype, shape));
          },
          nb::arg("state"),
          nb::sig("def __setstate__(self, state: tuple[bytes, str, tuple[int, ...]], /) -> None"));
}

}  // namespace strandline::python
