// SPDX-License-Identifier: Apache-2.0
// The call from a language into native code that a thread is in, as far as the binding tells: all
// that is made in it, other than by code of the language that it calls back, has one stack, which
// is gathered once.
#pragma once

#include "strandline/core/export.h"
#include "strandline/core/ids.h"

namespace strandline::record {

class TracebackTable;

/// Only its own thread touches it. Whoever opens one keeps the outer one and puts it back.
struct BindingCall {
  /// Where the language notes which of its code runs; null outside of known calls.
  const void* const* watched = nullptr;
  const void* expected = nullptr;         ///< what stood there when the call began
  const TracebackTable* table = nullptr;  ///< of `stack`, null until it has been gathered
  TracebackId stack{};

  /// Whether the native code of the call runs, and no code of the language that it called.
  bool is_running() const noexcept { return watched != nullptr && *watched == expected; }
};

namespace detail {
STRANDLINE_API extern STRANDLINE_FAST_TLS constinit thread_local BindingCall t_call;
}

inline BindingCall& binding_call() noexcept {
  return detail::t_call;
}

}  // namespace strandline::record
