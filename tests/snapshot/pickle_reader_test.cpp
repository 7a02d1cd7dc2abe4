// SPDX-License-Identifier: Apache-2.0
// The reader on pickles written out by hand: what it takes, what it refuses and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "snapshot/pickle_feed.h"
#include "snapshot/training_record.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/pickle_writer.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

/// The offset at which reading fails; the message has to hold `part`.
std::uint64_t failure(std::string_view bytes, const std::string& part) {
  try {
    read_snapshot_bytes(bytes);
  } catch (const FormatError& error) {
    EXPECT_THAT(error.what(), HasSubstr(part));
    return error.offset;
  }
  ADD_FAILURE() << "read what has to be refused: " << part;
  return UINT64_MAX;
}

/// As protocol 0 writes it: one event, keys set one by one.
const std::string kProtocol0 =
    "(dp0\nVsegments\np1\n(lp2\nsVdevice_traces\np3\n(lp4\n(lp5\n(dp6\nVaction\np7\nValloc\np8\n"
    "sVaddr\np9\nL139637976727552L\nsVsize\np10\nI512\nsVstream\np11\nI0\nsVframes\np12\n(lp13\n"
    "(dp14\nVfilename\np15\nVtr\\u00e4in.py\np16\nsVline\np17\nI7\nsVname\np18\nVstep\np19\nsa"
    "(dp20\ng15\nVmain.py\np21\nsg17\nI1\nsg18\ng19\nsasa(dp22\ng7\ng8\nsg9\nI4096\nsg10\nI1\ns"
    "g12\ng13\nsaas.";

TEST(PickleReader, ReadsProtocolZero) {
  const SnapshotFile file = read_snapshot_bytes(kProtocol0);
  const Snapshot& snapshot = file.snapshot;
  ASSERT_EQ(snapshot.events.count(), 2U);
  EXPECT_EQ(snapshot.events.action[0], record::Action::alloc);
  EXPECT_EQ(snapshot.events.address[0], 139637976727552U);
  EXPECT_EQ(snapshot.events.size[0], 512U);
  EXPECT_EQ(snapshot.events.address[1], 4096U);
  const StackId stack = snapshot.events.stack[0];
  EXPECT_EQ(snapshot.events.stack[1], stack) << "the list is named again by its number";
  ASSERT_EQ(snapshot.stacks.depth(stack), 2U);
  const FrameId inner = snapshot.stacks.frame(stack);
  EXPECT_EQ(snapshot.text(snapshot.frames.file(inner)), "tr\xc3\xa4in.py");
  EXPECT_EQ(snapshot.frames.line(inner), 7U);
  const FrameId outer = snapshot.stacks.frame(snapshot.stacks.parent(stack));
  EXPECT_EQ(snapshot.text(snapshot.frames.file(outer)), "main.py");
  EXPECT_EQ(snapshot.text(snapshot.frames.function(outer)), "step");
}

/// SHORT_BINUNICODE of a text, BININT1 of a number.
std::string text(const std::string& utf8) {
  return "\x8c" + std::string(1, static_cast<char>(utf8.size())) + utf8;
}
std::string number(char value) {
  return {'K', value};
}

TEST(PickleReader, PutsItemsIntoADictionaryHoweverManyComeAtOnce) {
  const auto event = [](char address, const std::string& first, const std::string& begin,
                        const std::string& end, const std::string& last) {
    return "}(" + text("action") + text("alloc") + first + begin + text("addr") + number(address) +
           end + begin + text("size") + number(9) + last;
  };
  const std::string events = event(1, "", "", "", "u") +     // one batch
                             event(2, "u", "(", "u", "u") +  // SETITEMS an item
                             event(3, "u", "", "s", "s") +   // SETITEM after SETITEMS
                             event(4, "", "", "u(", "u");    // whole, and then one more
  const SnapshotFile file = read_snapshot_bytes("\x80\x04](" + events + "e.");
  EXPECT_THAT(file.snapshot.events.address, ::testing::ElementsAre(1U, 2U, 3U, 4U));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(file.snapshot.events.size[i], 9U);
}

TEST(PickleReader, ReadsWhatIsFedByteByByte) {
  const std::string bytes = kProtocol0;
  SnapshotFile file;
  PickleRecords records(file);
  PickleMachine machine(records);
  PickleFeed feed(machine);
  for (const char byte : bytes) feed.write({&byte, 1});
  feed.finish();
  EXPECT_EQ(file.snapshot.events.count(), 2U);
  EXPECT_EQ(file.keys, (std::vector<std::string>{"device_traces", "segments"}));
}

TEST(PickleReader, ReadsOurOwnSnapshotsBack) {
  const Snapshot written = testing::TrainingRecord().record.snapshot();
  const SnapshotFile read = read_snapshot_bytes(pickle_bytes(written));
  EXPECT_EQ(read.snapshot.segments.count(), written.segments.count());
  EXPECT_EQ(read.snapshot.blocks.count(), written.blocks.count());
  EXPECT_EQ(read.snapshot.blocks.requested, written.blocks.requested);
  EXPECT_EQ(make_account(read).devices.at(0).residual, 0);
}

