// SPDX-License-Identifier: Apache-2.0
// Adapters record a framework as it is shipped. Each is a shared object of its own that exports
// nothing but what it interposes; it makes itself known here, and is reached only through this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/ids.h"

namespace strandline::record {

class STRANDLINE_API Adapter {
 public:
  virtual ~Adapter() = default;

  virtual std::string_view name() const noexcept = 0;               ///< "mlx"
  virtual std::string_view framework_version() const noexcept = 0;  ///< that it was built for
  /// Begins to record the framework, which is loaded by now and whose hooks have been probed.
  /// Throws DeviceError with what to do.
  virtual void attach() = 0;
  /// Whether the program has loaded the framework, and it is recorded.
  virtual bool is_attached() const noexcept = 0;
  /// Calls each hook has seen so far, by the hook's name; a probe call must raise them.
  virtual std::vector<std::pair<std::string, std::uint64_t>> hook_calls() const = 0;
  /// Bytes the framework counts as active that no block stands for.
  virtual std::uint64_t lost_bytes() const noexcept = 0;
  /// Labels the node of an array, made or not yet evaluated. False when it is unknown.
  virtual bool label_array(ArrayKey array, LabelId label) noexcept = 0;
};

/// Null is refused with InvalidArgument; an adapter lives as long as the process.
STRANDLINE_API void register_adapter(Adapter* adapter);
/// Null when there is none of this name.
STRANDLINE_API Adapter* find_adapter(std::string_view name) noexcept;
STRANDLINE_API std::vector<Adapter*> adapters();

}  // namespace strandline::record
