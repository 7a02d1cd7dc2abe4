// SPDX-License-Identifier: Apache-2.0
// What a random test needs around its programs: how many operations, from which seed, and the
// report of a failure: its seed and the shortest list of operations that still fails.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "alloc/random/shrink.h"

namespace strandline::alloc::random {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::uint64_t kSlowdown = 10;
#else
inline constexpr std::uint64_t kSlowdown = 1;
#endif

struct Failure {
  std::size_t step = 0;  ///< index of the operation; the program's length: its end
  std::string what;
};

inline std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr || *text == '\0' ? otherwise : std::strtoull(text, nullptr, 10);
}

/// STRANDLINE_RANDOM_OPERATIONS, or what is usual without and with STRANDLINE_FULL=1.
inline std::uint64_t operations_in_all(std::uint64_t usual, std::uint64_t full) {
  const char* wish = std::getenv("STRANDLINE_FULL");
  const bool is_full = wish != nullptr && std::string_view(wish) == "1";
  return number_from("STRANDLINE_RANDOM_OPERATIONS", (is_full ? full : usual) / kSlowdown);
}

/// What a reader of the log needs to have the failure again, in the debugger, at once. `run` runs a
/// program and says how it failed, if it did.
template <typename Operation, typename Run>
std::string report(const std::string& name, std::uint64_t seed, const Failure& failure,
                   std::vector<Operation> program, Run&& run) {
  program.resize(std::min(program.size(), failure.step + 1));
  const auto fails = [&](const std::vector<Operation>& part) { return run(part).has_value(); };
  // Cut off at the failing step the rest of the program is only its end.
  if (fails(program)) program = shrink(std::move(program), fails);
  const std::optional<Failure> again = run(program);
  std::string text = fmt::format("{}, seed {}, step {}: {}\nshrunk to {} operations: {}\n", name,
                                 seed, failure.step, failure.what, program.size(),
                                 again ? again->what : "(does not fail)");
  for (std::size_t i = 0; i < std::min<std::size_t>(program.size(), 200); ++i) {
    text += describe(program[i]) + "\n";
  }
  return text;
}

}  // namespace strandline::alloc::random
