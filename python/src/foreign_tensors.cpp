// SPDX-License-Identifier: Apache-2.0
// Tensors of others, by DLPack: the capsule that `__dlpack__` returns is consumed, and what manages
// its memory is kept until no array uses it.
#include "foreign_tensors.h"

#include <string>
#include <utility>

#include "foreign_memory.h"
#include "strandline/core/error.h"

namespace strandline::python {

using array::Dtype;

nb::dlpack::dtype tensor_dtype(Dtype dtype) noexcept {
  using Code = nb::dlpack::dtype_code;
  Code code = Code::Float;
  if (dtype == Dtype::bool_) code = Code::Bool;
  if (dtype == Dtype::bfloat16) code = Code::Bfloat;
  if (dtype == Dtype::int32 || dtype == Dtype::int64) code = Code::Int;
  if (dtype == Dtype::uint8 || dtype == Dtype::uint32) code = Code::UInt;
  return {static_cast<std::uint8_t>(code),
          static_cast<std::uint8_t>(array::dtype_size_bytes(dtype) * 8), 1};
}

namespace {

template <typename Managed>
class TensorExporter final : public Exporter {
 public:
  explicit TensorExporter(Managed* managed) noexcept : managed_(managed) {}
  ~TensorExporter() override {
    if (managed_->deleter != nullptr) managed_->deleter(managed_);
  }

 private:
  Managed* managed_;
};

Dtype dtype_of_tensor(const char* function, const nb::dlpack::dtype& wanted) {
  for (const Dtype dtype : {Dtype::bool_, Dtype::uint8, Dtype::uint32, Dtype::int32, Dtype::int64,
                            Dtype::float16, Dtype::bfloat16, Dtype::float32, Dtype::float64}) {
    if (tensor_dtype(dtype) == wanted) return dtype;
  }
  throw TypeMismatch(error_message(function, "tensor",
                                   "elements of " + std::to_string(wanted.bits) + " bits, kind " +
                                       std::to_string(wanted.code) + ", " +
                                       std::to_string(wanted.lanes) + " lanes",
                                   "a dtype of strandline.array: convert it first"));
}

ForeignMemory memory_of(const char* function, const nb::dlpack::dltensor& tensor,
                        std::unique_ptr<Exporter> exporter) {
  ForeignMemory memory;
  memory.dtype = dtype_of_tensor(function, tensor.dtype);
  memory.at = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  for (int i = 0; i < tensor.ndim; ++i) memory.shape.push_back(tensor.shape[i]);
  const auto item = static_cast<std::int64_t>(array::dtype_size_bytes(memory.dtype));
  const array::Strides rows = array::row_major_strides(memory.shape);
  for (std::size_t i = 0; i < memory.shape.size(); ++i) {
    memory.strides_bytes.push_back(item *
                                   (tensor.strides == nullptr ? rows[i] : tensor.strides[i]));
  }
  memory.exporter = std::move(exporter);
  return memory;
}

template <typename Managed>
ForeignMemory consume(const char* function, const nb::object& capsule, const char* name,
                      const char* used_name) {
  auto* const managed = static_cast<Managed*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (managed == nullptr) throw nb::python_error();
  if constexpr (std::is_same_v<Managed, VersionedTensor>) {
    if (managed->major_version > kTensorMajorVersion) {
      throw TypeMismatch(error_message(function, "tensor",
                                       "DLPack " + std::to_string(managed->major_version),
                                       "at most version 1"));
    }
  }
  if (PyCapsule_SetName(capsule.ptr(), used_name) != 0) throw nb::python_error();
  // What is thrown from here on lets go of the memory.
  auto exporter = std::make_unique<TensorExporter<Managed>>(managed);
  return memory_of(function, managed->tensor, std::move(exporter));
}

// Page-locked and managed memory is the host's too.
void check_device(const char* function, nb::handle value) {
  if (!nb::hasattr(value, "__dlpack_device__")) return;
  const nb::object device = value.attr("__dlpack_device__")();
  int kind = 0;
  int number = 0;
  if (!PyTuple_Check(device.ptr()) || nb::len(device) != 2 || !nb::try_cast(device[0], kind) ||
      !nb::try_cast(device[1], number)) {
    throw TypeMismatch(error_message(function, "tensor", "a device that is no pair of integers",
                                     "what __dlpack_device__ should return"));
  }
  constexpr int kHost = nb::device::cpu::value;
  constexpr int kPinned = nb::device::cuda_host::value;
  constexpr int kRocmPinned = nb::device::rocm_host::value;
  if (kind == kHost || kind == kPinned || kind == kRocmPinned) return;
  throw TypeMismatch(
      error_message(function, "tensor",
                    "one on device (" + std::to_string(kind) + ", " + std::to_string(number) + ")",
                    "one in the host's memory: move it there first"));
}

// Exporters from before DLPack 1.0 do not know max_version.
nb::object capsule_of(nb::handle value) {
  try {
    return value.attr("__dlpack__")(nb::arg("max_version") =
                                        nb::make_tuple(kTensorMajorVersion, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return value.attr("__dlpack__")();
}

}  // namespace

std::optional<ForeignMemory> foreign_tensor(const char* function, nb::handle value) {
  if (!nb::hasattr(value, "__dlpack__")) return std::nullopt;
  drop_released_owners();
  check_device(function, value);
  const nb::object capsule = capsule_of(value);
  if (PyCapsule_IsValid(capsule.ptr(), kVersionedTensorName) != 0) {
    return consume<VersionedTensor>(function, capsule, kVersionedTensorName,
                                    "used_dltensor_versioned");
  }
  if (PyCapsule_IsValid(capsule.ptr(), kTensorName) != 0) {
    return consume<ManagedTensor>(function, capsule, kTensorName, "used_dltensor");
  }
  throw TypeMismatch(error_message(function, "tensor", "no tensor from its __dlpack__",
                                   "a capsule as DLPack defines it"));
}

}  // namespace strandline::python
