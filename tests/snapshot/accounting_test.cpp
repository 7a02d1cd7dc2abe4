// SPDX-License-Identifier: Apache-2.0
// The books of public snapshots against an independent oracle's.
#include "strandline/snapshot/accounting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/samples.h"

namespace strandline::snapshot {
namespace {

using nlohmann::json;

class SampleAccounts : public ::testing::TestWithParam<const char*> {};

TEST_P(SampleAccounts, EqualTheOraclesInEveryFact) {
  const std::filesystem::path folder = testing::samples(GetParam());
  if (!std::filesystem::exists(folder / "expected.json")) {
    GTEST_SKIP() << "no samples at " << folder;
  }
  const json expected = testing::expected_facts(folder);
  ASSERT_GE(expected.size(), 7U);
  for (const json& facts : expected) {
    const std::string name = facts["file"];
    SCOPED_TRACE(name);
    const SnapshotFile file = read_snapshot((folder / name).string());
    const json ours = json::parse(account_json(make_account(file), name));
    EXPECT_EQ(ours["keys"], facts["keys"]);
    EXPECT_EQ(ours["annotations"], facts["annotations"]);
    ASSERT_EQ(ours["devices"].size(), facts["devices"].size());
    for (std::size_t d = 0; d < facts["devices"].size(); ++d) {
      for (const auto& [key, value] : facts["devices"][d].items()) {
        EXPECT_EQ(ours["devices"][d].value(key, json()), value) << "device " << d << " " << key;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, SampleAccounts,
                         ::testing::Values("snapshots", "snapshots_torch_2_15"),
                         [](const auto& folder) { return std::string(folder.param); });

}  // namespace
}  // namespace strandline::snapshot
