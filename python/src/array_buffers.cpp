// SPDX-License-Identifier: Apache-2.0
// Memory of arrays to others, and of others to arrays, by the buffer protocol (PEP 3118) and by
// DLPack. NumPy and memoryview see an array's bytes; an array lies over a buffer's bytes where the
// device can wrap them. An exporter is kept as long as the memory is used; it is let go by the next
// thread that holds the interpreter lock and makes or exports an array, since memory is given back
// on threads of the device, which must not wait for that lock.
#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <vector>

#include <nanobind/ndarray.h>

#include "array_values.h"
#include "strandline/array/descriptor.h"
#include "strandline/core/error.h"

namespace strandline::python {

using array::Array;
using array::Dtype;
using array::Shape;

namespace {

/// The format characters of struct, native sizes.
struct Format {
  const char* text;
  Dtype dtype;
};
constexpr std::array kFormats = {
    Format{"?", Dtype::bool_},   Format{"B", Dtype::uint8},   Format{"I", Dtype::uint32},
    Format{"i", Dtype::int32},   Format{"l", Dtype::int64},   Format{"q", Dtype::int64},
    Format{"e", Dtype::float16}, Format{"f", Dtype::float32}, Format{"d", Dtype::float64}};
static_assert(sizeof(long) == 8);

const char* format_of(Dtype dtype) noexcept {
  const auto* found = std::ranges::find(kFormats, dtype, &Format::dtype);
  return found == kFormats.end() ? nullptr : found->text;
}

Dtype dtype_of_format(const Py_buffer& view) {
  std::string_view text = view.format == nullptr ? "B" : view.format;
  const bool is_little = std::endian::native == std::endian::little;
  if (!text.empty() && (text[0] == '@' || text[0] == '=' || text[0] == (is_little ? '<' : '>'))) {
    text.remove_prefix(1);
  }
  for (const Format& format : kFormats) {
    if (text == format.text &&
        view.itemsize == static_cast<Py_ssize_t>(array::dtype_size_bytes(format.dtype))) {
      return format.dtype;
    }
  }
  throw TypeMismatch(error_message("array", "buffer",
                                   "items of format '" + std::string(view.format) + "'",
                                   "bool, uint8, uint32, int32, int64, float16, float32 or "
                                   "float64 in this machine's byte order"));
}

using AnyNdarray = nb::ndarray<nb::ro, nb::device::cpu>;

struct Released {
  std::mutex mutex;
  std::vector<Py_buffer*> views;
  std::vector<AnyNdarray*> tensors;
};
Released& released() {
  static Released& instance = *new Released;
  return instance;
}

/// A view of a buffer, let go at the end of the scope.
class ScopedView {
 public:
  explicit ScopedView(nb::handle value, int flags) {
    if (PyObject_GetBuffer(value.ptr(), &view_, flags) != 0) throw nb::python_error();
  }
  ~ScopedView() { PyBuffer_Release(&view_); }
  ScopedView(const ScopedView&) = delete;
  ScopedView& operator=(const ScopedView&) = delete;
  Py_buffer& operator*() noexcept { return view_; }

