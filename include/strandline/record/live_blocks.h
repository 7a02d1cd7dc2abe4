// SPDX-License-Identifier: Apache-2.0
// The table of live blocks: what is handed out now, to whom each block is charged, and which blocks
// were live at the peak. Not synchronised; the recorder's lock guards it.
//
// A block's sharers are the arrays bound to it as owners or views, in the order they came. The
// holder, to whom the block is charged, is the oldest living sharer; with none left the last stays.
//
//   active = Σ size, requested = Σ requested, over live blocks
//   addresses and arrays mostly come back: what is gone keeps its entry, which is vacant, until
//   there are more vacant than live ones and more than kMostVacant listed addresses = live + vacant
//   entries; listed arrays = sharers bound + vacant peak set = blocks added up to the peak and live
//   then:
//              the live ones whose holder has not changed since + `departed`, kept as they were
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/flat_map.h"
#include "strandline/core/ids.h"
#include "strandline/record/event.h"

namespace strandline::record {

/// Whom a block is charged to.
struct Holder {
  TracebackId traceback{};
  OpId op{};
  LayoutId layout{};
  LabelId label{};
  std::uint64_t view_bytes = 0;
  std::uint64_t view_offset = 0;  ///< bytes from the start of the block

  bool operator==(const Holder&) const = default;
};

/// A block as recorded.
struct LiveBlock {
  std::uint64_t address = 0;
  std::uint64_t size = 0;  ///< capacity
  std::uint64_t requested = 0;
  std::uint64_t alloc_ticks = 0;
  std::uint64_t alloc_sequence = 0;  ///< of the event that began it; 0: from before recording
  Holder holder{};
  OwnerId owner{};
  StreamId stream{};
  PoolId pool{};
  std::uint16_t thread = 0;
  std::uint8_t device = 0;
  Action action = Action::none;  ///< that began it; none when it was noted while off
  bool hidden = false;           ///< below `min_size`: in the segments, not in the events

  bool operator==(const LiveBlock&) const = default;
};

/// Two peaks are kept side by side.
enum class Measure : std::uint8_t { capacity, requested };
inline constexpr std::size_t kMeasureCount = 2;

struct Peak {
  std::uint64_t bytes = 0;
  std::uint64_t sequence = 0;  ///< of the event that reached it
  std::uint64_t ticks = 0;
  std::optional<std::uint64_t>
      cached{};  ///< bytes kept for reuse at that moment, where it is known
};

class STRANDLINE_API LiveBlocks {
 public:
  enum class Bound : std::uint8_t {
    unknown_block,
    first_sharer,  ///< the first ever: what it knows counts for the whole life, see amend_holder
    next_holder,   ///< the first after all others left: it holds the block from now on
    further_sharer,
    already_bound,
    elsewhere,  ///< a sharer of another block, which it must leave first; nothing was changed
  };
  /// What came of a binding; `block` is the one at the address, null when it is unknown.
  struct Binding {
    Bound bound = Bound::unknown_block;
    const LiveBlock* block = nullptr;
  };

  /// Adds a block and its bytes; the caller fills in what else is known of it, but for these three.
  /// A block already open at this address is dropped and counted. The reference lasts until the
  /// next block is added.
  LiveBlock& open(std::uint64_t address, std::uint64_t size, std::uint64_t requested);
  void add(const LiveBlock& block) { open(block.address, block.size, block.requested) = block; }
  /// Whether the sums now exceed a peak; stores it and forgets the departed of the old one.
  void update_peaks(std::uint64_t sequence, std::uint64_t ticks) noexcept;
  /// Removes the block at `address`; null when there is none. What it was can be read until the
  /// next block is added.
  const LiveBlock* remove(std::uint64_t address);

  const LiveBlock* find(std::uint64_t address) const noexcept;

  /// Where a block is kept, which says it faster than its address while it is live.
  using Place = std::uint32_t;
  Place place_of(const LiveBlock& block) const noexcept {
    return static_cast<Place>(reinterpret_cast<const Entry*>(&block) - entries_.data());
  }

