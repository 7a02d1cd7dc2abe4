// SPDX-License-Identifier: Apache-2.0
// MLX as the adapter sees it: its public headers, the functions of the loaded libmlx that the hooks
// stand in front of, and a view of an array descriptor as an array.
// Nothing here refers to a symbol of libmlx: the adapter is loaded before it, and everything that
// is called in it is looked up in the library itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "mlx/array.h"
#include "mlx/device.h"
#include "mlx/primitives.h"
#include "mlx/stream.h"
#include "mlx/version.h"
#include "strandline/core/export.h"

namespace strandline::mlx_adapter {

namespace mx = ::mlx::core;

using Arrays = std::vector<mx::array>;
using ArraysFunction = std::function<Arrays(const Arrays&)>;
using ArraysAndExtra = std::pair<Arrays, std::shared_ptr<void>>;
using ValueAndGradFunction = std::function<std::pair<Arrays, Arrays>(const Arrays&)>;
using DeviceInfo = std::unordered_map<std::string, std::variant<std::string, std::size_t>>;
using CompiledFunction = std::function<ArraysAndExtra(const Arrays&)>;

/// The real functions. A class passed by value that is not trivially copyable goes by address.
struct MlxFunctions {
  mx::allocator::Allocator& (*allocator)() = nullptr;
  void* (*raw_ptr)(mx::allocator::Buffer*) = nullptr;
  std::size_t (*get_active_memory)() = nullptr;
  std::size_t (*get_peak_memory)() = nullptr;
  void (*reset_peak_memory)() = nullptr;
  std::size_t (*get_cache_memory)() = nullptr;
  std::size_t (*get_memory_limit)() = nullptr;
  void (*clear_cache)() = nullptr;
  std::size_t (*set_cache_limit)(std::size_t) = nullptr;
  std::size_t (*set_memory_limit)(std::size_t) = nullptr;
  std::size_t (*set_wired_limit)(std::size_t) = nullptr;
  const DeviceInfo& (*device_info)(const mx::Device&) = nullptr;
  std::vector<mx::Stream> (*get_streams)() = nullptr;
  void (*synchronize)(mx::Stream) = nullptr;
  void (*desc_init)(void*) = nullptr;
  void (*desc_destroy)(void*) = nullptr;
  void (*set_data)(mx::array*, mx::allocator::Data*) = nullptr;
  void (*set_data_strided)(mx::array*, mx::allocator::Data*, std::size_t, mx::Strides*,
                           mx::array::Flags, std::int64_t) = nullptr;
  void (*copy_shared_buffer)(mx::array*, const mx::array&, const mx::Strides&, mx::array::Flags,
                             std::size_t, std::int64_t) = nullptr;
  void (*detach)(mx::array*) = nullptr;
  std::pair<Arrays, Arrays> (*vjp)(const ArraysFunction&, const Arrays&, const Arrays&) = nullptr;
  std::pair<Arrays, Arrays> (*jvp)(const ArraysFunction&, const Arrays&, const Arrays&) = nullptr;
  ValueAndGradFunction (*value_and_grad)(const ArraysFunction&, const std::vector<int>&) = nullptr;
  CompiledFunction (*compile)(CompiledFunction, std::uintptr_t, bool,
                              std::vector<std::uint64_t>) = nullptr;
  void (*enqueue)(void*, mx::Stream, std::function<void()>*) = nullptr;
};

namespace detail {
extern constinit std::atomic<const MlxFunctions*> g_functions;
const MlxFunctions& look_up_functions() noexcept;
}  // namespace detail

/// Looked up in libmlx on first use; the process ends with a message when libmlx lacks one, since a
/// hook cannot go on without the function behind it.
inline const MlxFunctions& mlx_functions() noexcept {
  const MlxFunctions* known = detail::g_functions.load(std::memory_order_acquire);
  return STRANDLINE_LIKELY(known != nullptr) ? *known : detail::look_up_functions();
}

/// Names of the functions that the loaded libmlx lacks; empty when it is the one we know.
std::vector<std::string> missing_functions();

/// A descriptor seen as an array, without owning it: an array is one shared pointer, of which only
/// the address is used here. (Compiled with -fno-strict-aliasing.)
class DescriptorView {
 public:
  explicit DescriptorView(const void* descriptor) noexcept : fields_{descriptor, nullptr} {}

  const mx::array& array() const noexcept { return reinterpret_cast<const mx::array&>(fields_); }

 private:
  struct Fields {
    const void* descriptor;
    const void* control_block;
  };
  static_assert(sizeof(Fields) == sizeof(mx::array));
  Fields fields_;
};

}  // namespace strandline::mlx_adapter
