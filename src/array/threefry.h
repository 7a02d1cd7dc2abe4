// SPDX-License-Identifier: Apache-2.0
// Threefry 2x32 with 20 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1,
// 2, 3" (2011). A key and a counter of two words give two random words.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace strandline::array {

struct RandomWords {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
};

namespace detail {
struct Threefry {
  std::uint32_t a;
  std::uint32_t b;
  std::array<std::uint32_t, 3> keys;

  template <int... Rotations>
  constexpr void mix() noexcept {
    ((a += b, b = std::rotl(b, Rotations) ^ a), ...);
  }
  template <std::uint32_t Round>
  constexpr void add_keys() noexcept {
    a += keys[Round % 3];
    b += keys[(Round + 1) % 3] + Round;
  }
};
}  // namespace detail

// Written out, so that a loop over counters vectorises.
constexpr RandomWords threefry(RandomWords key, RandomWords counter) noexcept {
  detail::Threefry state{counter.first + key.first,
                         counter.second + key.second,
                         {key.first, key.second, key.first ^ key.second ^ 0x1BD11BDAU}};
  state.mix<13, 15, 26, 6>();
  state.add_keys<1>();
  state.mix<17, 29, 16, 24>();
  state.add_keys<2>();
  state.mix<13, 15, 26, 6>();
  state.add_keys<3>();
  state.mix<17, 29, 16, 24>();
  state.add_keys<4>();
  state.mix<13, 15, 26, 6>();
  state.add_keys<5>();
  return {state.a, state.b};
}
/// The words of one key, in MLX's order: the first half of the words are the first words of
/// counters (i, i + half), the second half their second words; an odd one lies between.
void fill_random_bits(RandomWords key, std::span<std::uint32_t> words) noexcept;

}  // namespace strandline::array
