// SPDX-License-Identifier: Apache-2.0
// Whether this thread is inside a transform: tracers keep their graph only then.
#pragma once

namespace strandline::array {

namespace detail {
inline thread_local int t_tracing_depth = 0;
}

inline bool is_tracing() noexcept {
  return detail::t_tracing_depth > 0;
}

class TracingScope {
 public:
  TracingScope() noexcept { ++detail::t_tracing_depth; }
  ~TracingScope() { --detail::t_tracing_depth; }
  TracingScope(const TracingScope&) = delete;
  TracingScope& operator=(const TracingScope&) = delete;
};

}  // namespace strandline::array
