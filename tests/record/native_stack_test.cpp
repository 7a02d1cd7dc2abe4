// SPDX-License-Identifier: Apache-2.0
// Native stacks: what they hold, where entries cut and join them, and that lines are right. Frames
// of a language come from a source made up here.
#include "strandline/record/native_stack.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "strandline/record/recorder.h"

namespace strandline::record {
namespace {

#define STRANDLINE_NO_INLINE __attribute__((noinline, noclone))
// Keeps a call from becoming a jump, which would leave no frame.
#define STRANDLINE_AFTER_CALL __asm__ volatile("")

/// A language whose stack the test sets; a frame's address is what its code number points to.
class MadeUpLanguage final : public CaptureSource {
 public:
  static MadeUpLanguage& instance() {
    static MadeUpLanguage* const made = [] {
      auto source = std::make_unique<MadeUpLanguage>();
      MadeUpLanguage* raw = source.get();
      register_capture_source(std::move(source));
      return raw;
    }();
    return *made;
  }
  std::string_view name() const noexcept override { return "made up"; }
  bool can_gather() const noexcept override { return is_on && !stack.empty(); }
  TracebackId gather(TracebackTable&, std::uint16_t) noexcept override { return {}; }
  bool try_key(Fingerprint& key) noexcept override {
    if (!can_gather()) return false;
    for (const std::uint64_t code : stack) key.add(code, 0);
    return true;
  }
  bool try_list(std::uint16_t source, FrameList& list) noexcept override {
    if (!can_gather()) return false;
    for (const std::uint64_t code : stack) {
      list.addresses[list.count] = address_of(code);
      list.frames[list.count++] = {.code = code, .offset = 0, .source = source};
    }
    return true;
  }
  Frame resolve(const RawFrame& frame) const override {
    return {.file = "made.up",
            .function = "f" + std::to_string(frame.code),
            .line = static_cast<std::uint32_t>(frame.code)};
  }
  static const void* address_of(std::uint64_t code) {
    return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(0x1000 * code));
  }

  static inline thread_local bool is_on = false;
  static inline thread_local std::vector<std::uint64_t> stack;  // innermost first
};

class NativeStack : public ::testing::Test {
 protected:
  NativeStack() {
    MadeUpLanguage::instance();
    MadeUpLanguage::is_on = true;
    MadeUpLanguage::stack.clear();
  }
  ~NativeStack() override { MadeUpLanguage::is_on = false; }

  std::vector<Frame> read(TracebackId id) const {
    std::vector<Frame> frames;
    for (const RawFrame& raw : table_.frames(id)) frames.push_back(resolve_frame(raw));
    return frames;
  }
  // Names without their arguments and namespaces.
  std::vector<std::string> names(TracebackId id) const {
    std::vector<std::string> result;
    for (const Frame& frame : read(id)) {
      std::string name = frame.function.substr(0, frame.function.find('('));
      if (frame.function.starts_with("strandline::record::(anonymous namespace)::")) {
        name = frame.function.substr(sizeof("strandline::record::(anonymous namespace)::") - 1);
        name = name.substr(0, name.find('('));
      }
      result.push_back(name);
    }
    return result;
  }

  TracebackTable table_{1 << 20};
};

STRANDLINE_NO_INLINE TracebackId allocate(TracebackTable& table, Stacks stacks) {
  const TracebackId id = capture_traceback(table, stacks);
  STRANDLINE_AFTER_CALL;
  return id;
}

STRANDLINE_NO_INLINE TracebackId evaluate(TracebackTable& table, Stacks stacks) {
  const TracebackId id = allocate(table, stacks);
  STRANDLINE_AFTER_CALL;
  return id;
}
constexpr std::uint32_t kLineInEvaluate = __LINE__ - 4;

STRANDLINE_NO_INLINE TracebackId binding(TracebackTable& table, Stacks stacks,
                                         const void* caller = nullptr) {
  const BindingEntry entry(caller);
  const TracebackId id = evaluate(table, stacks);
  STRANDLINE_AFTER_CALL;
  return id;
}

using Names = std::vector<std::string>;

TEST_F(NativeStack, GoesFromTheCaptureToTheBindingThatWasEntered) {
  EXPECT_EQ(names(binding(table_, Stacks::native)), (Names{"allocate", "evaluate", "binding"}));
}

TEST_F(NativeStack, TellsFileAndLineOfTheCallWhereThereIsDebugInformation) {
  if (std::string(native_symboliser()) != "libbacktrace") GTEST_SKIP() << "needs libbacktrace";
  const std::vector<Frame> frames = read(binding(table_, Stacks::native));
  ASSERT_EQ(frames.size(), 3U);
  EXPECT_TRUE(frames[1].file.ends_with("native_stack_test.cpp")) << frames[1].file;
  EXPECT_EQ(frames[1].line, kLineInEvaluate);
}

TEST_F(NativeStack, GivesEqualStacksOneIdAndOthersAnother) {
  TracebackId first;
  for (int i = 0; i < 3; ++i) {
    const TracebackId id = binding(table_, Stacks::native);
    if (i == 0) first = id;
    EXPECT_EQ(id, first);
  }
  const BindingEntry entry;
  EXPECT_NE(evaluate(table_, Stacks::native), first);
}

TEST_F(NativeStack, WithoutAnEntryTheWholeStackIsUnwound) {
  const Names found = names(evaluate(table_, Stacks::native));
  ASSERT_GE(found.size(), 4U);
  EXPECT_EQ(found[0], "allocate");
  EXPECT_EQ(found[1], "evaluate");
  EXPECT_NE(std::find(found.begin(), found.end(), "main"), found.end());
}

TEST_F(NativeStack, AProgramsOwnThreadsHaveStacksToo) {
  Names found;
  std::thread([&] { found = names(binding(table_, Stacks::all)); }).join();
  EXPECT_EQ(found, (Names{"allocate", "evaluate", "binding"}));
}

TEST_F(NativeStack, FramesOfTheLanguageFollowThoseOfOneEntry) {
  MadeUpLanguage::stack = {3, 2, 1};
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(names(binding(table_, Stacks::all, MadeUpLanguage::address_of(3))),
              (Names{"allocate", "evaluate", "binding", "f3", "f2", "f1"}));
  }
}

