// SPDX-License-Identifier: Apache-2.0
// The parser of settings: what it takes, what it refuses and how it says so, what it leaves alone.
#include "strandline/alloc/settings.h"

#include <cstdlib>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "alloc/settings_table.h"

namespace strandline::alloc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint64_t kMiB = 1 << 20;

Settings parsed(std::string_view text, Settings settings = {}) {
  apply_settings(text, settings);
  return settings;
}

SettingsError error_of(std::string_view text, Decisions decisions = Decisions::ours) {
  Settings settings;
  try {
    apply_settings(text, settings, decisions);
  } catch (const SettingsError& error) {
    EXPECT_TRUE(decisions == Decisions::pytorch || settings == Settings{}) << text;
    return error;
  }
  ADD_FAILURE() << text << " was taken";
  return {"", "", "", 0};
}

TEST(Settings, read_every_key) {
  const Settings settings = parsed(
      "backend:ordered_pools,large_segment_size_mb:24,max_split_size_mb:64,"
      "max_non_split_rounding_mb:32,garbage_collection_threshold:0.75,roundup_power2_divisions:8,"
      "per_process_memory_fraction:0.5,throw_on_device_malloc_oom:True,"
      "release_lock_on_device_malloc:True,expandable_segments:True,expandable_segments_reserve:1.5,"
      "expandable_segments_reserve_by_class:[copy:2G,compute:0.25],"
      "graph_capture_record_stream_reuse:True,pinned_use_host_register:True,"
      "pinned_num_register_threads:16,pinned_use_background_threads:True,"
      "pinned_reserve_segment_size_mb:128,pinned_free_catch_all:True,"
      "pinned_max_round_threshold_mb:256,pinned_max_cached_size_mb:512");
  Settings expected;
  expected.backend = SettingsBackend::ordered_pools;
  expected.large_segment_bytes = 24 * kMiB;
  expected.max_split_bytes = 64 * kMiB;
  expected.max_non_split_rounding_bytes = 32 * kMiB;
  expected.garbage_collection_threshold = 0.75;
  expected.roundup_power2_divisions.fill(8);
  expected.per_process_memory_fraction = 0.5;
  expected.throw_on_device_malloc_oom = true;
  expected.release_lock_on_device_malloc = true;
  expected.expandable_segments = true;
  expected.expandable_reserve_fraction = 1.5;
  expected.expandable_reserve_by_class = {{"copy", 0, std::uint64_t{2} << 30},
                                          {"compute", 0.25, 0}};
  expected.graph_capture_record_stream_reuse = true;
  expected.pinned_use_host_register = true;
  expected.pinned_register_threads = 16;
  expected.pinned_use_background_threads = true;
  expected.pinned_reserve_segment_bytes = 128 * kMiB;
  expected.pinned_free_catch_all = true;
  expected.pinned_max_round_bytes = 256 * kMiB;
  expected.pinned_max_cached_bytes = 512 * kMiB;
  EXPECT_EQ(settings, expected);
}

TEST(Settings, nothing_changes_nothing) {
  for (const char* text : {"", " \t\n", ",", " , ,, "}) EXPECT_EQ(parsed(text), Settings{}) << text;
}

TEST(Settings, white_space_counts_for_nothing_anywhere) {
  EXPECT_EQ(parsed(" max_split_ size_mb :\t6 4\n, expandable_segments : Tr ue ,").max_split_bytes,
            64 * kMiB);
}

TEST(Settings, a_key_not_named_keeps_its_value) {
  const Settings before = parsed("max_split_size_mb:64,roundup_power2_divisions:4");
  const Settings after = parsed("garbage_collection_threshold:0.5", before);
  EXPECT_EQ(after.max_split_bytes, 64 * kMiB);
  EXPECT_EQ(after.roundup_power2_divisions[3], 4u);
  EXPECT_EQ(after.garbage_collection_threshold, 0.5);
}

