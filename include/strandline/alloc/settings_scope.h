// SPDX-License-Identifier: Apache-2.0
// Settings strings on a SegmentAllocator while it runs: for good, or for a scope.
//
//   alloc::configure(allocator, "max_split_size_mb:64");
//   {
//     const alloc::SettingsScope scope(allocator, "max_split_size_mb:200");
//     ...                                // everything else as it was set
//   }                                    // max_split_size_mb is 64 again
//
// Threads: any; a change reads, changes and writes, so that of two at once on one allocator one
// may be lost.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strandline/alloc/settings.h"

namespace strandline::alloc {

/// Applies `text` by the allocator's decisions: at once, as a whole, keys not named stay. Where
/// decisions are ours the fraction of memory is applied too; PyTorch reads it at start only. Throws
/// SettingsError, with the allocator as it was (Decisions::pytorch: with what stood before the
/// error), and InvalidArgument for what the allocator itself refuses.
STRANDLINE_API SettingsReading configure(SegmentAllocator& allocator, std::string_view text);

/// configure() until the end of a scope, which puts back the keys that the text named and leaves
/// what was changed beside them.
class STRANDLINE_API SettingsScope {
 public:
  SettingsScope(SegmentAllocator& allocator, std::string_view text);
  ~SettingsScope();
  SettingsScope(const SettingsScope&) = delete;
  SettingsScope& operator=(const SettingsScope&) = delete;

 private:
  SegmentAllocator& allocator_;
  Settings before_;
  std::vector<std::string> keys_;
};

}  // namespace strandline::alloc
