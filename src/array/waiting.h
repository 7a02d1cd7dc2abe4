// SPDX-License-Identifier: Apache-2.0
// Waiting for the values of arrays, and what an array becomes then.
#pragma once

#include <span>

#include "array/data.h"
#include "strandline/array/descriptor.h"
#include "strandline/array/graph_lock.h"

namespace strandline::array {

/// Whether the work that should have made its values has made them; of an evaluated array.
bool has_values(const Descriptor& node) noexcept;
/// DeviceError when it has not.
void throw_if_unmade(const Array& array);

/// Waits for arrays that are evaluated, each point on a stream once. All are waited for before the
/// first error is thrown: what made their work fail, or that their values were never made.
/// InvalidArgument for unscheduled ones.
void wait_for_all(std::span<const Array> arrays) STRANDLINE_REQUIRES(graph_lock());

}  // namespace strandline::array
