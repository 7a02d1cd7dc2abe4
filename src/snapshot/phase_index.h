// SPDX-License-Identifier: Apache-2.0
// Which phases an event lies in. Phases nest in time, whatever thread began them.
//
//   stretch   events between which no phase begins or ends: they lie in the same ones
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
  explicit PhaseIndex(const Snapshot& tables, const std::vector<PhaseRow>& phases);

  /// Number of the stretch that an event lies in, 0 to `stretches() - 1`; 0 for sequence 0, no
  /// event.
  std::size_t stretch(std::uint64_t sequence) const noexcept;
  std::size_t stretches() const noexcept { return bounds_.size() + 2; }

  /// Names from the outermost phase in, joined by " / "; "" outside every phase.
  std::string path(std::uint64_t sequence) const;
  /// The same of kinds.
  std::string kind_path(std::uint64_t sequence) const;

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  std::size_t innermost(std::uint64_t sequence) const noexcept;
  template <typename Name>
  std::string join(std::uint64_t sequence, Name&& name) const;

  const Snapshot& tables_;
  const std::vector<PhaseRow>& phases_;
  std::vector<std::size_t> enclosing_;  // innermost phase each phase began in
  std::vector<std::uint64_t> bounds_;   // where phases begin or end, sorted
};

}  // namespace strandline::snapshot
