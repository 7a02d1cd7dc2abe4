// SPDX-License-Identifier: Apache-2.0
#include "strandline/record/event.h"

#include <array>

namespace strandline::record {

std::string_view action_name(Action action) noexcept {
  static constexpr std::array<std::string_view, kActionCount> kNames = {
      "none",          "alloc_new",      "alloc_reuse",     "alloc_external",
      "free_to_cache", "free_to_device", "cache_to_device", "release_external",
      "alloc",         "free_requested", "free_completed",  "segment_alloc",
      "segment_free",  "segment_map",    "segment_unmap",   "oom",
      "snapshot",      "annotate",       "holder",
  };
  const auto index = static_cast<std::size_t>(action);
  return index < kNames.size() ? kNames[index] : std::string_view("unknown");
}

}  // namespace strandline::record
