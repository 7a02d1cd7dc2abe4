// SPDX-License-Identifier: Apache-2.0
#include "array/threefry.h"

#include <array>
#include <bit>

namespace strandline::array {

RandomWords threefry(RandomWords key, RandomWords counter) noexcept {
  constexpr std::array<std::array<int, 4>, 2> kRotations = {{{13, 15, 26, 6}, {17, 29, 16, 24}}};
  const std::array<std::uint32_t, 3> keys = {key.first, key.second,
                                             key.first ^ key.second ^ 0x1BD11BDAU};
  std::uint32_t a = counter.first + keys[0];
  std::uint32_t b = counter.second + keys[1];
  for (std::uint32_t round = 0; round < 5; ++round) {
    for (const int rotation : kRotations[round % 2]) {
      a += b;
      b = std::rotl(b, rotation) ^ a;
    }
    a += keys[(round + 1) % 3];
    b += keys[(round + 2) % 3] + round + 1;
  }
  return {a, b};
}

void fill_random_bits(RandomWords key, std::span<std::uint32_t> words) noexcept {
  const std::size_t half = words.size() / 2;
  const bool is_odd = words.size() % 2 != 0;
  const std::size_t second_half = half + (is_odd ? 1 : 0);
  for (std::size_t i = 0; i < half; ++i) {
    const RandomWords made =
        threefry(key, {static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(second_half + i)});
    words[i] = made.first;
    words[second_half + i] = made.second;
  }
  if (is_odd) words[half] = threefry(key, {static_cast<std::uint32_t>(half), 0}).first;
}

}  // namespace strandline::array
