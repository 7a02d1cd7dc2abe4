// SPDX-License-Identifier: Apache-2.0
// Host devices in a process that forks. Their locks are held while it does, so that the child finds
// queues whole; it has none of the workers, and starts others.
//
//   fork()   prepare: all locks ─▶ parent: unlock
//                              └─▶ child: forget the workers, start others, unlock
#pragma once

#include "strandline/core/mutex.h"

namespace strandline::device {

class HostStreams;

class HostForks {
 public:
  static void add(HostStreams& streams);
  /// With the library, before everything else of it that waits for forks: see host_fork.cpp.
  static void register_handlers() noexcept;
  static void remove(HostStreams& streams) noexcept;

 private:
  static void lock_all() STRANDLINE_NO_LOCK_ANALYSIS;
  static void unlock_all() STRANDLINE_NO_LOCK_ANALYSIS;
  static void restart_all() STRANDLINE_NO_LOCK_ANALYSIS;
};

}  // namespace strandline::device
