// SPDX-License-Identifier: Apache-2.0
#include "strandline/record/phases.h"

#include <algorithm>
#include <utility>

namespace strandline::record {

std::uint32_t PhaseList::begin(std::string name, std::uint16_t thread, std::uint64_t ticks,
                               std::uint64_t sequence, std::uint64_t active) {
  if (phases_.size() >= cap_) {
    ++refused_;
    return 0;
  }
  std::uint32_t parent = 0;
  for (const std::uint32_t index : open_) {
    if (phases_[index].thread == thread) parent = phases_[index].number;
  }
  phases_.push_back({.name = std::move(name),
                     .number = next_number_,
                     .parent = parent,
                     .thread = thread,
                     .start_ticks = ticks,
                     .start_sequence = sequence,
                     .start_active = active,
                     .peak_active = active});
  open_.push_back(static_cast<std::uint32_t>(phases_.size() - 1));
  return next_number_++;
}

void PhaseList::end(std::uint32_t number, std::uint64_t ticks, std::uint64_t sequence,
                    std::uint64_t active) noexcept {
  const auto found = std::find_if(open_.begin(), open_.end(), [&](std::uint32_t index) {
    return phases_[index].number == number;
  });
  if (found == open_.end()) return;
  Phase& phase = phases_[*found];
  phase.open = false;
  phase.end_ticks = ticks;
  phase.end_sequence = sequence;
  phase.end_active = active;
  open_.erase(found);
}

void PhaseList::clear() {
  std::vector<Phase> kept;
  for (const std::uint32_t index : open_) kept.push_back(std::move(phases_[index]));
  phases_ = std::move(kept);
  for (std::size_t i = 0; i < open_.size(); ++i) open_[i] = static_cast<std::uint32_t>(i);
  refused_ = 0;
}

}  // namespace strandline::record
