// SPDX-License-Identifier: Apache-2.0
// Which phases an event lies in. Phases nest in time, whatever thread began them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot {

/// "step 171" -> "step #": phases that differ in numbers only are of one kind.
std::string phase_kind(std::string_view name);

class PhaseIndex {
 public:
  explicit PhaseIndex(const Snapshot& snapshot);

  /// Names from the outermost phase in, joined by " / "; "" outside every phase.
  std::string path(std::uint64_t sequence) const;
  /// The same of kinds.
  std::string kind_path(std::uint64_t sequence) const;

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  std::size_t innermost(std::uint64_t sequence) const noexcept;
  template <typename Name>
  std::string join(std::uint64_t sequence, Name&& name) const;

  const Snapshot& snapshot_;
  std::vector<std::size_t> enclosing_;  // innermost phase each phase began in
};

}  // namespace strandline::snapshot
