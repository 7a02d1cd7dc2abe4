// SPDX-License-Identifier: Apache-2.0
// The parser with PyTorch's rules against PyTorch 2.15: answers of its own parser that were asked
// for (settings/ask_pytorch.py), and what its allocator did after each string in the sample
// programs: a segment's size and a block's size give away what was set.
#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zlib.h>

#include "strandline/alloc/settings.h"

namespace strandline::alloc {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMiB = 1 << 20;

std::vector<json> lines_of(const std::filesystem::path& path) {
  gzFile file = gzopen(path.c_str(), "rb");  // reads plain files as well
  if (file == nullptr) throw std::runtime_error(path.string() + " cannot be read");
  std::string text;
  char buffer[1 << 14];
  for (int count = 0; (count = gzread(file, buffer, sizeof(buffer))) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  gzclose(file);
  std::vector<json> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(json::parse(text.substr(at, end - at)));
    at = end + 1;
  }
  return lines;
}

// -1 stands for the largest size_t there.
std::uint64_t size_of(const json& value) {
  return static_cast<std::uint64_t>(value.get<std::int64_t>());
}

void expect_as_snapshot(const json& theirs, const Settings& ours, const std::string& text) {
  EXPECT_EQ(ours.max_split_bytes, size_of(theirs["max_split_size"])) << text;
  EXPECT_EQ(ours.garbage_collection_threshold, theirs["garbage_collection_threshold"]) << text;
  EXPECT_EQ(ours.expandable_segments, theirs["expandable_segments"]) << text;
  EXPECT_EQ(ours.pinned_register_threads, theirs["pinned_num_register_threads"]) << text;
  EXPECT_EQ(ours.release_lock_on_device_malloc, theirs["release_lock_on_cudamalloc"]) << text;
  EXPECT_EQ(ours.pinned_use_host_register, theirs["pinned_use_cuda_host_register"]) << text;
  EXPECT_EQ(ours.graph_capture_record_stream_reuse, theirs["graph_capture_record_stream_reuse"])
      << text;
  for (std::size_t i = 0; i < Settings::kIntervals; ++i) {
    const std::string interval = std::to_string(std::uint64_t{1} << i);
    EXPECT_EQ(ours.roundup_power2_divisions[i], theirs["roundup_power2_divisions"][interval])
        << text << ", from " << interval << " MiB";
  }
}

// Where ours answers otherwise on purpose. A number with something behind it is none.
bool has_broken_number(const std::string& text) {
  return text == "max_split_size_mb:64abc" || text == "max_split_size_mb:20.5" ||
         text == "roundup_power2_divisions:[256:2;512:4]";
}
// A backend is refused by the allocator that is not it (configure), not by the parser.
bool has_other_backend(const std::string& text) {
  return text == "backend:cudaMallocAsync";
}

TEST(SettingsAsPyTorch, takes_refuses_and_leaves_what_its_parser_does) {
  const auto answers =
      lines_of(STRANDLINE_SOURCE_DIR "/tests/alloc/settings/pytorch_answers.jsonl");
  ASSERT_GT(answers.size(), 90u);
  Settings settings;
  for (std::size_t i = 1; i < answers.size(); ++i) {
    const std::string text = answers[i]["text"];
    bool refused = false;
    try {
      apply_settings(text, settings, Decisions::pytorch);
    } catch (const SettingsError&) {
      refused = true;
    }
    if (has_broken_number(text) || has_other_backend(text)) {
      EXPECT_EQ(refused, has_broken_number(text)) << text;
      settings.backend = SettingsBackend::native;
      continue;
    }
    EXPECT_EQ(refused, answers[i].contains("error")) << text << answers[i].dump();
    expect_as_snapshot(answers[i]["settings"], settings, text);
  }
}

// PyTorch's rounding and segment sizes, from the specification alone.
std::uint64_t rounded(const Settings& settings, std::uint64_t bytes) {
  if (bytes < 512) return 512;
  const auto power = static_cast<std::size_t>(std::bit_width(bytes)) - 1;
  const std::size_t interval = std::min<std::size_t>(power < 20 ? 0 : power - 20, 15);
  const std::uint64_t divisions = settings.roundup_power2_divisions[interval];
  std::uint64_t step = 512;
  if (divisions > 1 && bytes > 512 * divisions) {
    if (std::has_single_bit(bytes)) return bytes;
    step = (std::uint64_t{1} << power) / divisions;
    if (step == 0) return std::uint64_t{2} << power;
  }
  return (bytes + step - 1) / step * step;
}

std::uint64_t segment_bytes(const Settings& settings, std::uint64_t size) {
  if (size <= kMiB) return 2 * kMiB;
  if (size < 10 * kMiB) return settings.large_segment_bytes;
  return (size + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB);
}

struct Seen {
  int settings = 0;
  int errors = 0;
  int segments = 0;
  int blocks = 0;
};

void follow(const std::filesystem::path& path, Seen& seen) {
  const std::string name = path.filename().string();
  const auto program = lines_of(path);
  const std::string stem = name.substr(0, name.find(".program"));
  const auto answers = lines_of(path.parent_path() / (stem + ".answers.jsonl.gz"));
  const bool may_not_cut =
      std::ranges::any_of(program, [](const json& line) { return line.value("no_split", false); });
  Settings settings;
  for (std::size_t i = 1; i < program.size(); ++i) {
    const json& operation = program[i];
    const json& answer = answers[i - 1];
    if (operation["op"] == "settings") {
      ++seen.settings;
      bool refused = false;
      try {
        apply_settings(operation["value"].get<std::string>(), settings, Decisions::pytorch);
      } catch (const SettingsError&) {
        refused = true;
        ++seen.errors;
      }
      EXPECT_EQ(refused, answer.contains("error")) << name << " " << i << operation.dump();
    }
    if (operation["op"] != "alloc" || answer.contains("error")) continue;
    const std::uint64_t size = rounded(settings, operation["size"]);
    if (!may_not_cut && size <= kMiB && answer.contains("block")) {
      ++seen.blocks;
      EXPECT_EQ(answer["block"], size) << name << " " << i << operation.dump();
    }
    for (const json& call : answer.value("driver", json::array())) {
      if (call[0] != "malloc") continue;
      ++seen.segments;
      EXPECT_EQ(call[2], segment_bytes(settings, size)) << name << " " << i << operation.dump();
    }
  }
}

TEST(SettingsAsPyTorch, explain_every_segment_and_block_of_the_sample_programs) {
  const std::filesystem::path folder =
      STRANDLINE_SOURCE_DIR "/../shared/samples/allocator_programs";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  Seen seen;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().string().ends_with(".program.jsonl.gz")) follow(entry.path(), seen);
  }
  EXPECT_GT(seen.settings, 60);
  EXPECT_GE(seen.errors, 7);
  EXPECT_GT(seen.segments, 1000);
  EXPECT_GT(seen.blocks, 5000);
}

}  // namespace
}  // namespace strandline::alloc
