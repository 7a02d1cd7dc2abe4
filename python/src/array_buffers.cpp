// SPDX-License-Identifier: Apache-2.0
// Arrays as memory for others: the buffer protocol (PEP 3118), DLPack, and NumPy's __array__. What
// is exported keeps the array's memory, also when the Python object goes on to another value
// (x += 1): it holds an array of its own.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "array_values.h"
#include "foreign_memory.h"
#include "foreign_tensors.h"
#include "strandline/array/descriptor.h"
#include "strandline/array/operations.h"
#include "strandline/core/error.h"

namespace strandline::python {

using array::Array;
using array::Dtype;

namespace {

/// The format characters of struct, native sizes.
const char* format_of(Dtype dtype) noexcept {
  static_assert(sizeof(long) == 8);
  switch (dtype) {
    case Dtype::bool_:
      return "?";
    case Dtype::uint8:
      return "B";
    case Dtype::uint32:
      return "I";
    case Dtype::int32:
      return "i";
    case Dtype::int64:
      return "l";
    case Dtype::float16:
      return "e";
    case Dtype::float32:
      return "f";
    case Dtype::float64:
      return "d";
    default:
      return nullptr;
  }
}

constexpr const char* kNoBfloat16 =
    "[Array] dtype; got bfloat16, expected one that buffers and NumPy have: use "
    "astype(float32), or install ml_dtypes for NumPy";

/// Shape and strides of one exported view.
struct Exported {
  std::vector<Py_ssize_t> shape;
  std::vector<Py_ssize_t> strides;
  Array kept;
};

// Where the values lie, for readers and never null; waits for them.
std::byte* evaluated_bytes(const Array& array) {
  static std::byte nothing{};
  const ReleasedForWait released_lock;
  auto* const at = static_cast<std::byte*>(const_cast<void*>(array.read_data(array.dtype())));
  return at == nullptr ? &nothing : at;
}

void fill_view(const Array& array, Py_buffer& view) {
  view.buf = evaluated_bytes(array);
  const array::Descriptor& node = array.descriptor();
  const auto item = static_cast<Py_ssize_t>(array::dtype_size_bytes(node.dtype));
  auto exported = std::make_unique<Exported>(Exported{{}, {}, array});
  for (std::size_t i = 0; i < node.shape.size(); ++i) {
    exported->shape.push_back(node.shape[i]);
    exported->strides.push_back(node.strides[i] * item);
  }
  view.len = static_cast<Py_ssize_t>(node.nbytes());
  view.itemsize = item;
  view.readonly = 1;
  view.ndim = static_cast<int>(node.shape.size());
  view.format = const_cast<char*>(format_of(node.dtype));
  view.shape = exported->shape.data();
  view.strides = exported->strides.data();
  view.suboffsets = nullptr;
  view.internal = exported.release();
}

int get_array_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  view->obj = nullptr;
  try {
    const Array array(nb::cast<const Array&>(nb::handle(self)).node());
    drop_released_owners();
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
      PyErr_SetString(PyExc_BufferError, "[Array] memory; got a wish to write, expected reading");
      return -1;
    }
    if (format_of(array.dtype()) == nullptr) {
      PyErr_SetString(PyExc_BufferError, kNoBfloat16);
      return -1;
    }
    fill_view(array, *view);
    const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
    if (!wants_strides && !array.descriptor().is_row_contiguous) {
      delete static_cast<Exported*>(view->internal);
      PyErr_SetString(PyExc_BufferError,
                      "[Array] layout; got strides, expected contiguous: use contiguous()");
      return -1;
    }
    view->obj = nb::handle(self).inc_ref().ptr();
    return 0;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_BufferError, error.what());
  }
  return -1;
}

void release_array_buffer(PyObject* /*self*/, Py_buffer* view) noexcept {
  delete static_cast<Exported*>(view->internal);
}

}  // namespace

PyType_Slot g_array_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_array_buffer)},
                               {Py_bf_releasebuffer, reinterpret_cast<void*>(release_array_buffer)},
                               {0, nullptr}};

// -- DLPack ---------------------------------------------------------------------------------------

namespace {

/// What an exported tensor points to; needs no lock of the interpreter to be destroyed.
template <typename Managed>
struct ExportedTensor {
  explicit ExportedTensor(const Array& array) : kept(array) {
    std::byte* const at = evaluated_bytes(kept);  // before its strides are asked for
    const array::Descriptor& node = kept.descriptor();
    shape.assign(node.shape.begin(), node.shape.end());
    strides.assign(node.strides.begin(), node.strides.end());
    managed.tensor = {.data = at,
                      .device = {nb::device::cpu::value, 0},
                      .ndim = static_cast<std::int32_t>(shape.size()),
                      .dtype = tensor_dtype(node.dtype),
                      .shape = shape.data(),
                      .strides = strides.data(),
                      .byte_offset = 0};
    managed.context = this;
    managed.deleter = [](Managed* done) { delete static_cast<ExportedTensor*>(done->context); };
  }

  Array kept;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  Managed managed;
};

template <typename Managed>
nb::object capsule_of(const Array& array, const char* name, std::uint64_t flags) {
  auto exported = std::make_unique<ExportedTensor<Managed>>(array);
  if constexpr (std::is_same_v<Managed, VersionedTensor>) exported->managed.flags = flags;
  // Consumers rename the capsule and call the deleter themselves.
  const PyCapsule_Destructor unused = [](PyObject* capsule) {
    const char* own = PyCapsule_GetName(capsule);
    if (own == nullptr || std::string_view(own).starts_with("used_")) return;
    auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule, own));
    managed->deleter(managed);
  };
  PyObject* const made = PyCapsule_New(&exported->managed, name, unused);
  if (made == nullptr) throw nb::python_error();
  (void)exported.release();  // it is the capsule's
  return nb::steal(made);
}