TEST(PickleReader, RefusesEverythingThatRunsCodeAndSaysWhere) {
  EXPECT_EQ(failure("\x80\x04"
                    "}(\x8c\x06"
                    "actioncos\nsystem\n(S'x'\ntR.",
                    "GLOBAL"),
            12U);
  EXPECT_EQ(failure("\x80\x04\x8c\x02os\x8c\x06system\x93.", "STACK_GLOBAL"), 14U);
  EXPECT_EQ(failure("N)R.", "REDUCE"), 2U);
  EXPECT_EQ(failure("N}b.", "BUILD"), 2U);
  EXPECT_EQ(failure("Pid\n.", "PERSID"), 0U);
  EXPECT_EQ(failure("NQ.", "BINPERSID"), 1U);
  EXPECT_EQ(failure("N)\x81.", "NEWOBJ"), 2U);
  EXPECT_EQ(failure("N)}\x92.", "NEWOBJ_EX"), 3U);
  EXPECT_EQ(failure("(ios\nsystem\n.", "INST"), 1U);
  EXPECT_EQ(failure("(No.", "OBJ"), 2U);
  EXPECT_EQ(failure("\x82\x01.", "EXT1"), 0U);
  EXPECT_EQ(failure("\x83\x01\x01.", "EXT2"), 0U);
  EXPECT_EQ(failure("\x84\x01\x01\x01\x01.", "EXT4"), 0U);
  EXPECT_EQ(failure("\x97.", "NEXT_BUFFER"), 0U);
}

TEST(PickleReader, RefusesWhatIsNoPickle) {
  EXPECT_EQ(failure("", "cut short"), 0U);
  EXPECT_EQ(failure("]", "cut short"), 1U);
  EXPECT_EQ(failure("\xff", "an opcode"), 0U);
  EXPECT_EQ(failure("\x80\x06", "protocol"), 0U);
  EXPECT_EQ(failure("K\x01.", "no snapshot"), 2U);
  EXPECT_EQ(failure("{\"segments\": []}", "an opcode"), 0U);
}

TEST(PickleReader, RefusesStacksThatDoNotWorkOut) {
  EXPECT_EQ(failure("a.", "values above the mark"), 0U);
  EXPECT_EQ(failure("u.", "no mark"), 0U);
  EXPECT_EQ(failure("}(Nu.", "pairs"), 3U);
  EXPECT_EQ(failure("](NNu.", "a list"), 4U);
  EXPECT_EQ(failure("}(Ne.", "a dictionary"), 3U);
  EXPECT_EQ(failure("h\x05.", "the memo"), 0U);
  EXPECT_EQ(failure("(0.", "0 values above the mark"), 2U);
}

TEST(PickleReader, WaitsForNoMoreBytesThanThereAre) {
  EXPECT_EQ(failure("\x8e\xff\xff\xff\xff\xff\xff\xff\x7f", "cut short"), 0U);
  EXPECT_EQ(failure("X\xff\xff\xff\x7f"
                    "abc",
                    "cut short"),
            0U);
  EXPECT_EQ(failure("\x8b\xff\xff\xff\xff", "LONG4"), 0U);
  EXPECT_EQ(failure("I12", "cut short"), 0U);
}

TEST(PickleReader, HoldsDepthAndCountsAgainstTheBytesRead) {
  const std::string many(std::size_t{3} << 20, '(');
  EXPECT_GT(failure(many, "marks"), std::uint64_t{1} << 20);
  const std::string nested(std::size_t{3} << 20, ']');
  EXPECT_GT(failure(nested, "on the stack"), std::uint64_t{1} << 20);
  const std::string values(std::size_t{3} << 20, 'N');
  EXPECT_GT(failure(values, "values"), std::uint64_t{1} << 20);
}

TEST(PickleReader, TakesAMemoNumberedFarTooHighWithoutRoomForTheOthers) {
  const SnapshotFile file = read_snapshot_bytes(
      "]r\xff\xff\xff\xff"
      "0j\xff\xff\xff\xff.");
  EXPECT_EQ(file.snapshot.segments.count(), 0U);
}

TEST(PickleReader, EndsOnListsThatHoldThemselves) {
  EXPECT_NO_THROW(
      read_snapshot_bytes("]q\x00h\x00"
                          "a."s));
  EXPECT_NO_THROW(
      read_snapshot_bytes("]q\x00(h\x00h\x00"
                          "e."s));
}

TEST(PickleReader, DoesNotGrowByWhatIsRepeated) {
  // Each list holds the one before twice: 2^60 texts, were they written out.
  std::string bytes =
      "}(\x8c\x08segments]\x8c\x05"
      "extra\x8c\x10"
      "0123456789abcdefq\x00"s;
  for (char i = 0; i < 60; ++i) {
    bytes +=
        "](h"s + i + "h"s + i + "eq"s + static_cast<char>(i + 1) + "0h"s + static_cast<char>(i + 1);
  }
  const SnapshotFile file = read_snapshot_bytes(bytes + "u.");
  EXPECT_GT(file.skipped_values, 0U);
  EXPECT_LT(file.snapshot.strings.size(), 200U);
}

TEST(PickleReader, RefusesSizesThatNoMemoryHas) {
  const std::string event =
      "](](}(\x8c\x06"
      "action\x8c\x05"
      "alloc\x8c\x04size";
  EXPECT_NO_THROW(read_snapshot_bytes(event + "K\x01uee."));
  EXPECT_EQ(failure(event + "J\xff\xff\xff\xff"
                            "uee.",
                    "0 to 2^62"),
            33U)
      << "where the event is known to be whole";
  EXPECT_EQ(failure(event + "\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01uee."s, "0 to 2^62"), 39U);
}

}  // namespace
}  // namespace strandline::snapshot
