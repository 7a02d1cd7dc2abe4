// SPDX-License-Identifier: Apache-2.0
#include "foreign_memory.h"

#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "cpython_compat.h"
#include "strandline/core/error.h"

namespace strandline::python {

using array::Array;
using array::Dtype;
using array::Shape;
using array::Strides;

namespace {

struct Released {
  std::mutex mutex;
  std::vector<std::unique_ptr<Exporter>> exporters;
  std::vector<PyObject*> objects;
};
Released& released() {
  static Released& instance = *new Released;
  return instance;
}

class BufferExporter final : public Exporter {
 public:
  explicit BufferExporter(nb::handle value) {
    if (PyObject_GetBuffer(value.ptr(), &view_, PyBUF_FULL_RO) != 0) throw nb::python_error();
  }
  ~BufferExporter() override { PyBuffer_Release(&view_); }
  const Py_buffer& view() const noexcept { return view_; }

 private:
  Py_buffer view_{};
};

/// What only pointers to pointers describe, laid out row by row.
class BytesExporter final : public Exporter {
 public:
  explicit BytesExporter(const Py_buffer& view) : bytes_(static_cast<std::size_t>(view.len)) {
    if (PyBuffer_ToContiguous(bytes_.data(), &view, view.len, 'C') != 0) throw nb::python_error();
  }
  std::byte* at() noexcept { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
};

enum class Kind { boolean, integer, natural, real, other };

// The format characters of struct; their sizes come with the buffer.
Kind kind_of(char letter) noexcept {
  constexpr std::string_view kIntegers = "bhilqn";
  constexpr std::string_view kNaturals = "BHILQN";
  constexpr std::string_view kReals = "efdg";
  if (letter == '?') return Kind::boolean;
  if (kIntegers.find(letter) != std::string_view::npos) return Kind::integer;
  if (kNaturals.find(letter) != std::string_view::npos) return Kind::natural;
  return kReals.find(letter) != std::string_view::npos ? Kind::real : Kind::other;
}

Dtype dtype_of(Kind kind, Py_ssize_t item_bytes) noexcept {
  struct Known {
    Kind kind;
    Py_ssize_t item_bytes;
    Dtype dtype;
  };
  constexpr std::array kAll = {
      Known{Kind::boolean, 1, Dtype::bool_},  Known{Kind::natural, 1, Dtype::uint8},
      Known{Kind::natural, 4, Dtype::uint32}, Known{Kind::integer, 4, Dtype::int32},
      Known{Kind::integer, 8, Dtype::int64},  Known{Kind::real, 2, Dtype::float16},
      Known{Kind::real, 4, Dtype::float32},   Known{Kind::real, 8, Dtype::float64}};
  for (const Known& known : kAll) {
    if (known.kind == kind && known.item_bytes == item_bytes) return known.dtype;
  }
  return Dtype::unknown;
}

std::string_view format_of(const Py_buffer& view) noexcept {
  return view.format == nullptr ? "B" : view.format;
}

// In this machine's byte order, else other.
Kind kind_of_view(const Py_buffer& view) noexcept {
  std::string_view text = format_of(view);
  const bool is_little = std::endian::native == std::endian::little;
  if (!text.empty() && (text[0] == '@' || text[0] == '=' || text[0] == (is_little ? '<' : '>'))) {
    text.remove_prefix(1);
  }
  return text.size() == 1 ? kind_of(text[0]) : Kind::other;
}

[[noreturn]] void throw_format(const char* function, const Py_buffer& view) {
  throw TypeMismatch(error_message(
      function, "buffer",
      "items of format '" + std::string(format_of(view)) + "' and " +
          std::to_string(view.itemsize) + " bytes",
      "bool, uint8, uint32, int32, int64, float16, bfloat16, float32 or float64 in this machine's "
      "byte order: convert it first"));
}

ForeignMemory memory_of(std::unique_ptr<BufferExporter> exporter, Dtype dtype) {
  const Py_buffer& view = exporter->view();
  ForeignMemory memory{.at = static_cast<std::byte*>(view.buf),
                       .shape = {},
                       .strides_bytes = {},
                       .dtype = dtype,
                       .exporter = {}};
  for (int i = 0; i < view.ndim; ++i) {
    memory.shape.push_back(view.shape[i]);
    if (view.strides != nullptr) memory.strides_bytes.push_back(view.strides[i]);
  }
  if (view.suboffsets != nullptr) {
    auto bytes = std::make_unique<BytesExporter>(view);
    memory.at = bytes->at();
    memory.strides_bytes = {};
    memory.exporter = std::move(bytes);
  } else {
    memory.exporter = std::move(exporter);
  }
  if (memory.strides_bytes.size() != memory.shape.size()) {
    memory.strides_bytes = array::row_major_strides(memory.shape);
    const auto item = static_cast<std::int64_t>(array::dtype_size_bytes(dtype));
    for (std::int64_t& stride : memory.strides_bytes) stride *= item;
  }
  return memory;
}

// NumPy's bfloat16 (of ml_dtypes) is exported neither way; its bits are.
std::optional<ForeignMemory> bfloat16_bits(const char* function, nb::handle value) {
  if (PyObject_CheckBuffer(value.ptr()) == 0 || !nb::hasattr(value, "dtype")) return std::nullopt;
  const nb::object dtype = value.attr("dtype");
  const bool is_numpys = nb::hasattr(dtype, "name") && nb::hasattr(value, "view");
  if (!is_numpys || !nb::str("bfloat16").equal(dtype.attr("name"))) return std::nullopt;
  const nb::object view = value.attr("view")("uint16");
  auto exporter = std::make_unique<BufferExporter>(view);
  if (exporter->view().itemsize != 2) throw_format(function, exporter->view());
  return memory_of(std::move(exporter), Dtype::bfloat16);
}

/// Calls `visit(address)` for each element, row by row.
template <typename Visit>
void for_each_element(const ForeignMemory& memory, const Visit& visit) {
  if (array::element_count("array", memory.shape) == 0) return;
  const std::size_t rank = memory.shape.size();
  Shape index(rank, 0);
  std::byte* at = memory.at;
  while (true) {
    visit(at);
    std::size_t axis = rank;
    while (axis-- > 0) {
      at += memory.strides_bytes[axis];
      if (++index[axis] < memory.shape[axis]) break;
      at -= memory.strides_bytes[axis] * memory.shape[axis];
      index[axis] = 0;
    }
    if (axis == static_cast<std::size_t>(-1)) return;
  }
}

bool is_row_major(const ForeignMemory& memory) noexcept {
  auto expected = static_cast<std::int64_t>(array::dtype_size_bytes(memory.dtype));
  for (std::size_t i = memory.shape.size(); i-- > 0;) {
    if (memory.shape[i] == 1) continue;
    if (memory.strides_bytes[i] != expected) return false;
    expected *= memory.shape[i];
  }
  return true;
}

bool holds_other_than_truth(const ForeignMemory& memory) {
  bool found = false;
  for_each_element(memory,
                   [&](const std::byte* at) { found = found || std::to_integer<int>(*at) > 1; });
  return found;
}

// Kernels take the bytes of bool to be 0 or 1.
void normalise(std::vector<std::byte>& truths) noexcept {
  for (std::byte& truth : truths) truth = truth == std::byte{0} ? std::byte{0} : std::byte{1};
}

}  // namespace

ScalarKind scalar_kind(nb::handle buffer) {
  Py_buffer view;
  if (PyObject_GetBuffer(buffer.ptr(), &view, PyBUF_FULL_RO) != 0) {
    PyErr_Clear();  // exporting is refused, as of NumPy's bfloat16: its float() is asked
    return nb::hasattr(buffer, "ndim") && nb::int_(0).equal(buffer.attr("ndim")) ? ScalarKind::real
                                                                                 : ScalarKind::none;
  }
  const Kind kind = view.ndim == 0 ? kind_of_view(view) : Kind::other;
  PyBuffer_Release(&view);
  if (kind == Kind::boolean) return ScalarKind::boolean;
  if (kind == Kind::integer || kind == Kind::natural) return ScalarKind::integer;
  return kind == Kind::real ? ScalarKind::real : ScalarKind::none;
}

std::optional<ForeignMemory> foreign_memory(const char* function, nb::handle value) {
  drop_released_owners();
  if (auto bits = bfloat16_bits(function, value)) return bits;
  if (PyObject_CheckBuffer(value.ptr()) == 0) return foreign_tensor(function, value);
  auto exporter = std::make_unique<BufferExporter>(value);
  const Dtype dtype = dtype_of(kind_of_view(exporter->view()), exporter->view().itemsize);
  if (dtype != Dtype::unknown) return memory_of(std::move(exporter), dtype);
  // Buffers have no format for bfloat16; DLPack does.
  if (!nb::hasattr(value, "__dlpack__") || format_of(exporter->view()) != "bfloat16") {
    throw_format(function, exporter->view());
  }
  return foreign_tensor(function, value);
}

Array copy_of(const ForeignMemory& memory, std::optional<Dtype> dtype) {
  const Dtype wanted = dtype.value_or(memory.dtype);
  const std::size_t item = array::dtype_size_bytes(memory.dtype);
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(memory.at) % item == 0;
  if (is_row_major(memory) && is_aligned && memory.dtype != Dtype::bool_) {
    return Array::converted(memory.at, memory.dtype, memory.shape, wanted);
  }
  std::vector<std::byte> bytes(array::element_count("array", memory.shape) * item);
  std::byte* to = bytes.data();
  for_each_element(memory, [&](const std::byte* at) {
    std::memcpy(to, at, item);
    to += item;
  });
  if (memory.dtype == Dtype::bool_) normalise(bytes);
  return Array::converted(bytes.data(), memory.dtype, memory.shape, wanted);
}

std::optional<Array> array_over(ForeignMemory& memory) {
  const auto item = static_cast<std::int64_t>(array::dtype_size_bytes(memory.dtype));
  if (reinterpret_cast<std::intptr_t>(memory.at) % item != 0) return std::nullopt;
  Strides strides;
  for (std::size_t i = 0; i < memory.shape.size(); ++i) {
    const std::int64_t stride = memory.shape[i] == 1 ? 0 : memory.strides_bytes[i];
    if (stride % item != 0) return std::nullopt;
    strides.push_back(stride / item);
  }
  if (memory.dtype == Dtype::bool_ && holds_other_than_truth(memory)) return std::nullopt;
  Exporter* const kept = memory.exporter.get();
  std::optional<Array> over =
      Array::try_wrap(memory.at, memory.shape, strides, memory.dtype, [kept](void*) {
        Released& all = released();
        const std::lock_guard guard(all.mutex);
        all.exporters.emplace_back(kept);
      });
  if (over) (void)memory.exporter.release();  // it is the array's
  return over;
}

void drop_released_owners() noexcept {
  std::vector<std::unique_ptr<Exporter>> exporters;
  std::vector<PyObject*> objects;
  {
    Released& all = released();
    const std::lock_guard guard(all.mutex);
    exporters.swap(all.exporters);
    objects.swap(all.objects);
  }
  for (PyObject* object : objects) Py_DECREF(object);
}

void drop_later(PyObject* object) noexcept {
  if (Py_IsInitialized() == 0) return;
  if (current_thread_state() != nullptr) {
    Py_DECREF(object);
    return;
  }
  try {
    Released& all = released();
    const std::lock_guard guard(all.mutex);
    all.objects.push_back(object);
  } catch (const std::bad_alloc&) {  // then it stays for ever
  }
}

}  // namespace strandline::python
