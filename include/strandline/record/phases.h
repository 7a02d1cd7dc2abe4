// SPDX-License-Identifier: Apache-2.0
// Phases: named stretches of time (steps, forward, backward), with the peak of each.
// They nest per process: a phase opened while others are open lies within them. Capped and counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "strandline/core/export.h"

namespace strandline::record {

struct Phase {
  std::string name;
  std::uint32_t number = 0;  ///< from 1, in order of start
  std::uint32_t parent = 0;  ///< number of the phase open on this thread when it began, or 0
  std::uint16_t thread = 0;
  bool open = true;
  std::uint64_t start_ticks = 0;
  std::uint64_t end_ticks = 0;       ///< 0 while open
  std::uint64_t start_sequence = 0;  ///< sequence number of the next event when it began
  std::uint64_t end_sequence = 0;
  std::uint64_t start_active = 0;  ///< bytes of capacity
  std::uint64_t end_active = 0;
  std::uint64_t peak_active = 0;

  bool operator==(const Phase&) const = default;
};

/// Not synchronised; the recorder's lock guards it.
class STRANDLINE_API PhaseList {
 public:
  explicit PhaseList(std::size_t cap) : cap_(cap) {}

  /// Number of the new phase, 0 when the cap is reached (counted).
  std::uint32_t begin(std::string name, std::uint16_t thread, std::uint64_t ticks,
                      std::uint64_t sequence, std::uint64_t active);
  void end(std::uint32_t number, std::uint64_t ticks, std::uint64_t sequence,
           std::uint64_t active) noexcept;
  /// Raises the peak of every open phase.
  void note_active(std::uint64_t active) noexcept {
    for (const std::uint32_t index : open_) {
      if (active > phases_[index].peak_active) phases_[index].peak_active = active;
    }
  }

  const std::vector<Phase>& phases() const noexcept { return phases_; }
  std::uint64_t refused() const noexcept { return refused_; }
  /// Forgets all but the open phases.
  void clear();

 private:
  const std::size_t cap_;
  std::vector<Phase> phases_;
  std::vector<std::uint32_t> open_;  // indexes into phases_, in order of start
  std::uint32_t next_number_ = 1;
  std::uint64_t refused_ = 0;
};

}  // namespace strandline::record
