// SPDX-License-Identifier: Apache-2.0
// Native files: what goes in comes out, every prefix opens, damage is told, old files stay
// readable.
#include "strandline/snapshot/native_file.h"

#include <fstream>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/native_input.h"
#include "snapshot/native_tables.h"
#include "snapshot/samples.h"
#include "snapshot/training_record.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/pickle_writer.h"

namespace strandline::snapshot {
namespace {

using ::testing::HasSubstr;

/// A row with what its ids name, so that rows of two snapshots can be compared.
std::string told(const Snapshot& snapshot, StackId stack) {
  std::string text;
  for (; stack; stack = snapshot.stacks.parent(stack)) {
    const FrameId frame = snapshot.stacks.frame(stack);
    text +=
        fmt::format("{}:{}:{} ", snapshot.text(snapshot.frames.file(frame)),
                    snapshot.frames.line(frame), snapshot.text(snapshot.frames.function(frame)));
  }
  return text;
}

template <typename Row>
std::string told_ids(const Snapshot& s, const Row& row) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}|{}", told(s, row.stack), told(s, row.forward),
                     s.text(row.op), s.text(row.label), s.text(row.owner),
                     record::layout_text(s.layout(row.layout)), s.stream(row.stream).first,
                     s.pool(row.pool).first);
}

std::string told(const Snapshot& s, const EventRow& e) {
  return fmt::format("{} {} {} {} {} {} {} {}", static_cast<int>(e.action), e.address, e.size,
                     e.requested, e.time_us, e.thread, e.device, told_ids(s, e));
}

std::string told(const Snapshot& s, const BlockRow& b) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", b.address, b.size, b.requested,
                     b.view_bytes, b.view_offset, b.alloc_sequence, b.alloc_time_us, b.thread,
                     b.device, static_cast<int>(b.action), static_cast<int>(b.use), b.hidden,
                     told_ids(s, b));
}

std::string told(const Snapshot& s, const SegmentRow& g) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {}", g.address, g.size, g.device, g.is_small,
                     g.is_expandable, g.first_block, g.block_count, told(s, g.stack),
                     s.stream(g.stream).first, s.pool(g.pool).second);
}

std::string told(const Snapshot& s, const PhaseRow& p) {
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", s.text(p.name), p.number, p.parent,
                     p.thread, p.open, p.start_us, p.end_us, p.start_sequence, p.end_sequence,
                     p.start_active, p.end_active, p.peak_active);
}

template <typename Columns>
std::vector<std::string> all_told(const Snapshot& snapshot, const Columns& columns) {
  std::vector<std::string> rows;
  for (std::size_t i = 0; i < columns.count(); ++i) rows.push_back(told(snapshot, columns.row(i)));
  return rows;
}

void expect_same_record(const Snapshot& a, const Snapshot& b) {
  EXPECT_EQ(all_told(a, a.events), all_told(b, b.events));
  EXPECT_EQ(all_told(a, a.segments), all_told(b, b.segments));
  EXPECT_EQ(all_told(a, a.blocks), all_told(b, b.blocks));
  for (std::size_t m = 0; m < record::kMeasureCount; ++m) {
    EXPECT_EQ(all_told(a, a.peak_set[m]), all_told(b, b.peak_set[m]));
  }
  EXPECT_EQ(a.peak, b.peak);
  ASSERT_EQ(a.phases.size(), b.phases.size());
  for (std::size_t i = 0; i < a.phases.size(); ++i) {
    EXPECT_EQ(told(a, a.phases[i]), told(b, b.phases[i]));
  }
  EXPECT_EQ(a.holder_requested, b.holder_requested);
  EXPECT_EQ(a.counters.events, b.counters.events);
  EXPECT_EQ(a.counters.bytes, b.counters.bytes);
  EXPECT_EQ(a.counters.events_overwritten, b.counters.events_overwritten);
  EXPECT_EQ(a.counters.forks, b.counters.forks);
  EXPECT_EQ(a.options, b.options);
  EXPECT_EQ(a.first_sequence, b.first_sequence);
  EXPECT_EQ(a.start_us, b.start_us);
  EXPECT_EQ(a.taken_us, b.taken_us);
  EXPECT_EQ(a.fault, b.fault);
}