TEST(Settings, default_sets_any_key_back) {
  for (const settings::Key& key : settings::keys()) {
    Settings all = parsed(
        "backend:ordered_pools,large_segment_size_mb:24,max_split_size_mb:64,"
        "garbage_collection_threshold:0.5,roundup_power2_divisions:2,"
        "per_process_memory_fraction:0.5,throw_on_device_malloc_oom:True,"
        "release_lock_on_device_malloc:True,expandable_segments:True,"
        "expandable_segments_reserve:2G,expandable_segments_reserve_by_class:[a:1],"
        "graph_capture_record_stream_reuse:True,pinned_use_host_register:True,"
        "pinned_num_register_threads:2,pinned_use_background_threads:True,"
        "pinned_reserve_segment_size_mb:1,pinned_free_catch_all:True,"
        "pinned_max_round_threshold_mb:1,pinned_max_cached_size_mb:1,"
        "max_non_split_rounding_mb:48");
    const Settings before = all;
    ASSERT_NE(settings::value_of(key, before), settings::value_of(key, Settings{})) << key.name;
    apply_settings(fmt::format("{}:default", key.name), all);
    EXPECT_EQ(settings::value_of(key, all),
              settings::value_of(key, settings::defaults_beside(before)))
        << key.name;
    settings::copy(key, before, all);
    EXPECT_EQ(all, before) << key.name << ":default changed something else";
  }
}

TEST(Settings, the_rounding_of_whole_blocks_follows_the_segments_until_it_is_set) {
  EXPECT_EQ(parsed("large_segment_size_mb:64").max_non_split_rounding_bytes, 64 * kMiB);
  Settings settings = parsed("max_non_split_rounding_mb:32");
  apply_settings("large_segment_size_mb:24", settings);
  EXPECT_EQ(settings.max_non_split_rounding_bytes, 32 * kMiB);
  apply_settings("max_non_split_rounding_mb:default", settings);
  EXPECT_EQ(settings.max_non_split_rounding_bytes, 24 * kMiB);
  apply_settings("large_segment_size_mb:default", settings);
  EXPECT_EQ(settings.max_non_split_rounding_bytes, 20 * kMiB);
}

TEST(Settings, the_size_of_segments_is_read_first_wherever_it_stands) {
  const SettingsError error = error_of("max_split_size_mb:32,large_segment_size_mb:64");
  EXPECT_EQ(error.key, "max_split_size_mb");
  EXPECT_THAT(error.what(), HasSubstr("at least 64"));
  EXPECT_EQ(parsed("max_split_size_mb:32,large_segment_size_mb:24").max_split_bytes, 32 * kMiB);
  // In a list it is the name of a class of streams.
  const Settings settings =
      parsed("expandable_segments_reserve_by_class:[large_segment_size_mb:2]");
  EXPECT_EQ(settings.large_segment_bytes, 20 * kMiB);
}

TEST(Settings, larger_segments_than_a_kept_limit_are_refused) {
  Settings settings = parsed("max_split_size_mb:32");
  const Settings before = settings;
  EXPECT_THROW(apply_settings("large_segment_size_mb:64", settings), SettingsError);
  EXPECT_EQ(settings, before);
  EXPECT_NO_THROW(apply_settings("large_segment_size_mb:64,max_split_size_mb:64", settings));
}

TEST(Settings, huge_sizes_do_not_wrap) {
  constexpr std::uint64_t kMost = 17592186044415;  // MiB in 64 bits
  for (const std::uint64_t count : {kMost - 1, kMost, kMost + 1, UINT64_MAX}) {
    EXPECT_EQ(parsed(fmt::format("max_split_size_mb:{}", count)).max_split_bytes,
              std::min(count, kMost) * kMiB);
  }
}

TEST(Settings, the_last_of_two_counts_and_is_noted) {
  Settings settings;
  const SettingsReading reading =
      apply_settings("max_split_size_mb:64,max_split_size_mb:128", settings);
  EXPECT_EQ(settings.max_split_bytes, 128 * kMiB);
  EXPECT_THAT(reading.keys, ElementsAre("max_split_size_mb"));
  EXPECT_THAT(reading.notes, ElementsAre(HasSubstr("more than once")));
}

