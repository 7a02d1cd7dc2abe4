// SPDX-License-Identifier: Apache-2.0
// What held memory at the peak: the blocks of the capacity peak's set, summed by line, operation,
// label and phase, and as a call tree. The set, not the ring, is what is summed, so the report is
// exact for runs of any length.
//
//   the line of a block  the innermost Python frame outside the standard library, site-packages and
//                        <…> files, without one that of code that was typed ("<string>", "<stdin>",
//                        IPython's cells), without that the innermost native frame outside of them;
//                        of a gradient's block, that line of the operation it belongs to
//   attributed           has the user's line, an operation and a layout
//   Σ by_line = Σ by_operation = Σ by_label = Σ by_phase = peak = attributed + Σ unattributed
//
// A plain value; making it reads source files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot {

/// What the snapshot cannot know of the run.
struct RunInfo {
  std::string program;    ///< "train.py"
  std::string framework;  ///< "mlx 0.32.4 (cpu)"
  std::optional<int> exit_status;
  std::optional<std::uint64_t> steps;
  std::optional<double> seconds;
  std::uint64_t children = 0;    ///< processes started or forked, not recorded
  std::uint64_t lost_bytes = 0;  ///< active by the framework's own count, and no block's
};

struct ReportOptions {
  /// Folders whose files are not the user's, beside what their paths tell.
  std::vector<std::string> library_folders;
  /// Patterns of files that alone are the user's, as AnswerOptions has them; none: all others are.
  std::vector<std::string> own{};
  /// Steps over which growth is told.
  std::uint64_t growth_steps = 100;
};

/// Bytes are of capacity.
struct Held {
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;
  std::uint64_t blocks = 0;

  Held& operator+=(const Held& other) noexcept {
    bytes += other.bytes;
    requested += other.requested;
    blocks += other.blocks;
    return *this;
  }
  bool operator==(const Held&) const = default;
};

struct Location {
  std::string file;
  std::string function;
  std::uint32_t line = 0;

  bool operator==(const Location&) const = default;
};

enum class Direction : std::uint8_t { forward, backward };

/// What one line made of one kind.
struct HeldItem {
  std::string operation;  ///< "" when unknown
  std::string layout;     ///< "(16, 512) float32", "" when unknown
  Direction direction = Direction::forward;
  std::optional<Location> called_at;  ///< of a backward item: the line that asked for the gradient
  Held held;
};

struct HeldName {
  std::string name;  ///< "" for none
  Held held;
  std::vector<HeldName> parts;  ///< of a label: the full labels it is the root of
};

struct HeldLine {
  std::optional<Location> line;       ///< none when no frame is the user's
  std::optional<Location> innermost;  ///< innermost frame of all, of most of the bytes
  std::optional<std::string> source;  ///< text of the line; none when unreadable or changed since
  Held held;
  std::vector<HeldItem> items;
  std::vector<HeldName> labels;
};

/// A frame with what it and what it called hold.
struct CallNode {
  Location frame;
  bool is_users = false;
  Held held;
  std::vector<CallNode> children;
};

/// Why a block is not attributed; the first that applies.
enum class Gap : std::uint8_t {
  before_recording,
  below_min_size,
  capped,  ///< something is missing and the tables have refused ids
  no_line,
  library_line_only,
  no_operation,
  no_layout,
};
STRANDLINE_API std::string_view gap_text(Gap gap) noexcept;

struct Unattributed {
  Gap gap = Gap::no_line;
  Held held;
};

/// Change of active bytes from the end of one phase to the end of a later one of the same name.
struct Growth {
  std::string phase;
  std::uint64_t steps = 0;
  std::int64_t bytes = 0;  ///< over all these steps
};

/// A fact about the record, with its number.
struct Note {
  std::string kind;
  std::uint64_t number = 0;
  std::string text;
};

struct PeakReport {
  RunInfo run;
  Held peak;
  std::uint64_t requested_peak = 0;     ///< the peak of requested bytes, maybe at another time
  std::optional<std::uint64_t> cached;  ///< at the peak; none when the ring has lost that moment
  std::string peak_phase;               ///< "step 171 / backward"; "" outside every phase
  std::int64_t peak_time_us = 0;
  std::int64_t start_time_us = 0;
  std::uint64_t end_active = 0;
  std::uint64_t events = 0;  ///< written, overwritten ones included
  std::uint64_t events_overwritten = 0;

  Held attributed;
  std::vector<Unattributed> unattributed;
  std::vector<HeldLine> by_line;  ///< largest first, like all below
  std::vector<HeldName> by_operation;
  std::vector<HeldName> by_label;   ///< by the part before the first dot
  std::vector<HeldName> by_phase;   ///< in which the block was allocated; numbers in names are #
  std::vector<CallNode> call_tree;  ///< outermost frames
  std::optional<Growth> growth;
  std::vector<Note> notes;
};

STRANDLINE_API PeakReport make_peak_report(const Snapshot& snapshot, RunInfo run = {},
                                           const ReportOptions& options = {});

}  // namespace strandline::snapshot
