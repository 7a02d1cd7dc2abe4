// SPDX-License-Identifier: Apache-2.0
// A stretch of work that a fork waits for, because a child of a fork could not go on after it was
// cut off: a function's static object in the making, whose guard would stay taken, or a call of the
// dynamic loader, whose lock for its list of objects the C library leaves to the child as it is (so
// does glibc up to 2.36 at least; the child's next dlopen or dl_iterate_phdr then never returns).
//
// What is done in it takes no lock of ours that a fork handler holds, and calls no foreign code
// that could fork and wait for the child. Any thread; stretches nest.
#pragma once

#include "strandline/core/export.h"

namespace strandline {

class STRANDLINE_API WithoutFork {
 public:
  WithoutFork() noexcept;
  ~WithoutFork();
  WithoutFork(const WithoutFork&) = delete;
  WithoutFork& operator=(const WithoutFork&) = delete;
};

}  // namespace strandline
