// SPDX-License-Identifier: Apache-2.0
// Elements moved and converted, a run at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "strandline/array/dtype.h"

namespace strandline::array {

/// Copies `count` elements of `item_bytes` (1, 2, 4 or 8) that lie `stride` elements apart.
void gather(std::size_t item_bytes, const std::byte* from, std::int64_t stride, std::byte* to,
            std::size_t count) noexcept;
/// The reverse.
void scatter(std::size_t item_bytes, const std::byte* from, std::byte* to, std::int64_t stride,
             std::size_t count) noexcept;
/// Converts `count` adjacent elements: floats to integers towards zero, anything to bool by != 0.
void cast_elements(Dtype from_dtype, const void* from, Dtype to_dtype, void* to,
                   std::size_t count) noexcept;

}  // namespace strandline::array