Snapshot training(std::uint64_t ring_entries = UINT64_MAX) {
  testing::TrainingRecord training(ring_entries, 100);
  training.record.change_holder(
      0x100000000, training.record.holder(training.record.stack({training.main}), "View", {7}));
  training.record.cut.counters.events_overwritten = 5;
  training.record.cut.counters.forks = 3;
  training.record.cut.fault = "no memory";
  return training.record.snapshot();
}

TEST(NativeFile, GivesBackWhatTheRecorderHad) {
  for (const std::uint64_t entries : {UINT64_MAX, std::uint64_t{20}}) {
    const Snapshot written = training(entries);
    ASSERT_FALSE(written.holder_requested.empty());
    const NativeFile read = read_native_bytes(native_bytes(written));
    EXPECT_TRUE(read.is_recorded);
    EXPECT_TRUE(read.is_complete);
    EXPECT_EQ(read.cut_bytes, 0U);
    EXPECT_EQ(read.missed_events, 0U);
    EXPECT_EQ(read.skipped_parts, 0U);
    expect_same_record(written, read.file.snapshot);
  }
}

TEST(NativeFile, AsTheFrontDoorGivesItHasTheBooksOfThePickle) {
  const Snapshot written = training();
  const SnapshotFile native = read_snapshot_bytes(native_bytes(written));
  const std::vector<std::string> notes = take_reading_notes();
  const SnapshotFile pickle = read_snapshot_bytes(pickle_bytes(written));
  EXPECT_EQ(account_json(make_account(native), "f"), account_json(make_account(pickle), "f"));
  EXPECT_EQ(all_told(native.snapshot, native.snapshot.segments),
            all_told(pickle.snapshot, pickle.snapshot.segments));
  EXPECT_EQ(native.settings, pickle.settings);
  EXPECT_EQ(native.traces, pickle.traces);
  EXPECT_TRUE(notes.empty());
  ASSERT_EQ(native.annotations.size(), pickle.annotations.size());
  for (std::size_t i = 0; i < native.annotations.size(); ++i) {
    EXPECT_EQ(native.snapshot.text(native.annotations[i].name),
              pickle.snapshot.text(pickle.annotations[i].name));
    EXPECT_EQ(native.annotations[i].stage, pickle.annotations[i].stage);
    EXPECT_EQ(native.annotations[i].time_us, pickle.annotations[i].time_us);
  }
}

void expect_same_file(const SnapshotFile& a, const SnapshotFile& b) {
  EXPECT_EQ(account_json(make_account(a), "f"), account_json(make_account(b), "f"));
  EXPECT_EQ(all_told(a.snapshot, a.snapshot.events), all_told(b.snapshot, b.snapshot.events));
  EXPECT_EQ(all_told(a.snapshot, a.snapshot.segments), all_told(b.snapshot, b.snapshot.segments));
  EXPECT_EQ(all_told(a.snapshot, a.snapshot.blocks), all_told(b.snapshot, b.snapshot.blocks));
  EXPECT_EQ(all_told(a.snapshot, a.host_events), all_told(b.snapshot, b.host_events));
  EXPECT_EQ(all_told(a.snapshot, a.host_blocks), all_told(b.snapshot, b.host_blocks));
  EXPECT_EQ(a.traces, b.traces);
  EXPECT_EQ(a.unaddressed, b.unaddressed);
  EXPECT_EQ(a.keys, b.keys);
  EXPECT_EQ(a.settings, b.settings);
  EXPECT_EQ(a.skipped_values, b.skipped_values);
  EXPECT_EQ(a.annotations.size(), b.annotations.size());
  ASSERT_EQ(a.extras.size(), b.extras.size());
  for (std::size_t i = 0; i < a.extras.size(); ++i) {
    EXPECT_EQ(a.extras[i].event, b.extras[i].event);
    EXPECT_EQ(a.snapshot.text(a.extras[i].key), b.snapshot.text(b.extras[i].key));
    EXPECT_EQ(a.snapshot.text(a.extras[i].value), b.snapshot.text(b.extras[i].value));
  }
}

