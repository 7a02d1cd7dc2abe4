// SPDX-License-Identifier: Apache-2.0
// The grammar of filters, and what each test of it looks at.
#include "strandline/snapshot/row_filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strandline/core/error.h"

namespace strandline::snapshot {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string parsed(std::string_view text) {
  return RowFilter::parse(text).text();
}

std::string refusal(std::string_view text) {
  try {
    RowFilter::parse(text);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "taken";
}

TEST(RowFilter, NothingLetsEverythingThrough) {
  EXPECT_TRUE(RowFilter::parse("").is_empty());
  EXPECT_TRUE(RowFilter::parse(" \t").is_empty());
}

TEST(RowFilter, AndBindsTighterThanOrAndMayBeLeftOut) {
  EXPECT_EQ(parsed("op=a op=b or op=c and not op=d"),
            R"(((op="a" and op="b") or (op="c" and not op="d")))");
  EXPECT_EQ(parsed("op=a (op=b or op=c)"), R"((op="a" and (op="b" or op="c")))");
  EXPECT_EQ(parsed("not not op=a"), R"(not not op="a")");
}

TEST(RowFilter, ValuesAreWordsOrQuoted) {
  EXPECT_EQ(parsed(R"x(label="a \"b\" \\ (c)")x"), R"x(label="a \"b\" \\ (c)")x");
  EXPECT_EQ(parsed("frame~/home/u/train.py:88"), R"(frame~"/home/u/train.py:88")");
  EXPECT_EQ(parsed("op != orange"), R"(op!="orange")");  // begins like "or"
}

TEST(RowFilter, RefusalsNameThePlaceWhatIsThereAndWhatShouldBe) {
  EXPECT_THAT(refusal("size>=1MiB sizee=3"),
              AllOf(HasSubstr("character 12"), HasSubstr("\"sizee=3\""), HasSubstr("a field: ")));
  EXPECT_THAT(refusal("size~3"), AllOf(HasSubstr("character 5"), HasSubstr("<=")));
  EXPECT_THAT(refusal("frame>3"), HasSubstr("=, !=, ~ or !~"));
  EXPECT_THAT(refusal("size>=many"), AllOf(HasSubstr("character 7"), HasSubstr("1MiB")));
  EXPECT_THAT(refusal("pool=3"), HasSubstr("0:1"));
  EXPECT_THAT(refusal("(op=a"), AllOf(HasSubstr("character 6"), HasSubstr("the end")));
  EXPECT_THAT(refusal("op=\"a"), HasSubstr("a closing quote"));
  EXPECT_THAT(refusal("op="), HasSubstr("a value"));
  EXPECT_THAT(refusal("op=a )"), HasSubstr("character 6"));
  EXPECT_THAT(refusal("op=a or"), HasSubstr("the end"));
  EXPECT_THAT(refusal(std::string(200, '(')), HasSubstr("at most 100"));
}

TEST(RowFilter, SizesAreNumbersWithUnitsOf1024) {
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("1000"), 1000U);
  EXPECT_EQ(parse_size("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(parse_size("1.5MiB"), 1572864U);
  EXPECT_EQ(parse_size("80 GiB"), 80ULL << 30);
  for (const char* const text : {"", "x", "1kb", "-1", "1e30", "99999999TiB", "nan", "inf"}) {
    EXPECT_THROW(parse_size(text), InvalidArgument) << text;
  }
}

/// Rows 0 to 3: three allocs and an oom; the first two lie in the phase "warm up".
class FilteredRows : public ::testing::Test {
 protected:
  FilteredRows() {
    Snapshot& snapshot = file_.snapshot;
    const auto intern = [&](const char* text) { return snapshot.strings.intern(text); };
    const StackId main = snapshot.stacks.child(
        {}, snapshot.frames.intern(intern("/home/u/train.py"), intern("main"), 9));
    const StackId step = snapshot.stacks.child(
        main, snapshot.frames.intern(intern("/lib/torch/nn.py"), intern("linear"), 88));
    snapshot.streams.emplace_back(7, 0);
    snapshot.pools.emplace_back(0, 1);
    const auto add = [&](EventRow row) { snapshot.events.push_back(row); };
    using record::Action;
    add({.address = 0x100,
         .size = 10,
         .requested = 10,
         .time_us = 1,
         .stack = step,
         .op = intern("Matmul"),
         .action = Action::alloc});
    add({.address = 0x200,
         .size = 2048,
         .requested = 2048,
         .time_us = 2,
         .stack = main,
         .label = intern("optimiser.m"),
         .stream = StreamId{1},
         .action = Action::alloc});
    add({.address = 0x300,
         .size = 3000,
         .requested = 3000,
         .time_us = 3,
         .owner = intern("program"),
         .pool = PoolId{1},
         .action = Action::alloc});
    add({.address = 5,
         .size = 4096,
         .requested = 4096,
         .time_us = 4,
         .device = 1,
         .action = Action::oom});
    file_.traces = {{0, 3}, {3, 1}};
    file_.annotations = {{intern("warm up"), Stage::start, 0, 0},
                         {intern("warm up"), Stage::end, 0, 3}};
  }

  std::vector<std::size_t> rows(const char* filter) const {
    const FilterMatcher matcher(RowFilter::parse(filter), file_);
    std::vector<std::size_t> found;
    for (std::size_t row = 0; row < file_.snapshot.events.count(); ++row) {
      if (matcher.event(row)) found.push_back(row);
    }
    return found;
  }

  SnapshotFile file_;
};

TEST_F(FilteredRows, FramesAreLookedForInTheWholeStack) {
  EXPECT_THAT(rows("frame~train.py"), ElementsAre(0, 1));
  EXPECT_THAT(rows("frame=linear"), ElementsAre(0));
  EXPECT_THAT(rows("frame=nn.py:88"), ElementsAre(0));
  EXPECT_THAT(rows("frame=n.py:88"), IsEmpty());
  EXPECT_THAT(rows("frame=nn.py:8"), IsEmpty());
  EXPECT_THAT(rows("frame=/lib/torch/nn.py"), ElementsAre(0));
  EXPECT_THAT(rows("frame!~torch"), ElementsAre(1, 2, 3));
  EXPECT_THAT(rows("frame!=main"), ElementsAre(2, 3));
}

TEST_F(FilteredRows, TextsAndNumbers) {
  EXPECT_THAT(rows("op=Matmul"), ElementsAre(0));
  EXPECT_THAT(rows("label~optim"), ElementsAre(1));
  EXPECT_THAT(rows("label=optim"), IsEmpty());
  EXPECT_THAT(rows("label!~optim"), ElementsAre(0, 2, 3));
  EXPECT_THAT(rows("owner=program"), ElementsAre(2));
  EXPECT_THAT(rows("action=oom"), ElementsAre(3));
  EXPECT_THAT(rows("size>=2KiB size<4096"), ElementsAre(1, 2));
  EXPECT_THAT(rows("size>3000"), ElementsAre(3));
  EXPECT_THAT(rows("size<=10 or size=3000"), ElementsAre(0, 2));
  EXPECT_THAT(rows("size!=10"), ElementsAre(1, 2, 3));
  EXPECT_THAT(rows("stream=7"), ElementsAre(1));
  EXPECT_THAT(rows("device=1"), ElementsAre(3));
  EXPECT_THAT(rows("address=0x200"), ElementsAre(1));
  EXPECT_THAT(rows("pool=0:1"), ElementsAre(2));
  EXPECT_THAT(rows("pool!=0:1"), ElementsAre(0, 1, 3));
}

TEST_F(FilteredRows, PhasesAreOfTheirDeviceAndTime) {
  EXPECT_THAT(rows("phase~warm"), ElementsAre(0, 1));
  EXPECT_THAT(rows("phase=\"warm up\""), ElementsAre(0, 1));
  EXPECT_THAT(rows("phase!~warm"), ElementsAre(2, 3));
  EXPECT_THAT(rows("phase=warm"), IsEmpty());
}

TEST_F(FilteredRows, BlocksAreJudgedByTheirAlloc) {
  const FilterMatcher matcher(RowFilter::parse("phase~warm size>5"), file_);
  EXPECT_TRUE(matcher.block({.requested = 10, .alloc_sequence = 1}));
  EXPECT_FALSE(matcher.block({.requested = 10, .alloc_sequence = 3}));
  EXPECT_FALSE(matcher.block({.requested = 10, .alloc_sequence = 0}));  // from before the trace
  EXPECT_FALSE(matcher.block({.requested = 5, .alloc_sequence = 1}));
}

}  // namespace
}  // namespace strandline::snapshot
