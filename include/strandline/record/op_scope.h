// SPDX-License-Identifier: Apache-2.0
// Op scopes and labels: what this thread is doing, as the allocator will find it however deep the
// call. A scope is set by eval around each primitive and by a leaf's constructor around its
// allocation. All of it is thread-local; none of it allocates or locks.
#pragma once

#include <cstdint>

#include "strandline/core/export.h"
#include "strandline/core/ids.h"

namespace strandline::record {

/// What an allocation is made for.
struct OpContext {
  OpId op{};
  TracebackId traceback{};
  LabelId label{};
  StreamId stream{};
  /// Layout of the first output of the op that has no memory yet and whose byte count is `bytes`;
  /// none when it is unknown. `outputs` is handed back to the function.
  LayoutId (*layout_of)(void* outputs, std::uint64_t bytes) noexcept = nullptr;
  void* outputs = nullptr;
};

/// State of one thread; only that thread touches it.
struct ThreadState {
  const OpContext* scope = nullptr;  ///< innermost open scope
  LabelId label{};                   ///< current label, none when unset
  TracebackId forward{};             ///< operation whose vjp or jvp makes the nodes, see recorder
  std::uint16_t number = 0;          ///< small dense number, 0 = not given yet
  std::uint64_t last_alloc_address = 0;
  std::uint64_t last_alloc_sequence = 0;
  std::uint32_t last_alloc_place = 0;  ///< in the table of live blocks
};

namespace detail {
STRANDLINE_API extern STRANDLINE_FAST_TLS constinit thread_local ThreadState t_state;
}

inline ThreadState& thread_state() noexcept {
  return detail::t_state;
}
namespace detail {
STRANDLINE_API std::uint16_t give_thread_number() noexcept;
}
/// This thread's number, from 1; threads past 65,535 share the last one.
inline std::uint16_t thread_number() noexcept {
  const std::uint16_t known = thread_state().number;
  return STRANDLINE_LIKELY(known != 0) ? known : detail::give_thread_number();
}

/// Opens `context` for the lifetime of the guard; scopes nest. The context must outlive it.
class OpScope {
 public:
  explicit OpScope(const OpContext& context) noexcept : previous_(thread_state().scope) {
    thread_state().scope = &context;
  }
  ~OpScope() { thread_state().scope = previous_; }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  const OpContext* previous_;
};

/// Sets this thread's label for the lifetime of the guard; labels nest.
class LabelScope {
 public:
  explicit LabelScope(LabelId label) noexcept : previous_(thread_state().label) {
    thread_state().label = label;
  }
  ~LabelScope() { thread_state().label = previous_; }
  LabelScope(const LabelScope&) = delete;
  LabelScope& operator=(const LabelScope&) = delete;

 private:
  LabelId previous_;
};

/// Nodes made in this scope belong to the gradient of `forward`'s operation. An inner scope takes
/// over; on leaving, what was in force before is restored.
class ForwardScope {
 public:
  explicit ForwardScope(TracebackId forward) noexcept : previous_(thread_state().forward) {
    thread_state().forward = forward;
  }
  ~ForwardScope() { thread_state().forward = previous_; }
  ForwardScope(const ForwardScope&) = delete;
  ForwardScope& operator=(const ForwardScope&) = delete;

 private:
  TracebackId previous_;
};

}  // namespace strandline::record
