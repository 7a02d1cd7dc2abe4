// SPDX-License-Identifier: Apache-2.0
// A few elements on the stack, as many as stay in the first cache together with what is made of
// them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace strandline::array {

inline constexpr std::size_t kChunk = 512;
inline constexpr std::int64_t kChunkStep = 512;

struct alignas(64) Chunk {
  std::byte bytes[kChunk * 8];
};

}  // namespace strandline::array