TEST(NativeFile, KeepsAllThatPublicPicklesHave) {
  bool any = false;
  for (const char* folder : {"snapshots", "snapshots_torch_2_15"}) {
    const std::filesystem::path path = strandline::testing::samples(folder);
    if (!std::filesystem::exists(path)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.path().extension() != ".pickle") continue;
      SCOPED_TRACE(entry.path().string());
      const SnapshotFile pickle = read_snapshot(entry.path().string());
      expect_same_file(pickle, read_snapshot_bytes(native_bytes(pickle)));
      any = true;
    }
  }
  if (!any) GTEST_SKIP() << "the samples beside the project are absent";
}

TEST(NativeFile, KeepsKeysThatNobodyKnowsAndHostMemory) {
  SnapshotFile file = read_snapshot_bytes(pickle_bytes(training()));
  Snapshot& snapshot = file.snapshot;
  file.extras.push_back({1, snapshot.strings.intern("core"), snapshot.strings.intern("{\"a\":1}")});
  file.extras.push_back({2, snapshot.strings.intern("action"), snapshot.strings.intern("fly")});
  file.unknown_keys.emplace_back(snapshot.strings.intern("core"), 1);
  file.skipped_values = 4;
  file.host_events.push_back({.address = 8, .size = 64, .action = record::Action::alloc});
  file.host_segments.push_back({.address = 8, .size = 64, .device = 255, .block_count = 1});
  file.host_blocks.push_back({.address = 8, .size = 64, .device = 255});
  const SnapshotFile read = read_snapshot_bytes(native_bytes(file));
  expect_same_file(file, read);
  EXPECT_EQ(read.action_text(2), "fly");
}

