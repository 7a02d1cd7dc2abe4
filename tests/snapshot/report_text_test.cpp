// SPDX-License-Identifier: Apache-2.0
// The report as a person sees it: one golden text, and the rules that hold for every text.
#include "strandline/snapshot/report_text.h"

#include <fstream>
#include <random>
#include <sstream>

#include "snapshot/numbers.h"
#include "snapshot/training_record.h"
#include "snapshot/utf8.h"

namespace strandline::snapshot {
namespace {

using testing::kMiB;
using testing::TrainingRecord;

RunInfo run_info() {
  RunInfo run;
  run.program = "train.py";
  run.framework = "mlx 0.32.4 (cpu)";
  run.steps = 3;
  run.seconds = 75.21;
  run.exit_status = 0;
  return run;
}

PeakReport training_report() {
  TrainingRecord training;
  PeakReport report = make_peak_report(training.record.snapshot(), run_info());
  report.by_line[0].source = "scores = q @ k.swapaxes(-1, -2) * scale + mask[:, None, :] - offset";
  return report;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(ReportText, ReadsAsWritten) {
  std::ifstream golden(STRANDLINE_SOURCE_DIR "/tests/snapshot/golden_report.txt");
  std::stringstream expected;
  expected << golden.rdbuf();
  ReportTextOptions options;
  options.call_tree = true;
  options.snapshot_path = "out.pickle";
  EXPECT_EQ(report_text(training_report(), options), expected.str());
}

TEST(ReportText, FitsItsWidthAndUsesIt) {
  const PeakReport report = training_report();
  for (const std::size_t width : {80U, 100U, 160U}) {
    ReportTextOptions options;
    options.width = width;
    options.call_tree = true;
    std::size_t widest = 0;
    for (const std::string& line : lines_of(report_text(report, options))) {
      widest = std::max(widest, width_of(line));
    }
    EXPECT_EQ(widest, width);
  }
  EXPECT_EQ(report_text(
                report,
                {.top = 10, .width = 20, .color = false, .call_tree = false, .snapshot_path = ""}),
            report_text(report));
}

TEST(ReportText, ColourOnlyWhenAskedAndThenOnlyColour) {
  const PeakReport report = training_report();
  const std::string plain = report_text(report);
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  ReportTextOptions options;
  options.color = true;
  std::string colored = report_text(report, options);
  EXPECT_NE(colored.find("\x1b[1m"), std::string::npos);
  for (const std::string_view code : {"\x1b[1m", "\x1b[2m", "\x1b[0m"}) {
    for (std::size_t at; (at = colored.find(code)) != std::string::npos;) {
      colored.erase(at, code.size());
    }
  }
  EXPECT_EQ(colored, plain);
}

/// Sizes in the table's rows, in tenths.
std::vector<std::uint64_t> sizes_in(const std::string& table, std::size_t width) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& line : lines_of(table)) {
    if (width_of(line) != width) continue;
    const std::string columns = line.substr(line.size() - 26, 10);
    const std::size_t digit = columns.find_first_of("0123456789");
    const std::size_t dot = columns.find('.');
    if (digit == std::string::npos || dot == std::string::npos) continue;
    sizes.push_back(std::stoull(columns.substr(digit, dot - digit)) * 10 +
                    std::stoull(columns.substr(dot + 1)));
  }
  return sizes;
}

TEST(ReportText, ColumnsAddUpWhateverTheSizes) {
  const std::uint32_t seed = 20262;
  std::mt19937_64 random(seed);
  SCOPED_TRACE(seed);
  for (int round = 0; round < 50; ++round) {
    PeakReport report;
    const std::uint64_t lines = 1 + random() % 40;
    for (std::uint64_t i = 0; i < lines; ++i) {
      HeldLine line;
      line.line = Location{"/home/u/a.py", "f", static_cast<std::uint32_t>(i + 1)};
      line.held = {.bytes = 1024 + (random() >> (30 + random() % 20)), .requested = 1, .blocks = 1};
      report.peak += line.held;
      report.by_line.push_back(line);
    }
    std::vector<std::uint64_t> sizes = sizes_in(report_text(report), 80);
    ASSERT_EQ(sizes.size(), std::min<std::size_t>(lines, 11) + 1);
    const std::uint64_t sum = sizes.back();
    sizes.pop_back();
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0}), sum);
  }
}

TEST(ReportText, NothingRecordedIsOneLine) {
  RunInfo run;
  run.program = "train.py";
  testing::SyntheticRecord record;
  EXPECT_EQ(report_text(make_peak_report(record.snapshot(), run)),
            "train.py · 0 events, none lost\nnothing was held: no allocation was recorded\n");
}

TEST(ReportText, WhatWasLostAndAFailedRunAreInTheHeader) {
  PeakReport report;
  report.run = run_info();
  report.run.exit_status = 3;
  report.events = 1'204'331;
  report.events_overwritten = 204'331;
  EXPECT_EQ(
      lines_of(report_text(
          report,
          {.top = 1, .width = 200, .color = false, .call_tree = false, .snapshot_path = ""}))[0],
      "train.py · mlx 0.32.4 (cpu) · 3 steps · 75.2 s · exit status 3 · 1,204,331 events, "
      "204,331 overwritten");
}

TEST(ReportText, FilesOfOneNameAreToldApart) {
  PeakReport report;
  for (const char* file : {"/home/u/a/model.py", "/home/u/b/model.py", "/home/u/train.py"}) {
    HeldLine line;
    line.line = Location{file, "f", 7};
    line.held = {.bytes = kMiB, .requested = kMiB, .blocks = 1};
    report.peak += line.held;
    report.by_line.push_back(line);
  }
  const std::string text = report_text(report);
  EXPECT_NE(text.find("  a/model.py:7  in f"), std::string::npos) << text;
  EXPECT_NE(text.find("  b/model.py:7  in f"), std::string::npos) << text;
  EXPECT_NE(text.find("  train.py:7    in f"), std::string::npos) << text;
}

TEST(Numbers, SizesHaveOneDecimalAndAUnitOfFewDigits) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1024), "1.0 KiB");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(kMiB - 1), "1024.0 KiB");
  EXPECT_EQ(size_text(5 * 1024 * kMiB), "5120.0 MiB");
  EXPECT_EQ(size_text(24 * 1024 * kMiB), "24.0 GiB");
  EXPECT_EQ(size_text(UINT64_MAX), "17179869184.0 GiB");
  EXPECT_EQ(with_commas(7), "7");
  EXPECT_EQ(with_commas(123456), "123,456");
  EXPECT_EQ(with_commas(1234567), "1,234,567");
  EXPECT_EQ(share_text(1, 101), "< 1 %");
  EXPECT_EQ(share_text(1, 100), "1 %");
  EXPECT_EQ(share_text(2, 3), "67 %");
}

TEST(Utf8, IsCutBetweenCharacters) {
  EXPECT_EQ(cut_to_width("äöü", 3), "äöü");
  EXPECT_EQ(cut_to_width("äöüx", 3), "äö…");
  EXPECT_EQ(cut_to_width("abc", 1), "…");
  EXPECT_EQ(cut_to_width("abc", 0), "");
  EXPECT_EQ(width_of("× ü"), 3U);
}

}  // namespace
}  // namespace strandline::snapshot
