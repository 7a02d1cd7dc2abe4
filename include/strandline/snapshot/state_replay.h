// SPDX-License-Identifier: Apache-2.0
// Segments and blocks of one device at any moment of its trace: the state before the trace is
// worked out from the state at its end, then the events are applied in turn. Slices, fragmentation
// and the explanation of an out-of-memory stand on it.
//
//   segment = blocks that are handed out or pending, and holes: the gaps between them
//   reserved = live + free;  live = Σ size of blocks inside;  free = Σ size of holes
//
// A trace tells what was requested, not what a block took. Taken is: the file's own size where the
// block lives to the end; else what PyTorch's rules give, which round the request (512 bytes, or
// roundup_power2_divisions) and leave a hole whole where the rest of it is too small to split off.
// An event O(log live); a plain value that is stepped by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "strandline/core/export.h"
#include "strandline/core/flat_map.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {

/// Segments that serve the same requests: a hole of another class is no use to one of this.
struct PlaceClass {
  StreamId stream{};
  PoolId pool{};
  bool is_small = false;  ///< the pool of requests up to 1 MiB

  auto operator<=>(const PlaceClass&) const = default;
};

struct ReplaySegment {
  std::uint64_t size = 0;
  PlaceClass place{};
  StackId stack{};
  bool is_expandable = false;
};

struct ReplayBlock {
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  std::uint64_t event = 0;       ///< row of the alloc plus one; 0: from before the trace
  std::uint32_t file_block = 0;  ///< row in the file's blocks plus one, if it lives to the end
  record::BlockUse use = record::BlockUse::allocated;
  bool inside = false;  ///< of a segment
};

/// Sizes of holes, and how many there are of each.
struct HoleSizes {
  std::map<std::uint64_t, std::uint64_t> counts;
  std::uint64_t bytes = 0;

  std::uint64_t largest() const noexcept { return counts.empty() ? 0 : counts.rbegin()->first; }
};

struct StateTotals {
  std::uint64_t reserved = 0;
  std::uint64_t live = 0;       ///< bytes taken by blocks inside of segments
  std::uint64_t outside = 0;    ///< bytes requested by blocks in no known segment
  std::uint64_t requested = 0;  ///< by all blocks
  std::uint64_t free = 0;
  std::uint64_t holes = 0;
  std::uint64_t largest_hole = 0;
};

/// What could not be reconciled; zeros for a trace and a state that agree.
struct ReplayFacts {
  std::uint64_t lost_blocks = 0;        ///< dropped: their place was handed out or returned
  std::uint64_t unknown_frees = 0;      ///< of nothing that was live
  std::uint64_t segment_conflicts = 0;  ///< obtained over one that was there, returned without one
};

/// How PyTorch's allocator rounds and splits, as far as `allocator_settings` tell.
class STRANDLINE_API SizeRules {
 public:
  SizeRules() = default;
  /// From the JSON of `allocator_settings`; what it lacks has PyTorch's default.
  explicit SizeRules(const std::string& settings);

  std::uint64_t rounded(std::uint64_t requested) const noexcept;
  /// What a block takes of a hole of `room` bytes that starts at it.
  std::uint64_t taken(std::uint64_t requested, std::uint64_t room,
                      const ReplaySegment& segment) const noexcept;
  /// What is asked of the device for a request of so many rounded bytes.
  static std::uint64_t segment_bytes(std::uint64_t rounded) noexcept;
  static bool is_small(std::uint64_t rounded) noexcept;

 private:
  std::map<std::uint64_t, std::uint64_t> divisions_;  // from this size on -> parts of a power of 2
  std::uint64_t max_split_ = UINT64_MAX;
  bool expandable_ = false;
};

class STRANDLINE_API StateReplay {
 public:
  /// At the state before the first event. `file` must outlive it.
  StateReplay(const SnapshotFile& file, std::uint8_t device);

  RowRange trace() const noexcept { return trace_; }
  /// Events applied so far.
  std::uint64_t position() const noexcept { return position_; }
  /// Applies the next event; nothing after the last.
  void step();
  /// Applies events until `position() == events`, at most all of them.
  void advance_to(std::uint64_t events);

  const std::map<std::uint64_t, ReplaySegment>& segments() const noexcept { return segments_; }
  const std::map<std::uint64_t, ReplayBlock>& blocks() const noexcept { return blocks_; }
  const std::map<std::uint64_t, std::uint64_t>& holes() const noexcept { return holes_; }
  const std::map<PlaceClass, HoleSizes>& hole_sizes() const noexcept { return hole_sizes_; }
  const SizeRules& rules() const noexcept { return rules_; }
  const ReplayFacts& facts() const noexcept { return facts_; }
  StateTotals totals() const noexcept;

  /// A block as a row of the file's tables.
  BlockRow row_of(std::uint64_t address, const ReplayBlock& block) const;

 private:
  using Segments = std::map<std::uint64_t, ReplaySegment>;
  using Blocks = std::map<std::uint64_t, ReplayBlock>;

  void find_blocks_before();
  void find_segments_before();
  void apply(std::size_t row);
  void add_span(std::size_t row);

  Segments::iterator segment_at(std::uint64_t address);
  void add_segment(std::uint64_t address, ReplaySegment segment);
  void remove_span(std::uint64_t address, std::uint64_t size);
  void free_between_blocks(std::uint64_t begin, std::uint64_t end);
  void add_hole(std::uint64_t address, std::uint64_t size);
  void erase_hole(std::map<std::uint64_t, std::uint64_t>::iterator hole);
  void put_hole(std::uint64_t address, std::uint64_t size);
  void take(std::uint64_t address, std::uint64_t size);

  void add_block(std::uint64_t address, ReplayBlock block, std::uint64_t known_size);
  void make_room(std::uint64_t address, std::uint64_t requested);
  void drop_block(Blocks::iterator block);
  void free_block(std::uint64_t address);

  const SnapshotFile& file_;
  std::uint8_t device_;
  RowRange trace_;
  SizeRules rules_;
  std::uint64_t position_ = 0;
  FlatMap<std::uint32_t> kept_;  // row of an alloc plus one -> file's block plus one
  Segments at_end_;
  Segments segments_;
  Blocks blocks_;
  std::map<std::uint64_t, std::uint64_t> holes_;  // by address
  std::map<PlaceClass, HoleSizes> hole_sizes_;
  std::map<std::uint64_t, std::uint64_t> all_holes_;  // size -> count
  StateTotals totals_;
  ReplayFacts facts_;
};

}  // namespace strandline::snapshot