TEST(Settings, older_names_are_understood_with_one_note) {
  Settings settings;
  const SettingsReading reading = apply_settings(
      "release_lock_on_cudamalloc:True,throw_on_cudamalloc_oom:True,"
      "pinned_use_hip_host_register:False",
      settings);
  EXPECT_TRUE(settings.release_lock_on_device_malloc);
  EXPECT_TRUE(settings.throw_on_device_malloc_oom);
  EXPECT_THAT(reading.keys, ElementsAre("release_lock_on_device_malloc",
                                        "throw_on_device_malloc_oom", "pinned_use_host_register"));
  EXPECT_THAT(
      reading.notes,
      ElementsAre("older names: release_lock_on_cudamalloc (now release_lock_on_device_malloc), "
                  "throw_on_cudamalloc_oom (now throw_on_device_malloc_oom), "
                  "pinned_use_hip_host_register (now pinned_use_host_register)"));
}

TEST(Settings, what_nothing_acts_on_is_noted_where_it_matters) {
  Settings settings;
  EXPECT_THAT(apply_settings("expandable_segments:False", settings).notes, IsEmpty());
  EXPECT_THAT(apply_settings("expandable_segments:True,backend:native", settings).notes,
              ElementsAre(HasSubstr("nothing of this version acts on: expandable_segments")));
}

TEST(Settings, divisions_hold_up_to_the_next_interval) {
  const auto table =
      parsed("roundup_power2_divisions:[4:8,32:2,128:0,512:1,>:4]").roundup_power2_divisions;
  EXPECT_THAT(table, ElementsAre(8, 8, 8, 8, 8, 2, 2, 0, 0, 1, 4, 4, 4, 4, 4, 4));
  EXPECT_THAT(parsed("roundup_power2_divisions:[4:8,32:2]").roundup_power2_divisions,
              ElementsAre(8, 8, 8, 8, 8, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2));
  EXPECT_EQ(parsed("roundup_power2_divisions:[>:4,32:2,4:8]"),
            parsed("roundup_power2_divisions:[4:8,32:2,>:4]"));
  EXPECT_THAT(parsed("roundup_power2_divisions:[65536:2,>:8]").roundup_power2_divisions,
              testing::Each(2));
  EXPECT_THAT(parsed("roundup_power2_divisions:[>:8]").roundup_power2_divisions, testing::Each(8));
}

TEST(Settings, an_error_names_key_value_and_position) {
  const SettingsError error = error_of("roundup_power2_divisions:8, max_split_size_mb : 5");
  EXPECT_EQ(error.key, "max_split_size_mb");
  EXPECT_EQ(error.value, "5");
  EXPECT_EQ(error.position, 48u);
  EXPECT_STREQ(
      error.what(),
      "[apply_settings] max_split_size_mb at position 48; got '5', expected a whole number "
      "of MiB, at least 20 (large_segment_size_mb)");
}

TEST(Settings, an_unknown_key_is_told_its_likeliest_name) {
  const SettingsError error = error_of("max_split_size_mb:64,garbage_colection_treshold:0.5");
  EXPECT_EQ(error.value, "garbage_colection_treshold");
  EXPECT_EQ(error.position, 21u);
  EXPECT_THAT(error.what(), HasSubstr("perhaps 'garbage_collection_threshold'"));
  EXPECT_THAT(error_of("something_else_entirely:1").what(), testing::Not(HasSubstr("perhaps")));
}

struct Bad {
  const char* text;
  const char* value;
  std::size_t position;
};