TEST(NativeFile, IsWrittenInManyChunksAndReadAsOne) {
  testing::SyntheticRecord record;
  const TracebackId stack = record.stack({{"a.py", "f", 1}});
  for (std::uint64_t i = 0; i < 40'000; ++i) {
    record.alloc(record::Action::alloc_new, 4096, 64, 60, record.holder(stack, "Add"));
    record.release(record::Action::free_to_device, 4096);
  }
  const Snapshot written = record.snapshot();
  const NativeFile read = read_native_bytes(native_bytes(written));
  EXPECT_EQ(read.chunks, 3U + 2U);
  EXPECT_EQ(read.file.snapshot.events.count(), 80'000U);
  EXPECT_EQ(read.file.snapshot.first_sequence, 1U);
  EXPECT_EQ(told(written, written.events.row(79'999)),
            told(read.file.snapshot, read.file.snapshot.events.row(79'999)));
}

/// Offsets at which a file can be cut between two chunks.
std::vector<std::size_t> boundaries(const std::string& bytes) {
  native::ChunkScanner scanner(bytes);
  native::ChunkHead head;
  std::string_view payload;
  std::vector<std::size_t> found{native::kFileHeadBytes};
  while (scanner.next(head, payload)) found.push_back(scanner.whole_bytes());
  return found;
}

TEST(NativeFile, OpensUpToItsLastWholeChunkWhereverItIsCut) {
  const std::string bytes = native_bytes(training());
  const std::vector<std::size_t> whole = boundaries(bytes);
  ASSERT_EQ(whole.size(), 4U) << "head, events, state, index";
  for (std::size_t size = native::kFileHeadBytes; size < bytes.size(); ++size) {
    const NativeFile read = read_native_bytes(std::string_view(bytes).substr(0, size));
    const auto before = std::upper_bound(whole.begin(), whole.end(), size) - 1;
    ASSERT_EQ(read.chunks, static_cast<std::uint64_t>(before - whole.begin()));
    ASSERT_EQ(read.cut_bytes, size - *before);
    ASSERT_EQ(read.is_complete, size >= whole.back());
    if (read.is_complete) continue;
    static_cast<void>(read_snapshot_bytes(std::string_view(bytes).substr(0, size)));
    const std::vector<std::string> notes = take_reading_notes();
    ASSERT_EQ(notes.size(), 1U);
    EXPECT_THAT(notes[0], HasSubstr("was not closed"));
  }
}

TEST(NativeFile, WithoutItsEndHasTheStateThatItsEventsLeave) {
  testing::SyntheticRecord record;
  const TracebackId stack = record.stack({{"a.py", "f", 1}});
  const record::Holder holder = record.holder(stack, "Add", {4}, "weights");
  record.alloc(record::Action::alloc_new, 0x10000, 4096, 4000, holder);
  record.alloc(record::Action::alloc_new, 0x20000, 8192, 8000, holder);
  record.release(record::Action::free_to_cache, 0x10000);
  record.alloc(record::Action::alloc_new, 0x30000, 512, 500, holder);
  record.release(record::Action::free_to_device, 0x30000);
  const Snapshot written = record.snapshot();
  const std::string bytes = native_bytes(written);
  const NativeFile read =
      read_native_bytes(std::string_view(bytes).substr(0, boundaries(bytes)[1]));
  const Snapshot& snapshot = read.file.snapshot;
  EXPECT_EQ(all_told(snapshot, snapshot.events), all_told(written, written.events));
  ASSERT_EQ(snapshot.segments.count(), 2U);
  EXPECT_EQ(snapshot.blocks.use[0], record::BlockUse::inactive);
  EXPECT_EQ(snapshot.blocks.use[1], record::BlockUse::allocated);
  EXPECT_EQ(snapshot.blocks.requested[1], 8000U);
  EXPECT_EQ(snapshot.text(snapshot.blocks.label[1]), "weights");
  EXPECT_EQ(snapshot.validate(), "");
  const SnapshotFile file =
      read_snapshot_bytes(std::string_view(bytes).substr(0, bytes.size() / 2));
  EXPECT_FALSE(make_account(file).is_inconsistent());
}

TEST(NativeFile, NoFlippedBitGoesUnnoticed) {
  const Snapshot written = training();
  const std::string bytes = native_bytes(written);
  const std::size_t end_of_state = boundaries(bytes)[2];
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    try {
      const NativeFile read = read_native_bytes(damaged);
      // Only where what follows the last whole chunk is nothing but damage may it be left out.
      ASSERT_FALSE(read.is_complete) << "byte " << at;
      ASSERT_GE(at, end_of_state) << "byte " << at;
    } catch (const FormatError& error) {
      EXPECT_LE(error.offset, at);
    }
  }
}

TEST(NativeFile, ZerosAfterTheLastChunkAreRoomThatWasNeverWritten) {
  const std::string bytes = native_bytes(training());
  std::string cut = bytes.substr(0, boundaries(bytes)[1]);
  const std::uint64_t events = read_native_bytes(cut).file.snapshot.events.count();
  cut.append(5000, '\0');
  const NativeFile read = read_native_bytes(cut);
  EXPECT_EQ(read.file.snapshot.events.count(), events);
  EXPECT_EQ(read.cut_bytes, 5000U);
}

std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(STRANDLINE_SOURCE_DIR) / "tests" / "snapshot" / "golden" / name;
}

std::filesystem::path corpus() {
  return std::filesystem::path(STRANDLINE_SOURCE_DIR) / "tests" / "snapshot" / "corpus" / "native";
}

/// All that the golden texts hold a file to.
std::string told(const SnapshotFile& file) {
  std::string text;
  for (const DeviceAccount& device : make_account(file).devices) {
    text += fmt::format("device {} {} {} {} {} {} {} {}\n", device.device, device.events,
                        device.active_start, device.active_end, device.active_peak,
                        device.live_blocks, device.reserved, verdict_text(device.verdict));
  }
  const Snapshot& snapshot = file.snapshot;
  for (const std::string& note : take_reading_notes()) text += "note " + note + "\n";
  for (const std::string& row : all_told(snapshot, snapshot.events)) text += "event " + row + "\n";
  for (const std::string& row : all_told(snapshot, snapshot.segments)) {
    text += "segment " + row + "\n";
  }
  for (const std::string& row : all_told(snapshot, snapshot.blocks)) text += "block " + row + "\n";
  for (const Annotation& mark : file.annotations) {
    text += fmt::format("mark {} {} {}\n", snapshot.text(mark.name), static_cast<int>(mark.stage),
                        mark.time_us);
  }
  for (const EventExtra& extra : file.extras) {
    text += fmt::format("extra {} {} {}\n", extra.event, snapshot.text(extra.key),
                        snapshot.text(extra.value));
  }
  return text + "settings " + file.settings + "\n";
}

constexpr std::array kGolden{"record_1_0", "killed_1_0", "file_1_0"};

TEST(NativeFile, OfTheFirstVersionIsReadAsItWasThen) {
  for (const char* name : kGolden) {
    SCOPED_TRACE(name);
    std::ifstream expected(golden(std::string(name) + ".txt"));
    const std::string text((std::istreambuf_iterator<char>(expected)), {});
    ASSERT_FALSE(text.empty());
    EXPECT_EQ(told(read_snapshot(golden(std::string(name) + ".slt").string())), text);
  }
}

// What fuzzing has found lies there too.
TEST(NativeFile, EveryInputOfTheCorpusIsReadOrRefused) {
  std::size_t tried = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus())) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream file(entry.path(), std::ios::binary);
    EXPECT_NO_THROW(try_native(std::string((std::istreambuf_iterator<char>(file)), {})));
    ++tried;
  }
  EXPECT_GE(tried, 7U);
}

/// What the fuzz target begins with: a file as it is, and its chunks without heads.
void write_corpus(const std::string& name, const std::string& bytes) {
  const std::filesystem::path folder = corpus();
  std::filesystem::create_directories(folder);
  std::ofstream(folder / (name + ".file"), std::ios::binary) << '\0' << bytes;
  std::string chunks(1, '\1');
  native::ChunkScanner scanner(bytes);
  native::ChunkHead head;
  std::string_view payload;
  while (scanner.next(head, payload)) {
    native::put(chunks, head.kind);
    native::put(chunks, static_cast<std::uint8_t>(head.flags));
    native::put(chunks, static_cast<std::uint16_t>(head.events));
    std::string size;
    native::put(size, static_cast<std::uint32_t>(payload.size()));
    chunks += size.substr(0, 3);
    chunks += payload;
  }
  std::ofstream(folder / (name + ".chunks"), std::ios::binary) << chunks;
}

/// Run by golden/make, never by the tests.
TEST(NativeFile, DISABLED_MakesTheGoldenFiles) {
  const std::string record = native_bytes(training(30));
  SnapshotFile file = read_snapshot_bytes(pickle_bytes(training(30)));
  file.extras.push_back(
      {1, file.snapshot.strings.intern("core"), file.snapshot.strings.intern("{\"a\":1}")});
  const std::array<std::string, 3> bytes{record, record.substr(0, boundaries(record)[1] + 7),
                                         native_bytes(file)};
  for (std::size_t i = 0; i < kGolden.size(); ++i) {
    const std::string name = kGolden[i];
    std::ofstream(golden(name + ".slt"), std::ios::binary) << bytes[i];
    std::ofstream(golden(name + ".txt")) << told(read_snapshot_bytes(bytes[i]));
    write_corpus(name, bytes[i]);
  }
}

}  // namespace
}  // namespace strandline::snapshot
