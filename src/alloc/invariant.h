// SPDX-License-Identifier: Apache-2.0
// What the validate() of every policy says where one of its formulas does not hold.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "strandline/core/error.h"

namespace strandline::alloc {

/// `at`: the size, offset or address that tells the place. Throws InternalError.
inline void require(std::string_view policy, bool holds, std::string_view invariant,
                    std::uint64_t at) {
  if (holds) return;
  throw InternalError(error_message(std::string(policy) + "::validate", invariant,
                                    fmt::format("a violation at {}", at), "none"));
}

}  // namespace strandline::alloc
