// SPDX-License-Identifier: Apache-2.0
// Phases by the sequence numbers they span.
#include "snapshot/phase_index.h"

#include <algorithm>
#include <cctype>

namespace strandline::snapshot {

std::string phase_kind(std::string_view name) {
  std::string kind;
  bool in_number = false;
  for (const char c : name) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit) kind += c;
    if (digit && !in_number) kind += '#';
    in_number = digit;
  }
  return kind;
}

PhaseIndex::PhaseIndex(const Snapshot& tables, const std::vector<PhaseRow>& phases)
    : tables_(tables), phases_(phases) {
  enclosing_.resize(phases.size(), kNone);
  for (std::size_t i = 1; i < phases.size(); ++i) {
    std::size_t candidate = i - 1;
    while (candidate != kNone && phases[candidate].end_sequence <= phases[i].start_sequence) {
      // Two phases may begin and end without an event: the one that is still open encloses.
      candidate = enclosing_[candidate];
    }
    enclosing_[i] = candidate;
  }
  for (const PhaseRow& phase : phases) {
    bounds_.push_back(phase.start_sequence);
    bounds_.push_back(phase.end_sequence);
  }
  std::sort(bounds_.begin(), bounds_.end());
}

std::size_t PhaseIndex::stretch(std::uint64_t sequence) const noexcept {
  if (sequence == 0) return 0;
  const auto after = std::upper_bound(bounds_.begin(), bounds_.end(), sequence);
  return static_cast<std::size_t>(after - bounds_.begin()) + 1;
}

std::size_t PhaseIndex::innermost(std::uint64_t sequence) const noexcept {
  const auto after = std::upper_bound(
      phases_.begin(), phases_.end(), sequence,
      [](std::uint64_t at, const PhaseRow& phase) { return at < phase.start_sequence; });
  std::size_t candidate = static_cast<std::size_t>(after - phases_.begin());
  candidate = candidate == 0 ? kNone : candidate - 1;
  while (candidate != kNone && phases_[candidate].end_sequence <= sequence) {
    candidate = enclosing_[candidate];
  }
  return candidate;
}

template <typename Name>
std::string PhaseIndex::join(std::uint64_t sequence, Name&& name) const {
  if (sequence == 0) return {};
  std::string path;
  for (std::size_t i = innermost(sequence); i != kNone; i = enclosing_[i]) {
    if (phases_[i].end_sequence <= sequence) continue;  // overlaps without nesting
    const std::string part = name(tables_.text(phases_[i].name));
    path = path.empty() ? part : part + " / " + path;
  }
  return path;
}

std::string PhaseIndex::path(std::uint64_t sequence) const {
  return join(sequence, [](std::string_view name) { return std::string(name); });
}

std::string PhaseIndex::kind_path(std::uint64_t sequence) const {
  return join(sequence, phase_kind);
}

}  // namespace strandline::snapshot
