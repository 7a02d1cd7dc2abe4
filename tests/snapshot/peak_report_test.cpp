// SPDX-License-Identifier: Apache-2.0
// Sums over the peak set: by line, operation, label, phase, call; what is missing, by kind.
#include "strandline/snapshot/peak_report.h"

#include <algorithm>
#include <fstream>

#include "snapshot/training_record.h"
#include "snapshot/user_frames.h"
#include "strandline/snapshot/report_json.h"

namespace strandline::snapshot {
namespace {

using record::Action;
using testing::kMiB;
using testing::SyntheticRecord;
using testing::TrainingRecord;

template <typename Entry>
std::uint64_t sum_of(const std::vector<Entry>& entries) {
  std::uint64_t sum = 0;
  for (const Entry& entry : entries) sum += entry.held.bytes;
  return sum;
}

TEST(PeakReport, EverySumIsThePeak) {
  TrainingRecord training;
  const PeakReport report = make_peak_report(training.record.snapshot());
  EXPECT_EQ(report.peak.bytes, training.record.cut.peak[0].bytes);
  EXPECT_EQ(report.peak.bytes, (32 + 3 + 48) * kMiB + 4 * kMiB);
  EXPECT_EQ(sum_of(report.by_line), report.peak.bytes);
  EXPECT_EQ(sum_of(report.by_operation), report.peak.bytes);
  EXPECT_EQ(sum_of(report.by_label), report.peak.bytes);
  EXPECT_EQ(sum_of(report.by_phase), report.peak.bytes);
  EXPECT_EQ(report.attributed.bytes + sum_of(report.unattributed), report.peak.bytes);
  EXPECT_EQ(report.requested_peak, training.record.cut.peak[1].bytes);
}

TEST(PeakReport, TheLineIsTheInnermostOfTheUsersAndTheInnermostOfAllStandsBeside) {
  TrainingRecord training;
  const PeakReport report = make_peak_report(training.record.snapshot());
  ASSERT_EQ(report.by_line.size(), 3U);
  const HeldLine& scores = report.by_line[0];
  ASSERT_TRUE(scores.line.has_value());
  EXPECT_EQ(*scores.line, (Location{"/home/u/model/attention.py", "__call__", 88}));
  EXPECT_EQ(
      *scores.innermost,
      (Location{"/usr/lib/python3.11/site-packages/mlx/nn/layers/linear.py", "__call__", 70}));
  EXPECT_EQ(report.by_line[1].line->file, "/home/u/train.py");
  EXPECT_EQ(report.by_line[1].line->line, 41U);
  EXPECT_EQ(report.by_line[1].innermost->file, "<frozen importlib>");
  EXPECT_FALSE(report.by_line[2].line.has_value());
}

TEST(PeakReport, AGradientsBlockIsChargedToTheForwardLineAndNamesTheCall) {
  TrainingRecord training;
  const PeakReport report = make_peak_report(training.record.snapshot());
  const std::vector<HeldItem>& items = report.by_line[0].items;
  ASSERT_EQ(items.size(), 2U);
  EXPECT_EQ(items[0].operation, "Matmul");
  EXPECT_EQ(items[0].held.blocks, 2U);
  EXPECT_FALSE(items[0].called_at.has_value());
  EXPECT_EQ(items[1].operation, "Softmax");
  EXPECT_EQ(items[1].layout, "(16, 512, 640) float32");
  EXPECT_EQ(items[1].direction, Direction::backward);
  EXPECT_EQ(*items[1].called_at, (Location{"/home/u/train.py", "<module>", 120}));
}

TEST(PeakReport, LabelsAddUpUnderTheirRoots) {
  TrainingRecord training;
  const PeakReport report = make_peak_report(training.record.snapshot());
  ASSERT_EQ(report.by_label.size(), 2U);
  EXPECT_EQ(report.by_label[0].name, "");
  EXPECT_EQ(report.by_label[1].name, "parameters");
  EXPECT_EQ(report.by_label[1].held.bytes, 32 * kMiB);
  EXPECT_EQ(report.by_label[1].parts.size(), 4U);
  EXPECT_EQ(sum_of(report.by_label[1].parts), 32 * kMiB);
}

TEST(PeakReport, PhasesAreOfTheAllocationAndThePeaksOwnIsNamedInFull) {
  TrainingRecord training;
  const PeakReport report = make_peak_report(training.record.snapshot());
  EXPECT_EQ(report.peak_phase, "step 1 / backward");
  std::map<std::string, std::uint64_t> phases;
  for (const HeldName& phase : report.by_phase) phases[phase.name] = phase.held.bytes / kMiB;
  EXPECT_EQ(phases, (std::map<std::string, std::uint64_t>{
                        {"load", 35}, {"step # / forward", 32}, {"step # / backward", 20}}));
}

TEST(PeakReport, WhatIsMissingIsListedByKind) {
  SyntheticRecord record;
  record::LiveBlock old;
  old.address = 0x500;
  old.size = 1;
  record.live[old.address] = old;
  const TracebackId user = record.stack({{"/home/u/a.py", "f", 1}});
  record.alloc(Action::alloc_new, 0x1000, 10, 10, record.holder(user, "Add", {1}));
  record.alloc(Action::alloc_new, 0x2000, 20, 20, record.holder({}, "Add", {1}));
  record.alloc(Action::alloc_new, 0x3000, 30, 30, record.holder(user, "", {1}));
  record::Holder no_layout = record.holder(user, "Add");
  no_layout.layout = {};
  record.alloc(Action::alloc_new, 0x4000, 40, 40, no_layout);
  record.alloc(Action::alloc_new, 0x5000, 50, 50,
               record.holder(record.stack({{"<frozen g>", "g", 1}}), "Add", {1}));
  PeakReport report = make_peak_report(record.snapshot());
  std::map<std::string, std::uint64_t> gaps;
  for (const Unattributed& gap : report.unattributed) {
    gaps[std::string(gap_text(gap.gap))] = gap.held.bytes;
  }
  EXPECT_EQ(gaps, (std::map<std::string, std::uint64_t>{{"before recording", 1},
                                                        {"no line", 20},
                                                        {"no operation", 30},
                                                        {"no shape", 40},
                                                        {"library line only", 50}}));
  EXPECT_EQ(report.attributed.bytes, 10U);

  record.cut.counters.ids_refused = 3;
  report = make_peak_report(record.snapshot());
  EXPECT_EQ(report.unattributed.size(), 2U);
  EXPECT_EQ(report.unattributed[1].gap, Gap::capped);
  EXPECT_EQ(report.unattributed[1].held.bytes, 140U);
}

TEST(PeakReport, CachedBytesAtThePeakAreKnownWhileTheRingHasThatMoment) {
  TrainingRecord training;
  EXPECT_EQ(make_peak_report(training.record.snapshot()).cached, 16 * kMiB);
  TrainingRecord wrapped(10);
  EXPECT_EQ(make_peak_report(wrapped.record.snapshot()).cached, std::nullopt);
}

TEST(PeakReport, AWrappedRingChangesNothingOfWhatHeldThePeak) {
  TrainingRecord whole(UINT64_MAX, 50);
  TrainingRecord wrapped(12, 50);
  PeakReport expected = make_peak_report(whole.record.snapshot());
  PeakReport report = make_peak_report(wrapped.record.snapshot());
  EXPECT_GT(report.events_overwritten, 100U);
  // What says that the ring wrapped, and what only the ring knows.
  report.events_overwritten = 0;
  report.notes.clear();
  report.cached = expected.cached;
  EXPECT_EQ(report_json(report), report_json(expected));
}

TEST(PeakReport, GrowthIsBetweenTheEndsOfPhasesOfOneKind) {
  SyntheticRecord record;
  for (int i = 0; i < 6; ++i) {
    const std::uint32_t step = record.begin_phase(("step " + std::to_string(i)).c_str());
    record.alloc(Action::alloc_new, 0x1000 + static_cast<std::uint64_t>(i) * 0x1000, 100, 100,
                 record.holder({}, "Add"));
    record.end_phase(step);
  }
  const std::optional<Growth> growth =
      make_peak_report(record.snapshot(), {}, {.library_folders = {}, .growth_steps = 3}).growth;
  ASSERT_TRUE(growth.has_value());
  EXPECT_EQ(growth->phase, "step #");
  EXPECT_EQ(growth->steps, 3U);
  EXPECT_EQ(growth->bytes, 300);
  EXPECT_FALSE(make_peak_report(SyntheticRecord{}.snapshot()).growth.has_value());
}

TEST(PeakReport, SourceTextOnlyOfFilesThatHaveNotChangedSince) {
  const std::string path = ::testing::TempDir() + "strandline_source.py";
  std::ofstream(path) << "import x\n    y = x.f(1)  \n";
  SyntheticRecord record;
  record.alloc(Action::alloc_new, 0x1000, 10, 10,
               record.holder(record.stack({{path, "f", 2}}), "Add", {1}));
  Snapshot snapshot = record.snapshot();
  EXPECT_EQ(make_peak_report(snapshot).by_line[0].source, std::nullopt);  // changed after 2023
  snapshot.start_us = INT64_MAX;
  EXPECT_EQ(make_peak_report(snapshot).by_line[0].source, "y = x.f(1)");
  std::remove(path.c_str());
  EXPECT_EQ(make_peak_report(snapshot).by_line[0].source, std::nullopt);
}

TEST(PeakReport, TheCallTreeHoldsWhatItsBranchesHold) {
  TrainingRecord training;
  const PeakReport report = make_peak_report(training.record.snapshot());
  ASSERT_EQ(report.call_tree.size(), 2U);
  const CallNode& main = report.call_tree[0];
  EXPECT_EQ(main.frame.line, 120U);
  EXPECT_EQ(main.held.bytes, 84 * kMiB);  // all but what the library loaded
  ASSERT_EQ(main.children.size(), 2U);
  EXPECT_EQ(main.children[0].frame.function, "__call__");
  EXPECT_EQ(main.children[0].held.bytes, 32 * kMiB);
  EXPECT_EQ(main.children[1].frame.function, "load");
  EXPECT_EQ(main.children[1].held.bytes, 32 * kMiB);
  EXPECT_FALSE(report.call_tree[1].is_users);
}

TEST(PeakReport, CountersBecomeNotes) {
  SyntheticRecord record;
  EXPECT_TRUE(make_peak_report(record.snapshot()).notes.empty());
  record.cut.counters.events_overwritten = 1234;
  record.cut.counters.dropped_below_min_size = 1;
  record.cut.counters.ids_refused = 2;
  record.cut.fault = "no memory for a table";
  record.cut.options.min_size = 1024;
  RunInfo run;
  run.children = 3;
  run.lost_bytes = 2048;
  std::vector<std::string> texts;
  for (const Note& note : make_peak_report(record.snapshot(), run).notes) {
    texts.push_back(note.text);
  }
  EXPECT_EQ(texts,
            (std::vector<std::string>{
                "the recorder turned itself off: no memory for a table",
                "the ring of 1,000,000 events wrapped: the oldest 1,234 are not in the snapshot; "
                "the peak above is exact all the same (max_entries)",
                "1 allocation or free below min_size (1.0 KiB) left out of the events",
                "2 names or stacks met the cap of the recorder's tables and left out",
                "2.0 KiB active by the framework's own count belong to no recorded block",
                "3 processes started by the program not recorded"}));
}

TEST(UserFrames, PathsTellLibraries) {
  for (const char* library :
       {"", "??", "<string>", "<frozen runpy>", "/usr/lib/python3.11/json/decoder.py",
        "/opt/py/lib/python3.13t/ast.py", "/v/lib/python3.11/site-packages/mlx/nn/base.py",
        "/usr/lib/python3/dist-packages/numpy/core.py", "/usr/lib64/python3.12/os.py"}) {
    EXPECT_TRUE(is_library_file(library)) << library;
  }
  for (const char* user : {"train.py", "/home/u/train.py", "/home/u/lib/python3.py",
                           "/home/u/lib/python3.d/x.py", "/srv/site-packages.py"}) {
    EXPECT_FALSE(is_library_file(user)) << user;
  }
}

TEST(UserFrames, TypedCodeHasNoFileAndGeneratedCodeIsNotTyped) {
  for (const char* typed : {"<string>", "<stdin>", "<ipython-input-3-0a1b>", "<python-input-0>",
                            "<doctest model[2]>"}) {
    EXPECT_TRUE(is_typed_code(typed)) << typed;
  }
  for (const char* other :
       {"", "<frozen runpy>", "<attrs generated init model.Layer>", "train.py",
        "<__array_function__ internals>", "<string>.py", "<frames left out>", "<unknown>"}) {
    EXPECT_FALSE(is_typed_code(other)) << other;
  }
}

TEST(PeakReport, TypedCodeIsTheLineOfAStackThatHasNoOtherOfTheUsers) {
  const record::Frame typed{"<string>", "<module>", 3};
  const record::Frame function{"<string>", "model", 1};
  const record::Frame library{"/v/lib/python3.11/site-packages/mlx/nn/base.py", "__call__", 70};
  const record::Frame script{"/home/u/train.py", "<module>", 9};
  const record::Frame frozen{"<frozen runpy>", "_run", 1};
  const record::Frame native{"/usr/src/mlx/eval.cpp", "eval", 5};
  SyntheticRecord record;
  std::uint64_t address = 0x1000000;
  const auto held = [&](const std::vector<record::Frame>& frames) {
    record.alloc(Action::alloc_new, address += kMiB, kMiB, kMiB,
                 record.holder(record.stack(frames), "Add", {4}));
  };
  held({native, library, function, library, typed});  // python -c, a library that calls back
  held({library, function, script});                  // generated code below a script
  held({library, frozen});
  const PeakReport report = make_peak_report(record.snapshot());
  std::vector<std::string> lines;
  for (const HeldLine& line : report.by_line) {
    lines.push_back(line.line ? line.line->file + ":" + line.line->function : "none");
  }
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(lines,
            (std::vector<std::string>{"/home/u/train.py:<module>", "<string>:model", "none"}));

  std::vector<std::string> users;
  const auto visit = [&](const auto& self, const std::vector<CallNode>& nodes) -> void {
    for (const CallNode& node : nodes) {
      if (node.is_users) users.push_back(node.frame.file + ":" + node.frame.function);
      self(self, node.children);
    }
  };
  visit(visit, report.call_tree);
  std::sort(users.begin(), users.end());
  EXPECT_EQ(users,
            (std::vector<std::string>{"/home/u/train.py:<module>", "/usr/src/mlx/eval.cpp:eval",
                                      "<string>:<module>", "<string>:model"}));
}

TEST(UserFrames, FoldersGivenAreLibrariesToo) {
  TrainingRecord training;
  const PeakReport report = make_peak_report(
      training.record.snapshot(), {}, {.library_folders = {"/home/u/model/"}, .growth_steps = 1});
  EXPECT_EQ(report.by_line[0].line->file, "/home/u/train.py");
  EXPECT_EQ(report.by_line[0].line->line, 120U);
}

}  // namespace
}  // namespace strandline::snapshot