TEST(Settings, refuse_what_cannot_be) {
  constexpr Bad kBad[] = {
      {"max_split_size_mb", "", 17},
      {"max_split_size_mb:", "", 18},
      {"max_split_size_mb,64", ",", 17},
      {"max_split_size_mb:64:expandable_segments:True", ":", 20},
      {"max_split_size_mb:64]", "]", 20},
      {"max_split_size_mb:19", "19", 18},
      {"max_split_size_mb:64abc", "64abc", 18},
      {"max_split_size_mb:-64", "-64", 18},
      {"max_split_size_mb:+64", "+64", 18},
      {"max_split_size_mb:0x40", "0x40", 18},
      {"max_split_size_mb:64.5", "64.5", 18},
      {"max_split_size_mb:18446744073709551616", "18446744073709551616", 18},
      {"max_split_size_mb:[64:1]", "[", 18},
      {"max_split_size_mb:Default", "Default", 18},
      {"large_segment_size_mb:10", "10", 22},
      {"large_segment_size_mb:20.5", "20.5", 22},
      {"garbage_collection_threshold:0", "0", 29},
      {"garbage_collection_threshold:1", "1", 29},
      {"garbage_collection_threshold:1.5", "1.5", 29},
      {"garbage_collection_threshold:-0.5", "-0.5", 29},
      {"garbage_collection_threshold:nan", "nan", 29},
      {"garbage_collection_threshold:inf", "inf", 29},
      {"garbage_collection_threshold:0.5x", "0.5x", 29},
      {"per_process_memory_fraction:1.01", "1.01", 28},
      {"expandable_segments:true", "true", 20},
      {"expandable_segments:1", "1", 20},
      {"roundup_power2_divisions:3", "3", 25},
      {"roundup_power2_divisions:[256:3]", "3", 30},
      {"roundup_power2_divisions:[3:4]", "3", 26},
      {"roundup_power2_divisions:[0:4]", "0", 26},
      {"roundup_power2_divisions:[256:4", "", 31},
      {"roundup_power2_divisions:[256", "", 29},
      {"roundup_power2_divisions:[", "", 26},
      {"roundup_power2_divisions:[256:4,,512:2]", ",", 32},
      {"roundup_power2_divisions:[256 4]", "]", 31},
      {"pinned_num_register_threads:3", "3", 28},
      {"pinned_num_register_threads:256", "256", 28},
      {"pinned_reserve_segment_size_mb:0", "0", 31},
      {"expandable_segments_reserve:0", "0", 28},
      {"expandable_segments_reserve:G", "G", 28},
      {"expandable_segments_reserve_by_class:[a:b]", "b", 40},
      {"backend:cuda", "cuda", 8},
      {":64", ":", 0},
      {"[", "[", 0},
  };
  for (const Bad& bad : kBad) {
    const SettingsError error = error_of(bad.text);
    EXPECT_EQ(error.value, bad.value) << bad.text;
    EXPECT_EQ(error.position, bad.position) << bad.text;
  }
}

TEST(Settings, text_reads_back_to_the_same_with_either_decisions) {
  std::mt19937_64 random(7);
  const char* const values[] = {"True",    "False",  "0",           "1",           "2",
                                "8",       "24",     "64",          "0.5",         "2G",
                                "default", "native", "[256:2,>:4]", "[a:2G,b:0.5]"};
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    Settings settings;
    for (int item = 0; item < 6; ++item) {
      const settings::Key& key = settings::keys()[random() % settings::keys().size()];
      try {
        apply_settings(fmt::format("{}:{}", key.name, values[random() % std::size(values)]),
                       settings);
        ++read;
      } catch (const SettingsError&) {
        continue;  // most values are not of most keys
      }
    }
    const std::string text = settings_text(settings);
    for (const Decisions decisions : {Decisions::ours, Decisions::pytorch}) {
      Settings again;
      apply_settings(text, again, decisions);
      ASSERT_EQ(again, settings) << text;
    }
  }
  EXPECT_GT(read, 10'000);
  EXPECT_EQ(settings_text({}), "");
}

