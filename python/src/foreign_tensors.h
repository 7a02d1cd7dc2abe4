// SPDX-License-Identifier: Apache-2.0
// DLPack's own structures, version 1.0, as its specification lays them out; nanobind declares those
// of a tensor.
#pragma once

#include <cstdint>

#include <nanobind/nanobind.h>
// The tensor's structures are declared by:
#include <nanobind/ndarray.h>

#include "strandline/array/dtype.h"

namespace strandline::python {

constexpr const char* kTensorName = "dltensor";
constexpr const char* kVersionedTensorName = "dltensor_versioned";
constexpr std::uint32_t kTensorMajorVersion = 1;
constexpr std::uint64_t kTensorIsReadOnly = 1;
constexpr std::uint64_t kTensorIsCopied = 2;

struct ManagedTensor {
  nanobind::dlpack::dltensor tensor;
  void* context = nullptr;
  void (*deleter)(ManagedTensor*) = nullptr;
};

struct VersionedTensor {
  std::uint32_t major_version = kTensorMajorVersion;
  std::uint32_t minor_version = 0;
  void* context = nullptr;
  void (*deleter)(VersionedTensor*) = nullptr;
  std::uint64_t flags = 0;
  nanobind::dlpack::dltensor tensor;
};

nanobind::dlpack::dtype tensor_dtype(array::Dtype dtype) noexcept;

}  // namespace strandline::python
