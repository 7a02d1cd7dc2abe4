// SPDX-License-Identifier: Apache-2.0
// Tracebacks: the frames of one moment, as an id into a table.
// The table is a tree of (parent, frame) nodes: stacks that share their outer frames share nodes.
// A stack is found by a 128-bit fingerprint of its frames without a lock; only a stack seen for the
// first time takes the mutex. A frame is opaque to the core: 64 bits of code, an offset in it, and
// the source that can tell file, function and line of it when the record is read.
//
//   main.py:3 ─ train.py:88 ┬ model.py:41      node = (parent, frame); id of a stack = its
//                           └ model.py:42      innermost node
//
// A traceback may also be a pair: (calling, forward), the line whose evaluation of a gradient made
// the node, and the line of the operation the gradient belongs to.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/flat_map.h"
#include "strandline/core/ids.h"
#include "strandline/core/mutex.h"

namespace strandline::record {

/// A frame as captured; `code` and `offset` mean something to `source` only.
struct RawFrame {
  std::uint64_t code = 0;
  std::uint32_t offset = 0;
  std::uint16_t source = 0;  ///< index given by `register_capture_source`

  bool operator==(const RawFrame&) const = default;
};

/// A frame as read.
struct Frame {
  std::string file;
  std::string function;
  std::uint32_t line = 0;

  bool operator==(const Frame&) const = default;
};

/// Identity of a stack; equal stacks have equal fingerprints, others differ (2^-128).
struct Fingerprint {
  std::uint64_t low = 0x6A09E667F3BCC909ULL;
  std::uint64_t high = 0xBB67AE8584CAA73BULL;

  /// Adds the next frame; frames go in innermost first. What two sources mean by equal numbers are
  /// different frames.
  constexpr void add(std::uint64_t code, std::uint32_t offset, std::uint16_t source = 0) noexcept {
    const std::uint64_t word =
        code + (static_cast<std::uint64_t>(offset) << 48) + offset + source * 0xC2B2AE3D27D4EB4FULL;
    low = (low ^ word) * 0x9E3779B97F4A7C15ULL;
    low ^= low >> 32;
    high = (high + word) * 0xD6E8FEB86659FD93ULL;
    high ^= high >> 29;
  }
  bool operator==(const Fingerprint&) const = default;
};

/// Identity of a stack by its frames alone, innermost first.
constexpr Fingerprint fingerprint_of(std::span<const RawFrame> frames, bool truncated) noexcept {
  Fingerprint fingerprint;
  for (const RawFrame& frame : frames) fingerprint.add(frame.code, frame.offset, frame.source);
  fingerprint.add(frames.size(), truncated ? 1 : 0);
  return fingerprint;
}

/// At most this many frames are kept; a longer stack is marked truncated.
inline constexpr std::size_t kMaxFrames = 128;
/// Of a longer stack these outermost frames stay, since they lead to the program's own lines, then
/// a gap, then the innermost ones.
inline constexpr std::size_t kOuterFrames = 16;
inline constexpr std::size_t kInnerFrames = kMaxFrames - kOuterFrames - 1;
/// RawFrame::source of the gap: the frames that were left out, however many.
inline constexpr std::uint16_t kGapSource = UINT16_MAX - 1;

class STRANDLINE_API TracebackTable {
 public:
  explicit TracebackTable(std::uint64_t cap_bytes);
  ~TracebackTable();
  TracebackTable(const TracebackTable&) = delete;
  TracebackTable& operator=(const TracebackTable&) = delete;

  /// The id of a stack seen before, none otherwise. No lock, no allocation.
  TracebackId find(const Fingerprint& fingerprint) const noexcept;

  /// Enters a stack, innermost frame first; `fingerprint` must be that of `frames`. None past the
  /// cap. Throws std::bad_alloc only.
  TracebackId insert(const Fingerprint& fingerprint, std::span<const RawFrame> innermost_first,
                     bool truncated) STRANDLINE_EXCLUDES(mutex_);

  /// The pair (calling, forward); `calling` alone when `forward` is none. The calling part of a
  /// pair is taken when `calling` is one.
  TracebackId pair(TracebackId calling, TracebackId forward) STRANDLINE_EXCLUDES(mutex_);

  /// The stack of a replayed trace: the frames of `calling` (outermost), then the frames of
  /// `traced` without its `outer_frames` outermost ones, those of the call that was traced.
  TracebackId splice(TracebackId calling, TracebackId traced, std::size_t outer_frames)
      STRANDLINE_EXCLUDES(mutex_);

  TracebackId calling(TracebackId id) const STRANDLINE_EXCLUDES(mutex_);
  TracebackId forward(TracebackId id) const STRANDLINE_EXCLUDES(mutex_);

