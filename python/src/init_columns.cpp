// SPDX-License-Identifier: Apache-2.0
// Topic: snapshot files as tables of columns: NumPy arrays on the memory of the file, and capsules
// of Arrow's PyCapsule protocol. What is handed out keeps the file alive, not the interpreter.

#include <algorithm>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/arrow_export.h"
#include "strandline/snapshot/column_table.h"

namespace strandline::python {
namespace {

using namespace strandline::snapshot;

const TableColumn& column_of(const ColumnTable& table, const std::string& name) {
  const auto found = std::find_if(table.columns.begin(), table.columns.end(),
                                  [&](const TableColumn& column) { return column.name == name; });
  if (found != table.columns.end()) return *found;
  throw OutOfRange(error_message("Columns", "column", "\"" + name + "\"", "one of `names`"));
}

nb::dlpack::dtype dtype_of(ColumnType type) {
  switch (type) {
    case ColumnType::u8:
      return nb::dtype<std::uint8_t>();
    case ColumnType::u32:
      return nb::dtype<std::uint32_t>();
    case ColumnType::i64:
    case ColumnType::time_us:
      return nb::dtype<std::int64_t>();
    case ColumnType::u64:
      break;
  }
  return nb::dtype<std::uint64_t>();
}

using Array = nb::ndarray<nb::numpy, nb::ro>;

Array array_of(const ColumnTable& table, const std::string& name) {
  const TableColumn& column = column_of(table, name);
  auto* const kept = new std::shared_ptr<const void>(column.owner);
  const nb::capsule owner(kept, [](void* pointer) noexcept {
    delete static_cast<std::shared_ptr<const void>*>(pointer);
  });
  const std::size_t shape[1] = {table.rows};
  static const std::uint64_t nothing = 0;
  const void* const values = column.values == nullptr ? &nothing : column.values;
  return Array(const_cast<void*>(values), 1, shape, owner, nullptr, dtype_of(column.type));
}

nb::object texts_of(const ColumnTable& table, const std::string& name) {
  const TableColumn& column = column_of(table, name);
  if (column.texts == nullptr) return nb::none();
  nb::list list;
  for (std::size_t i = 0; i < column.texts->count(); ++i) {
    const auto begin = static_cast<std::size_t>(column.texts->offsets[i]);
    const auto end = static_cast<std::size_t>(column.texts->offsets[i + 1]);
    list.append(nb::str(column.texts->bytes.data() + begin, end - begin));
  }
  return list;
}

/// A structure of Arrow's in a capsule that releases it where no consumer took it over.
template <typename Structure>
nb::object capsule_of(Structure* structure, const char* name) {
  PyObject* const capsule = PyCapsule_New(structure, name, [](PyObject* self) {
    auto* const held = static_cast<Structure*>(PyCapsule_GetPointer(self, PyCapsule_GetName(self)));
    if (held == nullptr) return PyErr_Clear();
    if (held->release != nullptr) held->release(held);
    delete held;
  });
  if (capsule == nullptr) throw nb::python_error();
  return nb::steal(capsule);
}

nb::object schema_capsule(const ColumnTable& table) {
  auto schema = std::make_unique<ArrowSchema>();
  export_schema(table, schema.get());
  return capsule_of(schema.release(), "arrow_schema");
}

nb::object array_capsules(const ColumnTable& table, const nb::object&) {
  auto array = std::make_unique<ArrowArray>();
  export_array(table, array.get());
  const nb::object values = capsule_of(array.release(), "arrow_array");
  return nb::make_tuple(schema_capsule(table), values);
}

nb::object stream_capsule(const ColumnTable& table, const nb::object&) {
  auto stream = std::make_unique<ArrowArrayStream>();
  export_stream(table, stream.get());
  return capsule_of(stream.release(), "arrow_array_stream");
}

std::vector<std::string> names_of(const ColumnTable& table) {
  std::vector<std::string> names;
  for (const TableColumn& column : table.columns) names.push_back(column.name);
  return names;
}

ColumnTable table_of(const LoadedFile& loaded, const std::string& name) {
  if (name == "events") return event_table(loaded.file);
  if (name == "blocks") return block_table(loaded.file);
  if (name == "segments") return segment_table(loaded.file);
  if (name == "frames") return frame_table(loaded.file);
  return stack_table(loaded.file);
}

}  // namespace

void init_columns(nb::module_& m) {
  nb::class_<ColumnTable>(m, "ColumnTable", "Columns of one length.")
      .def_prop_ro("names", &names_of)
      .def("__len__", [](const ColumnTable& table) { return table.rows; })
      .def("array", &array_of, nb::arg("name"), "On the memory of the file where it can be.")
      .def(
          "is_copy",
          [](const ColumnTable& table, const std::string& name) {
            return column_of(table, name).is_copy;
          },
          nb::arg("name"), "Made for the table.")
      .def(
          "is_time",
          [](const ColumnTable& table, const std::string& name) {
            return column_of(table, name).type == ColumnType::time_us;
          },
          nb::arg("name"), "Unix microseconds.")
      .def("texts", &texts_of, nb::arg("name"),
           nb::sig("def texts(self, name: str) -> list[str] | None"),
           "What the values are numbers of; None where they are just numbers.")
      .def("__arrow_c_schema__", &schema_capsule, nb::sig("def __arrow_c_schema__(self) -> object"))
      .def("__arrow_c_array__", &array_capsules, nb::arg("requested_schema") = nb::none(),
           nb::sig("def __arrow_c_array__(self, requested_schema: object | None = None) -> "
                   "tuple[object, object]"))
      .def("__arrow_c_stream__", &stream_capsule, nb::arg("requested_schema") = nb::none(),
           nb::sig("def __arrow_c_stream__(self, requested_schema: object | None = None) -> "
                   "object"));
  m.def("table", &table_of, nb::arg("file"), nb::arg("name"),
        "Of events, blocks, segments, frames or stacks.");
}

}  // namespace strandline::python