[[noreturn]] void throw_buffer(const char* what, const std::string& got, const char* expected) {
  const std::string message = error_message("__dlpack__", what, got, expected);
  PyErr_SetString(PyExc_BufferError, message.c_str());
  throw nb::python_error();
}

bool goes_backwards(const Array& array) {
  {
    const ReleasedForWait released;
    array.eval();
  }
  const array::Descriptor& node = array.descriptor();
  for (std::size_t i = 0; i < node.shape.size(); ++i) {
    if (node.strides[i] < 0 && node.shape[i] > 1) return true;
  }
  return false;
}

// (int, int), or none for None.
std::optional<std::pair<long, long>> pair_or_none(const char* what, nb::handle value) {
  if (value.is_none()) return std::nullopt;
  std::pair<long, long> pair;
  const bool is_pair = PyTuple_Check(value.ptr()) && nb::len(value) == 2 &&
                       nb::try_cast(value[0], pair.first) && nb::try_cast(value[1], pair.second);
  if (is_pair) return pair;
  throw TypeMismatch(error_message("__dlpack__", what, nb::cast<std::string>(nb::repr(value)),
                                   "None or a tuple of two integers"));
}

}  // namespace

nb::object array_tensor(const Array& exported, const TensorWishes& wishes) {
  const Array array(exported.node());  // while the lock is let go, the object may get another
  drop_released_owners();
  if (!wishes.stream.is_none()) {
    throw InvalidArgument(error_message("__dlpack__", "stream",
                                        nb::cast<std::string>(nb::repr(wishes.stream)),
                                        "None: the host's memory has no streams"));
  }
  const auto version = pair_or_none("max_version", wishes.max_version);
  const auto device = pair_or_none("dl_device", wishes.device);
  if (device && *device != std::pair<long, long>(nb::device::cpu::value, 0)) {
    throw_buffer("dl_device", nb::cast<std::string>(nb::repr(wishes.device)), "(1, 0), the host");
  }
  bool is_copied = false;
  if (!wishes.copy.is_none() && !nb::try_cast(wishes.copy, is_copied)) {
    throw TypeMismatch(error_message(
        "__dlpack__", "copy", nb::cast<std::string>(nb::repr(wishes.copy)), "True, False or None"));
  }
  // Most consumers misread or refuse strides that go backwards.
  if (goes_backwards(array)) {
    if (!is_copied && !wishes.copy.is_none()) {
      throw_buffer("copy", "False",
                   "True or None: strides that go backwards are exported as a copy");
    }
    is_copied = true;
  }
  const Array given = is_copied ? copied(array) : array;
  if (version && version->first >= static_cast<long>(kTensorMajorVersion)) {
    return capsule_of<VersionedTensor>(given, kVersionedTensorName,
                                       is_copied ? kTensorIsCopied : kTensorIsReadOnly);
  }
  return capsule_of<ManagedTensor>(given, kTensorName, 0);
}

// -- NumPy's own protocol: asked for where it could not use the buffer, as with bfloat16 ----------

namespace {

// NumPy's array of these bits, without a copy.
nb::object uint16_bits(const Array& array) {
  const void* const at = evaluated_bytes(array);
  const array::Descriptor& node = array.descriptor();
  const std::vector<std::size_t> shape(node.shape.begin(), node.shape.end());
  const nb::capsule keeper(new Array(array),
                           [](void* kept) noexcept { delete static_cast<Array*>(kept); });
  const nb::ndarray<nb::numpy, nb::ro> bits(at, shape.size(), shape.data(), keeper,
                                            node.strides.begin(), nb::dtype<std::uint16_t>());
  return nb::cast(bits);
}

// NumPy's bfloat16, null without ml_dtypes.
nb::object numpys_bfloat16() {
  try {
    return nb::module_::import_("ml_dtypes").attr("bfloat16");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
  }
  return {};
}

}  // namespace

nb::object array_for_numpy(nb::handle self, nb::handle dtype, nb::handle copy) {
  const nb::module_ numpy = nb::module_::import_("numpy");
  const Array array(nb::cast<const Array&>(self).node());
  nb::object values;
  if (array.dtype() != Dtype::bfloat16) {
    const nb::object view = nb::steal(PyMemoryView_FromObject(self.ptr()));
    if (!view.is_valid()) throw nb::python_error();
    values = numpy.attr("asarray")(view);
  } else if (const nb::object bfloat16 = numpys_bfloat16(); bfloat16.is_valid()) {
    values = uint16_bits(array).attr("view")(bfloat16);
  } else if (!dtype.is_none() && (copy.is_none() || nb::cast<bool>(copy))) {
    values = numpy.attr("asarray")(nb::cast(array::astype(array, Dtype::float32)));
  } else {
    throw TypeMismatch(kNoBfloat16);
  }
  if (copy.is_none() || !nb::cast<bool>(copy)) {
    nb::object as_asked = numpy.attr("asarray")(values, nb::arg("dtype") = dtype);
    const bool is_same = as_asked.is(values) || copy.is_none();
    if (is_same) return as_asked;
    throw InvalidArgument(
        error_message("__array__", "copy", "False", "None or True: this dtype needs a copy"));
  }
  return numpy.attr("array")(values, nb::arg("dtype") = dtype);
}

}  // namespace strandline::python
