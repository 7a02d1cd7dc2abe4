// SPDX-License-Identifier: Apache-2.0
#include "strandline/record/op_scope.h"

#include <atomic>

namespace strandline::record {

namespace detail {
STRANDLINE_FAST_TLS constinit thread_local ThreadState t_state{};
}

namespace {
std::atomic<std::uint32_t> g_threads{0};
}

std::uint16_t detail::give_thread_number() noexcept {
  const std::uint32_t number = g_threads.fetch_add(1, std::memory_order_relaxed) + 1;
  ThreadState& state = thread_state();
  state.number = static_cast<std::uint16_t>(number < UINT16_MAX ? number : UINT16_MAX);
  return state.number;
}

}  // namespace strandline::record