  /// Frames of the calling part, innermost first; empty for none or an id from before `clear`.
  std::vector<RawFrame> frames(TracebackId id) const STRANDLINE_EXCLUDES(mutex_);
  std::size_t depth(TracebackId id) const STRANDLINE_EXCLUDES(mutex_);
  bool truncated(TracebackId id) const STRANDLINE_EXCLUDES(mutex_);

  std::uint64_t memory_bytes() const STRANDLINE_EXCLUDES(mutex_);
  std::uint64_t refused() const STRANDLINE_EXCLUDES(mutex_);
  std::uint64_t truncated_count() const STRANDLINE_EXCLUDES(mutex_);
  void clear() STRANDLINE_EXCLUDES(mutex_);
  /// Held around a fork, so that the child gets a whole table and a free lock.
  void lock_for_fork() noexcept STRANDLINE_NO_LOCK_ANALYSIS { mutex_.lock(); }
  void unlock_after_fork() noexcept STRANDLINE_NO_LOCK_ANALYSIS { mutex_.unlock(); }

 private:
  enum class Kind : std::uint8_t { stack, truncated_stack, pair };
  struct Node {
    std::uint32_t first = 0;   // stack: parent; pair: calling
    std::uint32_t second = 0;  // stack: index into frames_; pair: forward
    Kind kind = Kind::stack;
  };
  struct FrameHash {
    std::size_t operator()(const RawFrame& frame) const noexcept {
      return static_cast<std::size_t>(mix_bits(frame.code + frame.offset) + frame.source);
    }
  };
  struct Slot {
    std::atomic<std::uint64_t> low{0};
    std::atomic<std::uint64_t> high{0};
    std::atomic<std::uint32_t> id{0};  // written last: a reader that sees it sees the others
  };
  struct Slots {
    explicit Slots(std::size_t capacity) : slots(capacity) {}
    std::vector<Slot> slots;
  };
  struct Splice {
    std::uint32_t id = 0;
    std::uint32_t outer_frames = 0;  // of the call that was traced
  };

  const Node* node(TracebackId id) const STRANDLINE_REQUIRES(mutex_);
  std::vector<RawFrame> frames_unlocked(TracebackId id) const STRANDLINE_REQUIRES(mutex_);
  std::uint32_t frame_index(const RawFrame& frame) STRANDLINE_REQUIRES(mutex_);
  std::uint32_t append(Node node) STRANDLINE_REQUIRES(mutex_);
  std::uint32_t child(std::uint32_t parent, std::uint32_t frame) STRANDLINE_REQUIRES(mutex_);
  TracebackId insert_unlocked(const Fingerprint& fingerprint, std::span<const RawFrame> frames,
                              bool truncated) STRANDLINE_REQUIRES(mutex_);
  void publish(const Fingerprint& fingerprint, TracebackId id) STRANDLINE_REQUIRES(mutex_);
  void grow_slots() STRANDLINE_REQUIRES(mutex_);
  static void place(std::vector<Slot>& slots, std::uint64_t low, std::uint64_t high,
                    std::uint32_t id) noexcept;
  TracebackId splice_unlocked(TracebackId outer, TracebackId inner, std::size_t outer_frames)
      STRANDLINE_REQUIRES(mutex_);
  bool is_full() const STRANDLINE_REQUIRES(mutex_);
  std::uint64_t bytes_unlocked() const STRANDLINE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  const std::uint64_t cap_bytes_;
  std::atomic<Slots*> slots_;  // the table readers use, levels_[level_]
  // Each twice the size of the one before; made once, never freed, emptied by `clear`.
  std::vector<std::unique_ptr<Slots>> levels_ STRANDLINE_GUARDED_BY(mutex_);
  std::size_t level_ STRANDLINE_GUARDED_BY(mutex_) = 0;
  std::size_t used_slots_ STRANDLINE_GUARDED_BY(mutex_) = 0;
  std::vector<Node> nodes_ STRANDLINE_GUARDED_BY(mutex_);
  std::vector<RawFrame> frames_ STRANDLINE_GUARDED_BY(mutex_);
  FlatMap<std::uint32_t> children_ STRANDLINE_GUARDED_BY(mutex_);  // (parent, frame) -> node
  FlatMap<std::uint32_t> pairs_ STRANDLINE_GUARDED_BY(mutex_);     // (calling, forward) -> node
  FlatMap<Splice> splices_ STRANDLINE_GUARDED_BY(mutex_);          // (calling, traced) -> node
  std::unordered_map<RawFrame, std::uint32_t, FrameHash> frame_numbers_
      STRANDLINE_GUARDED_BY(mutex_);
  std::uint32_t first_ STRANDLINE_GUARDED_BY(mutex_) = 1;  // id of nodes_[0]
  std::uint64_t refused_ STRANDLINE_GUARDED_BY(mutex_) = 0;
  std::uint64_t truncated_count_ STRANDLINE_GUARDED_BY(mutex_) = 0;
};

}  // namespace strandline::record