 private:
  Py_buffer view_{};
};

Shape shape_of_view(const Py_buffer& view) {
  Shape shape;
  for (int i = 0; i < view.ndim; ++i) shape.push_back(view.shape[i]);
  return shape;
}

Array copied(nb::handle value, std::optional<Dtype> wanted) {
  ScopedView held(value, PyBUF_FULL_RO);
  Py_buffer& view = *held;
  const Dtype dtype = dtype_of_format(view);
  const Shape shape = shape_of_view(view);
  if (PyBuffer_IsContiguous(&view, 'C') != 0) {
    return Array::converted(view.buf, dtype, shape, wanted.value_or(dtype));
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(view.len));
  if (PyBuffer_ToContiguous(bytes.data(), &view, view.len, 'C') != 0) throw nb::python_error();
  return Array::converted(bytes.data(), dtype, shape, wanted.value_or(dtype));
}

void check_buffer(nb::handle value) {
  if (PyObject_CheckBuffer(value.ptr()) != 0) return;
  throw TypeMismatch(error_message(
      "array", "value", "an object of type " + nb::cast<std::string>(value.type().attr("__name__")),
      "a number, a nested list or a buffer"));
}

// Keeps the exporter's view until the memory is used no more.
Array over(nb::handle value) {
  auto view = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(value.ptr(), view.get(), PyBUF_C_CONTIGUOUS | PyBUF_FORMAT) != 0) {
    throw nb::python_error();
  }
  Py_buffer* const kept = view.release();
  try {
    const Dtype dtype = dtype_of_format(*kept);
    return Array::wrap(kept->buf, shape_of_view(*kept), dtype, [kept](void*) {
      Released& all = released();
      const std::lock_guard guard(all.mutex);
      all.views.push_back(kept);
    });
  } catch (...) {
    PyBuffer_Release(kept);
    delete kept;
    throw;
  }
}

bool is_contiguous(nb::handle value) {
  ScopedView held(value, PyBUF_FULL_RO);
  return PyBuffer_IsContiguous(&*held, 'C') != 0;
}

// -- arrays as buffers ----------------------------------------------------------------------------

/// Shape and strides of one exported view.
struct Exported {
  std::vector<Py_ssize_t> shape;
  std::vector<Py_ssize_t> strides;
  Array kept;
};

void fill_view(const Array& array, Py_buffer& view) {
  {
    const ReleasedForWait released_lock;
    (void)array.read_data(array.dtype());
  }
  const array::Descriptor& node = array.descriptor();
  const auto item = static_cast<Py_ssize_t>(array::dtype_size_bytes(node.dtype));
  auto exported = std::make_unique<Exported>(Exported{{}, {}, array});
  for (std::size_t i = 0; i < node.shape.size(); ++i) {
    exported->shape.push_back(node.shape[i]);
    exported->strides.push_back(node.strides[i] * item);
  }
  static std::byte nothing{};
  auto* at = static_cast<std::byte*>(const_cast<void*>(array.read_data(node.dtype)));
  view.buf = at == nullptr ? &nothing : at;
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
    const Array& array = nb::cast<const Array&>(nb::handle(self));
    drop_released_owners();
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE) {
      PyErr_SetString(PyExc_BufferError, "[Array] memory; got a wish to write, expected reading");
      return -1;
    }
    if (format_of(array.dtype()) == nullptr) {
      PyErr_SetString(PyExc_BufferError,
                      "[Array] dtype; got bfloat16, expected one that buffers know: use astype");
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

nb::dlpack::dtype tensor_dtype(Dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  Code code = Code::Float;
  if (dtype == Dtype::bool_) code = Code::Bool;
  if (dtype == Dtype::bfloat16) code = Code::Bfloat;
  if (dtype == Dtype::int32 || dtype == Dtype::int64) code = Code::Int;
  if (dtype == Dtype::uint8 || dtype == Dtype::uint32) code = Code::UInt;
  return {static_cast<std::uint8_t>(code),
          static_cast<std::uint8_t>(array::dtype_size_bytes(dtype) * 8), 1};
}

Dtype dtype_of_tensor(const nb::dlpack::dtype& wanted) {
  for (const char* name :
       {"bool", "uint8", "uint32", "int32", "int64", "float16", "bfloat16", "float32", "float64"}) {
    const Dtype dtype = array::dtype_named(name);
    if (tensor_dtype(dtype) == wanted) return dtype;
  }
  throw TypeMismatch(error_message(
      "asarray", "tensor",
      "elements of " + std::to_string(wanted.bits) + " bits, kind " + std::to_string(wanted.code),
      "a dtype of strandline.array"));
}

}  // namespace

nb::object array_tensor(nb::handle self) {
  const Array& array = nb::cast<const Array&>(self);
  drop_released_owners();
  const void* at = nullptr;
  {
    const ReleasedForWait released_lock;
    at = array.read_data(array.dtype());
  }
  const array::Descriptor& node = array.descriptor();
  std::vector<std::size_t> shape(node.shape.begin(), node.shape.end());
  const std::vector<std::int64_t> strides(node.strides.begin(), node.strides.end());
  const nb::ndarray<> view(const_cast<void*>(at), shape.size(), shape.data(), self, strides.data(),
                           tensor_dtype(node.dtype));
  return nb::cast(view);
}

std::optional<Array> array_over_tensor(nb::handle value, std::optional<bool> copy) {
  if (!nb::hasattr(value, "__dlpack__")) return std::nullopt;
  drop_released_owners();
  auto tensor = std::make_unique<AnyNdarray>();
  if (!nb::try_cast(value, *tensor)) {
    throw TypeMismatch(error_message("asarray", "tensor", "one that DLPack does not bring here",
                                     "a tensor in the host's memory"));
  }
  const Dtype dtype = dtype_of_tensor(tensor->dtype());
  Shape shape;
  for (std::size_t i = 0; i < tensor->ndim(); ++i) {
    shape.push_back(static_cast<std::int64_t>(tensor->shape(i)));
  }
  bool is_row_major = true;
  const array::Strides rows = array::row_major_strides(shape);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    is_row_major = is_row_major && (shape[i] <= 1 || tensor->stride(i) == rows[i]);
  }
  if (!is_row_major) {
    throw InvalidArgument(error_message("asarray", "tensor", "one with strides",
                                        "a contiguous one: use its contiguous()"));
  }
  auto* at = const_cast<void*>(tensor->data());
  if (copy.value_or(false)) return Array(at, shape, dtype);
  AnyNdarray* const kept = tensor.release();
  return Array::wrap(at, shape, dtype, [kept](void*) {
    Released& all = released();
    const std::lock_guard guard(all.mutex);
    all.tensors.push_back(kept);
  });
}

Array array_copied(nb::handle buffer, std::optional<Dtype> dtype) {
  drop_released_owners();
  check_buffer(buffer);
  if (!dtype) {
    ScopedView held(buffer, PyBUF_FULL_RO);
    if (dtype_of_format(*held) == Dtype::float64) dtype = Dtype::float32;
  }
  return copied(buffer, dtype);
}

Array array_over(nb::handle value, std::optional<bool> copy) {
  drop_released_owners();
  check_buffer(value);
  if (copy.value_or(false)) return copied(value, {});
  if (!is_contiguous(value)) {
    if (!copy) return copied(value, {});
    throw InvalidArgument(
        error_message("asarray", "buffer", "one with strides", "a C-contiguous one, or copy=None"));
  }
  return over(value);
}

void drop_released_owners() noexcept {
  std::vector<Py_buffer*> views;
  std::vector<AnyNdarray*> tensors;
  {
    Released& all = released();
    const std::lock_guard guard(all.mutex);
    views.swap(all.views);
    tensors.swap(all.tensors);
  }
  for (const AnyNdarray* tensor : tensors) delete tensor;
  for (Py_buffer* view : views) {
    PyBuffer_Release(view);
    delete view;
  }
}

}  // namespace strandline::python
