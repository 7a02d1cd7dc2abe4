// SPDX-License-Identifier: Apache-2.0
// The adapter's face to the rest of Strandline, registered when the shared object is loaded.
#include "strandline/record/adapter.h"

#include "hook_calls.h"
#include "nodes.h"
#include "quietly.h"
#include "replacement.h"
#include "strandline/alloc/framework.h"
#include "strandline/core/error.h"

#define STRANDLINE_TEXT_OF(x) #x
#define STRANDLINE_VERSION_TEXT(major, minor, patch) \
  STRANDLINE_TEXT_OF(major) "." STRANDLINE_TEXT_OF(minor) "." STRANDLINE_TEXT_OF(patch)

namespace strandline::mlx_adapter {

namespace {

class MlxAdapter final : public record::Adapter, public alloc::Framework {
 public:
  std::string_view name() const noexcept override { return "mlx"; }

  std::string_view framework_version() const noexcept override {
    return STRANDLINE_VERSION_TEXT(MLX_VERSION_MAJOR, MLX_VERSION_MINOR, MLX_VERSION_PATCH);
  }

  void attach() override {
    const std::vector<std::string> missing = missing_functions();
    if (!missing.empty()) {
      throw DeviceError(error_message(
          "strandline.mlx", "libmlx lacks " + std::to_string(missing.size()) + " functions",
          missing[0] + " missing", "MLX " + std::string(framework_version())));
    }
    static const bool once = (register_cache_state(), true);
    static_cast<void>(once);
    g_attached.value.store(true, std::memory_order_relaxed);
  }

  bool is_attached() const noexcept override {
    return g_attached.value.load(std::memory_order_relaxed);
  }

  std::vector<std::pair<std::string, std::uint64_t>> hook_calls() const override {
    std::vector<std::pair<std::string, std::uint64_t>> calls;
    for (std::size_t i = 0; i < kHookCount; ++i) {
      calls.emplace_back(kHookNames[i], g_hook_calls[i].load(std::memory_order_relaxed));
    }
    return calls;
  }

  std::uint64_t lost_bytes() const noexcept override { return lost_by_mlx(); }

  void use_allocator(std::shared_ptr<alloc::Allocator> allocator) override {
    if (allocator == nullptr) {
      throw InvalidArgument(
          error_message("use_allocator", "allocator", "none", "one of Strandline's"));
    }
    replace_allocator(std::move(allocator));
  }
  alloc::Allocator* used_allocator() const noexcept override { return replaced_by(); }
  std::string refusal() const override { return replacement_refused(); }

  bool label_array(ArrayKey array, LabelId label) noexcept override {
    bool known = false;
    quietly([&] {
      const Node node(reinterpret_cast<const void*>(array.value));
      known = node.is_known();
      if (known) node.set_label(label);
      if (record::recorder().annotate_array(array, label)) known = true;
    });
    return known;
  }
};

const bool g_registered = [] {
  record::register_adapter(new MlxAdapter);
  return true;
}();

}  // namespace
}  // namespace strandline::mlx_adapter