  /// `array` becomes a sharer of the block at `address`, which may be the one kept at `place`.
  Binding try_bind(std::uint64_t address, ArrayKey array, const Holder& holder, Place place = 0);
  /// The same; from another block it moves there.
  Bound bind(std::uint64_t address, ArrayKey array, const Holder& holder);
  /// `array` is no longer a sharer. The block whose holder changed by that, or null.
  const LiveBlock* leave(ArrayKey array);
  /// Replaces what is known of the holder (first binding, later label) without a change of holder:
  /// counts for the block's whole life, also in the peak sets.
  void amend_holder(std::uint64_t address, const Holder& holder) noexcept;
  /// The same for a block that `find` or `try_bind` has just given.
  void amend_holder(const LiveBlock& block, const Holder& holder) noexcept;
  /// The label counts for the block's whole life, also in the peak sets. Null when unknown.
  const LiveBlock* set_label(std::uint64_t address, LabelId label) noexcept;
  /// The block `array` is bound to, or null.
  const LiveBlock* block_of(ArrayKey array) const noexcept;
  /// Labels the sharer itself, so that it keeps the label when it becomes holder.
  void set_sharer_label(ArrayKey array, LabelId label) noexcept;

  std::uint64_t active(Measure measure) const noexcept { return sums_[index(measure)]; }
  Peak peak(Measure measure) const noexcept { return peaks_[index(measure)].peak; }
  /// Bytes that whole-buffer allocators keep for reuse, beside the live ones.
  std::uint64_t cached() const noexcept { return cached_; }
  void add_cached(std::uint64_t bytes) noexcept { cached_ += bytes; }
  void drop_cached(std::uint64_t bytes) noexcept { cached_ -= std::min(bytes, cached_); }

  /// The peak becomes what is live now.
  void reset_peaks(std::uint64_t sequence, std::uint64_t ticks);

  std::size_t count() const noexcept { return live_count_; }
  std::vector<LiveBlock> blocks() const;                   ///< by address
  std::vector<LiveBlock> peak_set(Measure measure) const;  ///< by address
  std::uint64_t double_allocs() const noexcept { return double_allocs_; }
  void forget_counts() noexcept { double_allocs_ = 0; }
  std::uint64_t memory_bytes() const noexcept;

  /// All ids of live and departed blocks become none: their tables have been emptied.
  void forget_ids() noexcept;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = UINT32_MAX;
  static constexpr Index kNever = UINT32_MAX - 1;
  static constexpr std::size_t kMostVacant = 1024;

  // Two cache lines.
  struct alignas(64) Entry {
    LiveBlock block;          // its address is listed, unless it is 0
    std::uint64_t order = 0;  // blocks added up to and including this one; 0: not live
    Index first_sharer = kNone;
    Index last_sharer = kNever;                             // kNone: there was one
    std::array<std::uint32_t, kMeasureCount> kept_epoch{};  // peak epoch in which a copy departed
    std::array<Index, kMeasureCount> kept_at{};             // its index in `departed`
  };
  static_assert(sizeof(Entry) == 128);
  struct Sharer {
    ArrayKey array{};  // it is listed, unless it is none
    Holder holder{};
    Index block = kNone;  // of entries_; kNone: vacant
    Index previous = kNone;
    Index next = kNone;
  };
  struct PeakState {
    Peak peak;
    std::uint64_t order = 0;  // blocks added up to the peak
    std::uint32_t epoch = 1;  // grows with every new peak
    std::vector<LiveBlock> departed;
  };

  static constexpr std::size_t index(Measure measure) noexcept {
    return static_cast<std::size_t>(measure);
  }
  Entry& entry_of(const LiveBlock& block) noexcept {
    return const_cast<Entry&>(reinterpret_cast<const Entry&>(block));  // its first member
  }
  Entry* live_at(std::uint64_t address) noexcept;
  const Sharer* sharer_of(ArrayKey array) const noexcept;
  void drop_double(std::uint64_t address);
  void make_free_entry();
  void make_free_sharer();
  Binding bind_here(Entry& entry, ArrayKey array, const Holder& holder);
  bool is_in_peak(const Entry& entry, std::size_t measure) const noexcept;
  void keep_for_peaks(Entry& entry);
  void keep_for_peak(Entry& entry, std::size_t measure);
  void set_peak(std::size_t measure, std::uint64_t sequence, std::uint64_t ticks) noexcept;
  void link(Index sharer, Index block) noexcept;
  void unlink(Index sharer) noexcept;
  template <typename Amend>
  void amend(Entry& entry, Amend&& amend_block) noexcept;

  FlatMap<Index> by_address_;
  std::vector<Entry> entries_;
  std::vector<Index> free_entries_;
  std::size_t live_count_ = 0;
  FlatMap<Index> by_array_;
  std::vector<Sharer> sharers_;
  std::vector<Index> free_sharers_;
  std::size_t bound_count_ = 0;
  std::array<std::uint64_t, kMeasureCount> sums_{};
  std::array<PeakState, kMeasureCount> peaks_;
  std::uint64_t cached_ = 0;
  std::uint64_t order_ = 0;
  std::uint64_t double_allocs_ = 0;
};

}  // namespace strandline::record
