// SPDX-License-Identifier: Apache-2.0
// The contract against random programs with faults, 1.2 million operations; a hundred times as many
// under STRANDLINE_FULL. STRANDLINE_SEED chooses another start.
#include <cstdlib>
#include <string>

#include "alloc/contract/random_program.h"

namespace strandline::alloc {
namespace {

constexpr std::size_t kLength = 2000;
constexpr std::uint64_t kPrograms = 100;

class AllocatorRandom : public testing::TestWithParam<Subject> {};
INSTANTIATE_TEST_SUITE_P(Contract, AllocatorRandom, testing::ValuesIn(all_subjects()),
                         subject_name);

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST_P(AllocatorRandom, programs_agree_with_a_naive_model) {
  const std::uint64_t first = number_from("STRANDLINE_SEED", 20'262);
  const bool is_full = std::getenv("STRANDLINE_FULL") != nullptr;
  const std::uint64_t programs = kPrograms * (is_full ? 100 : 1);
  ModelRun run(GetParam());
  for (std::uint64_t seed = first; seed < first + programs; ++seed) {
    const Program program = random_program(seed, kLength);
    const std::optional<std::string> broken = run.run(program);
    if (!broken) continue;
    ADD_FAILURE() << "seed " << seed << ": " << *broken;
    if (ModelRun(GetParam()).run(program)) {
      ADD_FAILURE() << "it takes no more than:\n" << text_of(shrink(GetParam(), program));
    }
    return;
  }
}

}  // namespace
}  // namespace strandline::alloc