// The diagram of native_stack.h.
STRANDLINE_NO_INLINE TracebackId call_back(TracebackTable& table, std::uint64_t inner_frames) {
  const CallbackScope callback;
  const std::vector<std::uint64_t> outer = MadeUpLanguage::stack;
  for (std::uint64_t i = 0; i < inner_frames; ++i) {
    MadeUpLanguage::stack.insert(MadeUpLanguage::stack.begin(), 10 + i);
  }
  const TracebackId id =
      binding(table, Stacks::all, MadeUpLanguage::address_of(MadeUpLanguage::stack.front()));
  MadeUpLanguage::stack = outer;
  STRANDLINE_AFTER_CALL;
  return id;
}

STRANDLINE_NO_INLINE TracebackId transform(TracebackTable& table, std::uint64_t inner_frames) {
  const TracebackId id = call_back(table, inner_frames);
  STRANDLINE_AFTER_CALL;
  return id;
}

STRANDLINE_NO_INLINE TracebackId outer_binding(TracebackTable& table, std::uint64_t inner_frames) {
  const BindingEntry entry(MadeUpLanguage::address_of(MadeUpLanguage::stack.front()));
  const TracebackId id = transform(table, inner_frames);
  STRANDLINE_AFTER_CALL;
  return id;
}

TEST_F(NativeStack, IsMergedThroughLanguageNativeLanguageNative) {
  MadeUpLanguage::stack = {2, 1};
  const Names expected = {"allocate",  "evaluate",  "binding",       "f11", "f10",
                          "call_back", "transform", "outer_binding", "f2",  "f1"};
  const TracebackId first = outer_binding(table_, 2);
  EXPECT_EQ(names(first), expected);
  EXPECT_EQ(names(outer_binding(table_, 2)), expected);
  const Names shorter = {"allocate",  "evaluate",      "binding", "f10", "call_back",
                         "transform", "outer_binding", "f2",      "f1"};
  EXPECT_EQ(names(outer_binding(table_, 1)), shorter);
}

TEST_F(NativeStack, OfALongMergedStackTheInnermostFramesAreKept) {
  MadeUpLanguage::stack.assign(kMaxFrames, 7);
  const TracebackId id = binding(table_, Stacks::all, MadeUpLanguage::address_of(7));
  EXPECT_EQ(table_.depth(id), kMaxFrames);
  EXPECT_TRUE(table_.truncated(id));
  EXPECT_EQ(names(id)[0], "allocate");
  EXPECT_EQ(names(id)[3], "f7");
}

STRANDLINE_NO_INLINE TracebackId recurse(TracebackTable& table, int depth) {
  const TracebackId id = depth == 0 ? allocate(table, Stacks::native) : recurse(table, depth - 1);
  STRANDLINE_AFTER_CALL;
  return id;
}

TEST_F(NativeStack, DeepRecursionIsCutAndMarked) {
  const BindingEntry entry;
  const TracebackId id = recurse(table_, 1000);
  EXPECT_EQ(table_.depth(id), kMaxFrames);
  EXPECT_TRUE(table_.truncated(id));
  EXPECT_EQ(names(id)[kMaxFrames - 1], "recurse");
}

TEST_F(NativeStack, IsWhatTheRecorderTakesWhenToldSo) {
  recorder().start({.max_entries = 100, .stacks = Stacks::native});
  const BindingEntry entry;
  recorder().note_alloc({.address = 0x1000, .size = 64, .requested = 64});
  const Cut cut = recorder().cut();
  recorder().note_free({.address = 0x1000});
  recorder().stop();
  const std::vector<RawFrame> frames =
      recorder().tables().tracebacks.frames(cut.events.back().traceback);
  ASSERT_FALSE(frames.empty());
  EXPECT_NE(resolve_frame(frames.back()).function.find("TestBody"), std::string::npos);
}

TEST_F(NativeStack, EveryThreadsCapturesAreCounted) {
  std::uint16_t number = 0;
  std::thread([&] {
    number = thread_number();
    for (int i = 0; i < 5; ++i) binding(table_, Stacks::native);
    TracebackTable none(0);
    binding(none, Stacks::native);
    MadeUpLanguage::is_on = false;
    capture_traceback(table_, Stacks::site);
  }).join();
  CaptureCounts found;
  for (const CaptureCounts& counts : capture_counts()) {
    if (counts.thread == number) found = counts;
  }
  EXPECT_EQ(found, (CaptureCounts{.thread = number, .captures = 7, .new_stacks = 2, .failed = 2}));
}

}  // namespace
}  // namespace strandline::record
