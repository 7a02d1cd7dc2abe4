// SPDX-License-Identifier: Apache-2.0
// Random arrays from keys: the same key gives the same values, on every device, and those that MLX
// gives. The generator is Threefry 2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3", 2011). Without a key the next of this thread's sequence is used, which `seed`
// begins anew.
#pragma once

#include <cstdint>
#include <optional>

#include "strandline/array/array.h"
#include "strandline/array/operations.h"
#include "strandline/core/export.h"

namespace strandline::array::random {

using Key = std::optional<Array>;  ///< of shape (2,), uint32

STRANDLINE_API void seed(std::uint64_t seed);
STRANDLINE_API Array key(std::uint64_t seed);
/// (count, 2): keys that are independent of each other and of the one given.
STRANDLINE_API Array split(const Array& key, int count = 2);
/// Uniform uint32.
STRANDLINE_API Array bits(const Shape& shape, const Key& key = {});
/// In [low, high). Floats only.
STRANDLINE_API Array uniform(const Array& low, const Array& high, const Shape& shape,
                             Dtype dtype = Dtype::float32, const Key& key = {});
STRANDLINE_API Array normal(const Shape& shape, Dtype dtype = Dtype::float32, double mean = 0,
                            double deviation = 1, const Key& key = {});
/// Integers in [low, high).
STRANDLINE_API Array randint(const Array& low, const Array& high, const Shape& shape,
                             Dtype dtype = Dtype::int32, const Key& key = {});
/// Indices drawn with probabilities softmax(logits) along `axis`, one for each line.
STRANDLINE_API Array categorical(const Array& logits, int axis = -1, const Key& key = {});

}  // namespace strandline::array::random
