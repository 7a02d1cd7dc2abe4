// SPDX-License-Identifier: Apache-2.0
// Topic: arrays, the submodule strandline._native.array: the class, dtypes, and arrays from and to
// Python's values. What it offers is re-exported by strandline.array as it is, so arguments are
// checked here.

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "array_topics.h"
#include "array_values.h"
#include "bindings.h"
#include "strandline/array/descriptor.h"
#include "strandline/array/primitive.h"
#include "strandline/core/error.h"

namespace strandline::python {
namespace {

using array::Array;
using array::Dtype;

// Functions that let go of the lock take a copy: meanwhile x += 1 may give the object another
// value.
nb::object item_object(const Array& given) {
  const Array a(given.node());
  if (a.size() != 1) {
    throw InvalidArgument(
        error_message("item", "array", std::to_string(a.size()) + " elements", "one element"));
  }
  {
    const ReleasedForWait released;
    a.eval();
  }
  if (a.dtype() == Dtype::bool_) return nb::bool_(a.item<std::uint8_t>() != 0);
  if (array::is_floating(a.dtype())) return nb::float_(a.item<double>());
  return nb::int_(a.item<std::int64_t>());
}

nb::object index_object(const Array& a) {
  const bool is_integer = !array::is_floating(a.dtype()) && a.dtype() != Dtype::bool_;
  if (is_integer && a.ndim() == 0) return item_object(a);
  throw TypeMismatch(error_message("index", "array",
                                   "one of " + std::string(array::dtype_name(a.dtype())) +
                                       " and shape " + array::shape_text(a.shape()),
                                   "a scalar of integers"));
}

template <typename T, typename Make>
nb::object nested(const T*& next, const array::Shape& shape, std::size_t axis, const Make& make) {
  if (axis == shape.size()) return make(*next++);
  nb::list list;
  for (std::int64_t i = 0; i < shape[axis]; ++i) {
    list.append(nested(next, shape, axis + 1, make));
  }
  return list;
}

nb::object tolist(const Array& given) {
  const Array a(given.node());
  {
    const ReleasedForWait released;
    a.eval();
  }
  if (array::is_floating(a.dtype())) {
    const auto values = a.values<double>();
    const double* next = values.data();
    return nested(next, a.shape(), 0, [](double value) { return nb::float_(value); });
  }
  const auto values = a.values<std::int64_t>();
  const std::int64_t* next = values.data();
  if (a.dtype() == Dtype::bool_) {
    return nested(next, a.shape(), 0, [](auto value) { return nb::bool_(value != 0); });
  }
  return nested(next, a.shape(), 0, [](auto value) { return nb::int_(value); });
}

std::int64_t length_of(const Array& a) {
  if (a.ndim() == 0) {
    throw TypeMismatch(error_message("len", "array", "a scalar", "an array with axes"));
  }
  return a.shape()[0];
}

const char* status_name(const Array& a) {
  switch (a.status()) {
    case array::Status::unscheduled:
      return "unscheduled";
    case array::Status::evaluated:
      return "evaluated";
    case array::Status::available:
      return "available";
  }
  return "";
}

nb::object primitive_name(const Array& a) {
  const auto call = array::call_of(a);
  return call == nullptr ? nb::none() : text_object(std::string(call->primitive->name()));
}

void def_dtypes(nb::module_& m) {
  nb::class_<ArrayDtype>(m, "Dtype", "The type of an array's elements.")
      .def_prop_ro(
          "name",
          [](const ArrayDtype& d) { return text_object(std::string(array::dtype_name(d.value))); },
          nb::sig("def name(self) -> str"))
      .def_prop_ro(
          "size", [](const ArrayDtype& d) { return array::dtype_size_bytes(d.value); },
          "Bytes of one element.")
      .def(
          "__repr__",
          [](const ArrayDtype& d) {
            return text_object("strandline.array." + std::string(array::dtype_name(d.value)));
          },
          nb::sig("def __repr__(self) -> str"))
      // There is one object of each.
      .def(
          "__copy__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __copy__(self) -> Dtype"))
      .def(
          "__deepcopy__", [](nb::handle self, nb::handle /*memo*/) { return nb::borrow(self); },
          nb::arg("memo"), nb::sig("def __deepcopy__(self, memo: dict[int, typing.Any]) -> Dtype"));
  nb::dict all;
  for (const char* name :
       {"bool", "uint8", "uint32", "int32", "int64", "float16", "bfloat16", "float32", "float64"}) {
    all[name] = dtype_object(array::dtype_named(name));
  }
  m.attr("dtypes") = all;
}

void def_facts(ArrayClass& array) {
  array
      .def_prop_ro(
          "shape", [](const Array& a) { return shape_object(a.shape()); },
          nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro("ndim", [](const Array& a) { return a.ndim(); })
      .def_prop_ro(
          "size", [](const Array& a) { return a.size(); }, "Elements.")
      .def_prop_ro("nbytes", [](const Array& a) { return a.nbytes(); })
      .def_prop_ro("itemsize", [](const Array& a) { return array::dtype_size_bytes(a.dtype()); })
      .def_prop_ro(
          "dtype", [](const Array& a) { return dtype_object(a.dtype()); },
          nb::sig("def dtype(self) -> Dtype"))
      .def_prop_ro(
          "id", [](const Array& a) { return a.id(); }, "Of the descriptor.")
      .def_prop_ro(
          "status", [](const Array& a) { return nb::str(status_name(a)); },
          nb::sig("def status(self) -> str"), "'unscheduled', 'evaluated' or 'available'.")
      .def_prop_ro("primitive", &primitive_name, nb::sig("def primitive(self) -> str | None"),
                   "What makes it, None for a leaf and once it is evaluated.")
      .def_prop_ro(
          "address", [](const Array& a) { return array::buffer_address_of(a); },
          "Of its buffer, as the record has it; 0 before it has one.")
      .def_prop_ro(
          "device", [](const Array& a) { return array::device_of(a); },
          "Where its values lie, or will.")
      .def(
          "is_available",
          [](const Array& given) {
            const Array a(given.node());
            return a.is_available();
          },
          "Whether the values are there; never waits.");
}

nb::object formatted(nb::handle self, const nb::str& form) {
  const Array& a = nb::cast<const Array&>(self);
  if (nb::len(form) == 0) return nb::str(self);
  if (a.ndim() != 0) {
    throw TypeMismatch(error_message("format", "array",
                                     "one of shape " + array::shape_text(a.shape()),
                                     "one without axes for a format such as '.2f'"));
  }
  const nb::object value = item_object(a);
  nb::object text = nb::steal(PyObject_Format(value.ptr(), form.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

nb::object rows_of(nb::handle self) {
  nb::list rows;
  const std::int64_t length = length_of(nb::cast<const Array&>(self));
  for (std::int64_t i = 0; i < length; ++i) rows.append(self[nb::int_(i)]);
  return nb::iter(rows);
}

void def_values(ArrayClass& array) {
  array
      .def("item", &item_object, nb::sig("def item(self) -> bool | int | float"),
           "The value of an array of one element; ValueError for others. Evaluates.")
      .def("tolist", &tolist, nb::sig("def tolist(self) -> typing.Any"),
           "Nested lists of numbers, one number for an array without axes. Evaluates.")
      .def("__bool__", [](const Array& a) { return nb::cast<bool>(nb::bool_(item_object(a))); })
      .def(
          "__float__", [](const Array& a) { return nb::float_(item_object(a)); },
          nb::sig("def __float__(self) -> float"))
      .def(
          "__int__", [](const Array& a) { return nb::int_(item_object(a)); },
          nb::sig("def __int__(self) -> int"))
      .def("__index__", &index_object, nb::sig("def __index__(self) -> int"),
           "Of a scalar of integers.")
      .def("__len__", &length_of)
      .def(
          "__repr__", [](const Array& a) { return text_object(text_of(a)); },
          nb::sig("def __repr__(self) -> str"),
          "As NumPy's, with the dtype; of more than 1000 elements the ends of each axis.")
      .def("__format__", &formatted, nb::arg("form"),
           nb::sig("def __format__(self, form: str, /) -> str"),
           "Of an array without axes as of its number, else the text of the array.")
      .def(
          "__hash__", [](nb::handle self) { return reinterpret_cast<Py_hash_t>(self.ptr()) >> 4; },
          nb::sig("def __hash__(self) -> int"), "Of the object, which x += 1 keeps.")
      .def("__iter__", &rows_of, nb::sig("def __iter__(self) -> collections.abc.Iterator[Array]"));
}

void def_exports(ArrayClass& array) {
  array
      .def(
          "__dlpack__",
          [](const Array& a, nb::handle stream, nb::handle max_version, nb::handle dl_device,
             nb::handle copy) {
            return array_tensor(a, {stream, max_version, dl_device, copy});
          },
          nb::kw_only(), nb::arg("stream") = nb::none(), nb::arg("max_version") = nb::none(),
          nb::arg("dl_device") = nb::none(), nb::arg("copy") = nb::none(),
          nb::sig("def __dlpack__(self, *, stream: None = None,"
                  " max_version: tuple[int, int] | None = None,"
                  " dl_device: tuple[int, int] | None = None,"
                  " copy: bool | None = None) -> typing.Any"),
          "A DLPack capsule of the memory, which the array API standard of 2024 describes;\n"
          "evaluates. Without a copy it is for reading: from version 1.0 on the capsule says so.\n"
          "BufferError for another device than (1, 0), the host.")
      .def(
          "__dlpack_device__", [](const Array&) { return nb::make_tuple(1, 0); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"),
          "(1, 0), the host: every device of arrays has memory that it reaches.")
      .def("__array__", &array_for_numpy, nb::arg("dtype") = nb::none(),
           nb::arg("copy") = nb::none(),
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None)"
                   " -> typing.Any"),
           "For NumPy where it cannot use the memory: bfloat16 needs a dtype, or ml_dtypes to be\n"
           "installed; TypeError without.");
}

std::optional<bool> truth_or_none(const char* function, const char* what, nb::handle value) {
  return value.is_none() ? std::nullopt : std::optional(truth_of(function, what, value));
}

void def_making(nb::module_& m) {
  m.def(
      "array",
      [](nb::handle value, nb::handle dtype) {
        return make_array("array", value, dtype_or_none("array", dtype));
      },
      value_arg("value"), nb::arg("dtype") = nb::none(),
      nb::sig(signature("array", "value: ArrayLike, dtype: DtypeLike | None = None").c_str()),
      "A new array of a number, nested lists, a buffer or a DLPack tensor, copied. Integers "
      "become\n"
      "int32, or int64 where they need it; floats and memory of float64 become float32 unless a\n"
      "dtype is given. TypeError for what has no numbers, ValueError for lists of unequal "
      "lengths.");
  m.def(
      "asarray",
      [](nb::handle value, nb::handle dtype, nb::handle copy) {
        return array_without_copy(value, dtype_or_none("asarray", dtype),
                                  truth_or_none("asarray", "copy", copy));
      },
      value_arg("value"), nb::arg("dtype") = nb::none(), nb::arg("copy") = nb::none(),
      nb::sig(signature("asarray",
                        "value: ArrayLike, dtype: DtypeLike | None = None,"
                        " copy: bool | None = None")
                  .c_str()),
      "An array over the own memory of a buffer, or of a tensor that has __dlpack__, in any "
      "layout\n"
      "of whole, aligned elements, where the device can use it; else a copy. An array is returned\n"
      "as it is. copy=True always copies, copy=False raises ValueError where a copy is needed. "
      "The\n"
      "memory must not change while arrays use it.");
}

}  // namespace

void init_array(nb::module_& m) {
  install_blocking_hook();
  nb::module_ sub = m.def_submodule("array", "Lazy arrays.");
  def_dtypes(sub);
  ArrayClass array(sub, "Array", nb::type_slots(g_array_slots), nb::is_weak_referenceable(),
                   "A lazy array. Python's buffer protocol sees its values.");
  def_facts(array);
  def_values(array);
  def_exports(array);
  init_array_operators(array);
  def_array_indexing(array);
  def_array_copies(array);
  def_making(sub);
  init_array_devices(sub);
  init_array_operations(sub, array);
  init_array_reductions(sub, array);
  init_array_shapes(sub, array);
  init_array_random(sub);
  init_array_graph(sub);
}

}  // namespace strandline::python