TEST(Settings, values_are_in_the_units_of_their_names) {
  const auto values = settings_values(parsed("max_split_size_mb:64,expandable_segments:True"));
  ASSERT_EQ(values.size(), settings::keys().size());
  const std::map<std::string, SettingValue> by_key(values.begin(), values.end());
  EXPECT_EQ(by_key.at("max_split_size_mb"), SettingValue(std::uint64_t{64}));
  EXPECT_EQ(by_key.at("expandable_segments"), SettingValue(true));
  EXPECT_EQ(by_key.at("pinned_max_cached_size_mb"), SettingValue());
  EXPECT_EQ(by_key.at("per_process_memory_fraction"), SettingValue(1.0));
}

TEST(SettingsTable, has_no_name_twice) {
  std::vector<std::string_view> names;
  for (const settings::Key& key : settings::keys()) {
    names.push_back(key.name);
    for (const std::string_view older : key.older) {
      if (!older.empty()) names.push_back(older);
    }
    EXPECT_FALSE(key.meaning.empty()) << key.name;
    EXPECT_EQ(key.name.find("cuda"), std::string_view::npos) << key.name;
    EXPECT_EQ(key.name.find("hip"), std::string_view::npos) << key.name;
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

class SettingsEnvironment : public testing::Test {
 protected:
  static constexpr const char* kVariables[] = {"STRANDLINE_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
                                               "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"};
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* variable : kVariables) unsetenv(variable);
  }
};

TEST_F(SettingsEnvironment, D19_each_variable_alone_is_read) {
  EXPECT_EQ(settings_from_environment().variable, "");
  for (const char* variable : kVariables) {
    clear();
    setenv(variable, "max_split_size_mb:64", 1);
    for (const Decisions decisions : {Decisions::ours, Decisions::pytorch}) {
      const EnvironmentSettings found = settings_from_environment(decisions);
      EXPECT_EQ(found.variable, variable);
      EXPECT_EQ(found.text, "max_split_size_mb:64");
      EXPECT_EQ(found.settings.max_split_bytes, 64 * kMiB);
      EXPECT_THAT(found.reading.notes, IsEmpty());
    }
  }
}

TEST_F(SettingsEnvironment, D19_the_first_of_several_is_read_and_the_others_are_named) {
  for (std::size_t i = 4; i-- > 0;) {
    setenv(kVariables[i], fmt::format("max_split_size_mb:{}", 100 + i).c_str(), 1);
    const EnvironmentSettings found = settings_from_environment();
    EXPECT_EQ(found.variable, kVariables[i]);
    EXPECT_EQ(found.settings.max_split_bytes, (100 + i) * kMiB);
    EXPECT_EQ(found.reading.notes.size(), 3 - i);
  }
  unsetenv("STRANDLINE_ALLOC_CONF");
  EXPECT_EQ(settings_from_environment(Decisions::pytorch).variable, "PYTORCH_CUDA_ALLOC_CONF");
  EXPECT_THAT(
      settings_from_environment().reading.notes,
      ElementsAre("PYTORCH_CUDA_ALLOC_CONF is not read, PYTORCH_ALLOC_CONF comes before it",
                  "PYTORCH_HIP_ALLOC_CONF is not read, PYTORCH_ALLOC_CONF comes before it"));
}

TEST_F(SettingsEnvironment, an_empty_variable_is_set) {
  setenv("STRANDLINE_ALLOC_CONF", "", 1);
  setenv("PYTORCH_ALLOC_CONF", "max_split_size_mb:64", 1);
  const EnvironmentSettings found = settings_from_environment();
  EXPECT_EQ(found.variable, "STRANDLINE_ALLOC_CONF");
  EXPECT_EQ(found.settings, Settings{});
}

TEST_F(SettingsEnvironment, an_error_names_the_variable) {
  setenv("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:5", 1);
  try {
    (void)settings_from_environment();
    FAIL();
  } catch (const SettingsError& error) {
    EXPECT_THAT(error.what(),
                testing::StartsWith("[PYTORCH_CUDA_ALLOC_CONF] max_split_size_mb at position 18"));
  }
}

}  // namespace
}  // namespace strandline::alloc
