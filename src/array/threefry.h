// SPDX-License-Identifier: Apache-2.0
// Threefry 2x32 with 20 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1,
// 2, 3" (2011). A key and a counter of two words give two random words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace strandline::array {

struct RandomWords {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

RandomWords threefry(RandomWords key, RandomWords counter) noexcept;
/// The words of one key, in MLX's order: the first half of the words are the first words of
/// counters (i, i + half), the second half their second words; an odd one lies between.
void fill_random_bits(RandomWords key, std::span<std::uint32_t> words) noexcept;

}  // namespace strandline::array
