// SPDX-License-Identifier: Apache-2.0
// Keeps the error output still: allocators and devices log the first misuse and the first refusal
// of each, of which random programs make thousands. Sanitizers report there, so under them it
// talks.
#pragma once

#include <fcntl.h>
#include <unistd.h>

namespace strandline::alloc::random {

class Quiet {
 public:
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  Quiet() = default;
#else
  Quiet() : kept_(dup(STDERR_FILENO)), nothing_(open("/dev/null", O_WRONLY | O_CLOEXEC)) {
    if (kept_ >= 0 && nothing_ >= 0) dup2(nothing_, STDERR_FILENO);
  }
  ~Quiet() {
    if (kept_ >= 0) dup2(kept_, STDERR_FILENO);
    if (nothing_ >= 0) close(nothing_);
    if (kept_ >= 0) close(kept_);
  }
#endif
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  int kept_;
  int nothing_;
#endif
};

}  // namespace strandline::alloc::random
