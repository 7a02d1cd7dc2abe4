// SPDX-License-Identifier: Apache-2.0
// Delta debugging: the list that still fails, without what it does not need (Zeller and
// Hildebrandt, "Simplifying and isolating failure-inducing input", in the form that only removes).
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace strandline::alloc::random {

/// A part of `failing`, in its order, for which `fails` is true and from which no single element
/// can be left out; larger when `most_tries` calls do not suffice. `fails(failing)` must be true.
template <typename T, typename Fails>
std::vector<T> shrink(std::vector<T> failing, Fails&& fails, std::size_t most_tries = 4000) {
  std::size_t tries = 0;
  std::size_t piece = failing.size() / 2;
  while (piece > 0 && tries < most_tries) {
    bool removed = false;
    for (std::size_t from = 0; from < failing.size() && tries < most_tries;) {
      const auto begin = failing.begin() + static_cast<std::ptrdiff_t>(from);
      const auto end = begin + static_cast<std::ptrdiff_t>(std::min(piece, failing.size() - from));
      std::vector<T> rest(failing.begin(), begin);
      rest.insert(rest.end(), end, failing.end());
      ++tries;
      if (!rest.empty() && fails(rest)) {
        failing = std::move(rest);
        removed = true;
      } else {
        from += piece;
      }
    }
    // Once more at size 1 as long as that helps: what was needed before may not be now.
    if (piece > 1 || !removed) piece /= 2;
  }
  return failing;
}

}  // namespace strandline::alloc::random
