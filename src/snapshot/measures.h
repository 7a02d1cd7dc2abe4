// SPDX-License-Identifier: Apache-2.0
// Places of the two measures in what is kept by measure.
#pragma once

#include <cstddef>

#include "strandline/record/live_blocks.h"

namespace strandline::snapshot {

inline constexpr auto kCapacity = static_cast<std::size_t>(record::Measure::capacity);
inline constexpr auto kRequested = static_cast<std::size_t>(record::Measure::requested);

}  // namespace strandline::snapshot
