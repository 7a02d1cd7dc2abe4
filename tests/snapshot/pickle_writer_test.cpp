// SPDX-License-Identifier: Apache-2.0
// The pickle as others read it. Records of several kinds are written to a folder together with the
// facts the test's own model knows of them; a Python script then reads them with CPython's pickle
// (globals refused), with a strict re-implementation of the official reader, and with the oracle.
#include "strandline/snapshot/pickle_writer.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include "snapshot/synthetic.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/builder.h"

namespace strandline::snapshot {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using record::Action;
using testing::SyntheticRecord;

const record::Frame kMain{"/home/u/train.py", "main", 3};
const record::Frame kStep{"/home/u/train.py", "step", 88};
const record::Frame kForward{"/home/u/model.py", "forward", 41};

/// A folder of its own that is gone after the test.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "strandline-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

json device_facts(const char* verdict, std::uint64_t peak, std::uint64_t end, json actions) {
  return {{"verdict", verdict},
          {"active_peak", peak},
          {"active_end", end},
          {"actions", std::move(actions)}};
}

void put(const Folder& folder, const std::string& name, const Snapshot& snapshot,
         std::vector<json> devices) {
  write_pickle(snapshot, folder / (name + ".pickle"));
  std::ofstream(folder / (name + ".json")) << json{{"devices", devices}};
}

void expect_readers_agree(const Folder& folder) {
  const std::string command =
      "python3 " STRANDLINE_SOURCE_DIR "/tests/snapshot/check_pickles.py " + folder.path().string();
  EXPECT_EQ(std::system(command.c_str()), 0) << "see above";
}

/// The actions the pickle should have for those written, by the table of the format.
json expanded(const std::vector<record::Event>& events) {
  std::map<std::string, std::uint64_t> counts;
  for (const record::Event& event : events) {
    switch (event.action) {
      case Action::alloc_new:
      case Action::alloc_external:
        ++counts["segment_alloc"];
        [[fallthrough]];
      case Action::alloc_reuse:
        ++counts["alloc"];
        break;
      case Action::free_to_device:
      case Action::release_external:
        ++counts["segment_free"];
        [[fallthrough]];
      case Action::free_to_cache:
        ++counts["free_requested"], ++counts["free_completed"];
        break;
      case Action::cache_to_device:
        ++counts["segment_free"];
        break;
      case Action::holder:
        ++counts["annotate"];
        break;
      default:
        ++counts[std::string(record::action_name(event.action))];
    }
  }
  return counts;
}

/// Buffers allocated, cached, reused, returned at random, with addresses as a device would give.
class RandomProgram {
 public:
  explicit RandomProgram(std::uint32_t seed) : random_(seed) {
    for (int i = 0; i < 40; ++i) {
      stacks_.push_back(record.stack(
          {{"/home/u/model.py", "layer", static_cast<std::uint32_t>(i)}, kStep, kMain}));
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
  }

  SyntheticRecord record;

 private:
  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void step() {
    const std::uint64_t choice = below(100);
    if (record.live.empty() || choice < 45) return allocate();
    auto block = record.live.begin();
    std::advance(block, static_cast<std::ptrdiff_t>(below(record.live.size())));
    if (choice < 75) {
      cached_[block->first] = block->second.size;
      record.release(Action::free_to_cache, block->first);
    } else if (choice < 85) {
      record.release(Action::free_to_device, block->first);
    } else if (choice < 90) {
      record.change_holder(block->first, record.holder(stacks_[below(40)], "Reshape", {1, 2}));
    } else if (choice < 93) {
      record.annotate(block->first, "parameters.w");
    } else if (!cached_.empty()) {
      record.note(Action::cache_to_device, cached_.begin()->first, cached_.begin()->second);
      cached_.erase(cached_.begin());
    }
  }

  void allocate() {
    static constexpr std::array kOps{"Add", "Matmul", "Softmax", "Broadcast"};
    const record::Holder holder = record.holder(stacks_[below(40)], kOps[below(kOps.size())],
                                                {static_cast<std::int64_t>(below(9))});
    if (!cached_.empty() && below(2) == 0) {
      const auto [address, size] = *cached_.begin();
      cached_.erase(cached_.begin());
      return record.alloc(Action::alloc_reuse, address, size, size - below(size / 2 + 1), holder);
    }
    const std::uint64_t size = 16 + below(100'000);
    record.alloc(Action::alloc_new, next_address_, size, size - below(9), holder);
    next_address_ += size + 4096;
  }

  std::mt19937 random_;
  std::vector<TracebackId> stacks_;
  std::map<std::uint64_t, std::uint64_t> cached_;
  std::uint64_t next_address_ = 0x7F0000001000;
};

TEST(PickleWriter, EveryReaderTakesRandomRecordsWholeAndWrapped) {
  const Folder folder;
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    RandomProgram program(seed);
    program.run(3000);  // more than one batch of a list
    const SyntheticRecord& record = program.record;
    const json actions = expanded(record.cut.events);
    put(folder, "whole_" + std::to_string(seed), program.record.snapshot(),
        {device_facts("complete", record.cut.peak[1].bytes, record.active(1), actions)});
  }
  RandomProgram program(7);
  program.record.ring_entries = 500;
  program.run(3000);
  // The wrapped ring's own peak, walked back from the end.
  std::uint64_t level = program.record.active(1);
  std::uint64_t peak = level;
  for (auto event = program.record.cut.events.rbegin(); event != program.record.cut.events.rend();
       ++event) {
    if (record::begins_block(event->action)) level -= event->requested;
    if (record::ends_block(event->action)) level += event->requested;
    peak = std::max(peak, level);
  }
  put(folder, "wrapped", program.record.snapshot(),
      {device_facts("starts-midway", peak, program.record.active(1),
                    expanded(program.record.cut.events))});
  expect_readers_agree(folder);
}

TEST(PickleWriter, HiddenBlocksAreInTheSegmentsAndTheFileStartsMidway) {
  const Folder folder;
  SyntheticRecord record;
  record.alloc(Action::alloc_new, 0x10000, 4096, 4000, record.holder({}, "Add"));
  record::LiveBlock hidden;
  hidden.address = 0x20000;
  hidden.size = 16;
  hidden.requested = 4;
  hidden.hidden = true;
  hidden.action = Action::alloc_new;
  record.live[hidden.address] = hidden;
  record.cut.counters.dropped_below_min_size = 1;
  put(folder, "hidden", record.snapshot(),
      {device_facts("starts-midway", 4004, 4004, {{"alloc", 1}, {"segment_alloc", 1}})});
  expect_readers_agree(folder);
}

TEST(PickleWriter, SeveralDevicesHaveTheirOwnTraces) {
  const Folder folder;
  SyntheticRecord record;
  record.alloc(Action::alloc_new, 0x10000, 64, 60, record.holder({}, "Add"));
  record.device = 2;
  record.alloc(Action::alloc_new, 0x20000, 128, 120, record.holder({}, "Add"));
  const Snapshot snapshot = record.snapshot();
  const json one = {{"alloc", 1}, {"segment_alloc", 1}};
  EXPECT_EQ(snapshot.device_count(), 3U);
  write_pickle(snapshot, folder / "devices.pickle");
  const std::string read =
      "python3 -c \"import pickle,sys; s=pickle.load(open(sys.argv[1],'rb')); "
      "assert [[e['addr'] for e in t] for t in s['device_traces']] == "
      "[[0x10000]*2, [], [0x20000]*2], s['device_traces']; "
      "assert [g['device'] for g in s['segments']] == [0, 2]\" " +
      (folder / "devices.pickle").string();
  EXPECT_EQ(std::system(read.c_str()), 0);
}

TEST(PickleWriter, AnIntegerOfAnyWidthKeepsItsValue) {
  const std::vector<std::uint64_t> addresses{
      1,          0xFF,         0x100,      0xFFFF,           0x10000,    0x7FFFFFFF,
      0x80000000, 0xFFFFFFFFFF, 1ULL << 47, (1ULL << 63) - 1, 1ULL << 63, UINT64_MAX - 15};
  SnapshotBuilder builder;
  for (const std::uint64_t address : addresses) {
    builder.add_event({.action = Action::free_requested,
                       .address = address,
                       .size = 1,
                       .requested = 1,
                       .time_us = -129});
  }
  const Folder folder;
  write_pickle(builder.finish(), folder / "wide.pickle");
  std::string list;
  for (const std::uint64_t address : addresses) list += std::to_string(address) + ",";
  const std::string read =
      "python3 -c \"import pickle,sys; s=pickle.load(open(sys.argv[1],'rb')); "
      "assert [e['addr'] for e in s['device_traces'][0]] == [" +
      list +
      "]; "
      "assert s['device_traces'][0][0]['time_us'] == -129\" " +
      (folder / "wide.pickle").string();
  EXPECT_EQ(std::system(read.c_str()), 0);
}

/// One of each kind of action, compared with dictionaries written by hand.
Snapshot small_record(SyntheticRecord& record) {
  const TracebackId pair =
      record.tables.tracebacks.pair(record.stack({kStep, kMain}), record.stack({kForward, kMain}));
  const std::uint32_t phase = record.begin_phase("step 1");
  record.alloc(Action::alloc_new, 0x1000, 512, 500, record.holder(pair, "Add", {5, 25}));
  record.note(Action::oom, 77, 0, 1'000'000);
  record.annotate(0x1000, "w");
  record.end_phase(phase);
  record.release(Action::free_to_cache, 0x1000);
  record::Holder plain;
  plain.label = record.tables.labels.intern("only a label");
  record.alloc(Action::alloc_reuse, 0x1000, 512, 300, plain);
  record.note(Action::snapshot, 0, 512);
  return record.snapshot();
}

TEST(PickleWriter, ASmallRecordIsTheDictionariesWrittenByHand) {
  const Folder folder;
  SyntheticRecord record;
  const Snapshot snapshot = small_record(record);
  put(folder, "small", snapshot,
      {device_facts("complete", 500, 300,
                    {{"alloc", 2},
                     {"annotate", 1},
                     {"free_completed", 1},
                     {"free_requested", 1},
                     {"oom", 1},
                     {"segment_alloc", 1},
                     {"snapshot", 1}})});
  const std::string check = "python3 " STRANDLINE_SOURCE_DIR
                            "/tests/snapshot/check_small_pickle.py " +
                            (folder / "small.pickle").string();
  EXPECT_EQ(std::system(check.c_str()), 0);
  expect_readers_agree(folder);
}

TEST(PickleWriter, WhatRepeatsIsWrittenOnce) {
  SyntheticRecord record;
  const TracebackId stack = record.stack({kForward, kStep, kMain});
  for (std::uint64_t i = 0; i < 500; ++i) {
    record.alloc(Action::alloc_new, 0x10000 + i * 0x1000, 64, 64, record.holder(stack, "Matmul"));
  }
  const std::string bytes = pickle_bytes(record.snapshot());
  for (const std::string_view once : {"/home/u/model.py", "Matmul", "user_metadata", "filename",
                                      "free_requested", "segment_alloc"}) {
    const std::size_t first = bytes.find(once);
    EXPECT_EQ(bytes.find(once, first + 1), std::string::npos) << once;
  }
  EXPECT_LT(bytes.size(), 500U * 200);
}

TEST(PickleWriter, TextThatIsNoUtf8IsRepaired) {
  SnapshotBuilder builder;
  builder.add_event({.action = Action::alloc_new,
                     .address = 1,
                     .size = 1,
                     .requested = 1,
                     .label = "a\xFF\xC3(\xED\xA0\x80 \xF0\x9F\x8C\x8A"});
  const std::string bytes = pickle_bytes(builder.finish());
  EXPECT_NE(bytes.find("a\xEF\xBF\xBD\xEF\xBF\xBD(\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD "
                       "\xF0\x9F\x8C\x8A"),
            std::string::npos);
}

TEST(PickleWriter, AFailureNamesThePathAndLeavesNothing) {
  const Folder folder;
  SyntheticRecord record;
  const Snapshot snapshot = small_record(record);
  const std::string missing = folder / "no/such/out.pickle";
  try {
    write_pickle(snapshot, missing);
    FAIL() << "written to a folder that is not there";
  } catch (const DeviceError& error) {
    EXPECT_EQ(std::string(error.what()),
              "[write] cannot create " + missing + ": No such file or directory");
  }
  try {
    write_pickle(snapshot, "/dev/full");
    FAIL() << "written to a full device";
  } catch (const DeviceError& error) {
    EXPECT_EQ(std::string(error.what()), "[write] cannot write /dev/full: No space left on device");
  }
  EXPECT_EQ(folder.files(), 0U);
}

TEST(PickleWriter, AFileThatCannotBeCompletedLeavesTheOldOne) {
  const Folder folder;
  SyntheticRecord record;
  const Snapshot snapshot = small_record(record);
  std::ofstream(folder / "out.pickle") << "old";
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{.rlim_cur = 100, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &tight);
  EXPECT_THROW(write_pickle(snapshot, folder / "out.pickle"), DeviceError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  std::string content;
  std::ifstream(folder / "out.pickle") >> content;
  EXPECT_EQ(content, "old");
  EXPECT_EQ(folder.files(), 1U);
}

TEST(PickleWriter, ALinkIsFollowedAndStays) {
  const Folder folder;
  SyntheticRecord record;
  std::ofstream(folder / "real.pickle") << "old";
  fs::create_symlink(folder / "real.pickle", folder / "link.pickle");
  write_pickle(small_record(record), folder / "link.pickle");
  EXPECT_TRUE(fs::is_symlink(folder / "link.pickle"));
  EXPECT_GT(fs::file_size(folder / "real.pickle"), 100U);
}

}  // namespace
}  // namespace strandline::snapshot
