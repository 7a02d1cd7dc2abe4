// SPDX-License-Identifier: Apache-2.0
#include "snapshot/phase_marks.h"

#include <algorithm>

namespace strandline::snapshot {

std::vector<Annotation> phase_marks(const std::vector<PhaseRow>& phases) {
  std::vector<Annotation> marks;
  for (const PhaseRow& phase : phases) {
    marks.push_back({phase.name, Stage::start, 0, phase.start_us});
    if (!phase.open) marks.push_back({phase.name, Stage::end, 0, phase.end_us});
  }
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Annotation& a, const Annotation& b) { return a.time_us < b.time_us; });
  return marks;
}

}  // namespace strandline::snapshot
