// SPDX-License-Identifier: Apache-2.0
#include "array/threefry.h"

#include "array/kernels/loops.h"

namespace strandline::array {

void fill_random_bits(RandomWords key, std::span<std::uint32_t> words) noexcept {
  const std::size_t half = words.size() / 2;
  const bool is_odd = words.size() % 2 != 0;
  const std::size_t second_half = half + (is_odd ? 1 : 0);
  std::uint32_t* const first = words.data();
  std::uint32_t* const second = first + second_half;
  STRANDLINE_VECTORISE
  for (std::size_t i = 0; i < half; ++i) {
    const RandomWords made =
        threefry(key, {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(second_half + i)});
    first[i] = made.first;
    second[i] = made.second;
  }
  if (is_odd) words[half] = threefry(key, {static_cast<std::uint32_t>(half), 0}).first;
}

}  // namespace strandline::array
