// SPDX-License-Identifier: Apache-2.0
// Which buffers are wired (kept resident) under a limit: Metal's residency sets as a policy on
// handles and sizes. It decides; the caller tells the device. Not synchronised.
//
//   wired    counts against the limit, lies in one of the sets
//   waiting  known, not wired: it did not fit when it came, or the limit fell
//
// A buffer that comes is wired when it fits what is left of the limit. One that leaves promotes
// nobody; a raised limit does, the oldest first, each that fits. A lowered limit unwires the
// newest first until what is wired fits: what came first, such as weights, stays longest.
//
// Sets exist since drivers get slow with large ones: each takes up to `max_set_bytes`, the first
// with room is used, a larger buffer gets an empty or a new set, and with no set left the emptiest
// takes what does not fit. An emptied set is used again.
//
//   invariants: wired bytes = Σ size of wired <= limit; a set's bytes = Σ size of its buffers;
//               every known buffer is in exactly one of the two places; sets <= max_sets
//
// insert and erase cost O(log n) and at most max_sets comparisons.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/flat_map.h"

namespace strandline::alloc {

struct ResidencyOptions {
  std::uint64_t limit_bytes = 0;    ///< 0: nothing is wired
  std::uint64_t max_set_bytes = 0;  ///< 0: one set takes all
  std::size_t max_sets = 32;        ///< > 0
};

class STRANDLINE_API ResidencySet {
 public:
  enum class Place : std::uint8_t { wired, waiting };
  /// What the caller has to tell the device: wire it, or end its residency.
  struct Change {
    std::uint64_t handle = 0;
    Place place = Place::waiting;

    bool operator==(const Change&) const = default;
  };
  struct Set {
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;

    bool operator==(const Set&) const = default;
  };

  /// A set's cap as Metal programs choose it: `percent` of the working set, at least 64 MiB; 0 (one
  /// set) when percent is outside 1 to 99.
  [[nodiscard]] static std::uint64_t set_cap(std::uint64_t working_set_bytes,
                                             std::int64_t percent = 5) noexcept;

  explicit ResidencySet(const ResidencyOptions& options = {});

  /// Adds a buffer. InvalidArgument when handle or size is 0 or the handle is known; that and
  /// bad_alloc leave all as it was.
  Place insert(std::uint64_t handle, std::uint64_t size);
  /// Forgets a buffer and says where it was; nothing when it is unknown.
  std::optional<Place> erase(std::uint64_t handle) noexcept;
  /// The device refused to wire it: it waits, until a limit rises. False unless it was wired.
  bool refuse(std::uint64_t handle) noexcept;
  /// Moves the limit, and what it wires or unwires, in that order.
  std::vector<Change> set_limit(std::uint64_t bytes);
  /// Counts for what is wired from now on.
  void set_max_set_bytes(std::uint64_t bytes) noexcept { options_.max_set_bytes = bytes; }

  [[nodiscard]] std::optional<Place> place_of(std::uint64_t handle) const noexcept;
  /// Index into sets() of a wired buffer.
  [[nodiscard]] std::optional<std::size_t> set_of(std::uint64_t handle) const noexcept;

  [[nodiscard]] std::uint64_t limit() const noexcept { return options_.limit_bytes; }
  [[nodiscard]] std::uint64_t wired_bytes() const noexcept { return wired_bytes_; }
  [[nodiscard]] std::uint64_t waiting_bytes() const noexcept { return waiting_bytes_; }
  [[nodiscard]] std::size_t wired_count() const noexcept { return wired_.size(); }
  [[nodiscard]] std::size_t waiting_count() const noexcept { return waiting_.size(); }
  /// Every set that was ever needed, emptied ones included.
  [[nodiscard]] const std::vector<Set>& sets() const noexcept { return sets_; }

  /// Checks the invariants above; throws InternalError naming the first that does not hold. O(n).
  void validate() const;

 private:
  struct Entry {
    std::uint64_t handle = 0;
    std::uint64_t size = 0;
    std::size_t set = 0;  // while wired
  };
  using ByAge = std::map<std::uint64_t, Entry>;  // key: the order in which buffers came

  bool fits(std::uint64_t size) const noexcept {
    return wired_bytes_ <= options_.limit_bytes && size <= options_.limit_bytes - wired_bytes_;
  }
  std::size_t choose_set(std::uint64_t size) noexcept;
  void wire(ByAge::node_type&& node) noexcept;
  void unwire(ByAge::node_type&& node) noexcept;
  void promote(std::vector<Change>& changes) noexcept;
  void validate_sets() const;

  ResidencyOptions options_;
  std::uint64_t age_ = 0;
  std::uint64_t wired_bytes_ = 0;
  std::uint64_t waiting_bytes_ = 0;
  FlatMap<std::uint64_t> ages_;  // by handle
  ByAge wired_;
  ByAge waiting_;
  std::vector<Set> sets_;
};

}  // namespace strandline::alloc
