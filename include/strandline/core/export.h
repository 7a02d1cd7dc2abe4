// SPDX-License-Identifier: Apache-2.0
// Visibility of the shared library's symbols. Everything is hidden unless marked STRANDLINE_API,
// so that a hooked process sees only what Strandline means to offer.
#pragma once

#define STRANDLINE_API __attribute__((visibility("default")))
#define STRANDLINE_LIKELY(x) __builtin_expect(!!(x), 1)
#define STRANDLINE_UNLIKELY(x) __builtin_expect(!!(x), 0)
// A thread-local reached without a call. Keep the sum over the library small: a library that is
// loaded late shares a reserve of about 1.6 KiB with all others.
#define STRANDLINE_FAST_TLS __attribute__((tls_model("initial-exec")))
// For what runs with every allocation, in pieces for the reader only.
#define STRANDLINE_ALWAYS_INLINE __attribute__((always_inline)) inline
