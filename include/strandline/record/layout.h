// SPDX-License-Identifier: Apache-2.0
// Layout: shape and dtype of an array, interned to 32 bits. Any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/flat_map.h"
#include "strandline/core/ids.h"
#include "strandline/core/mutex.h"

namespace strandline::record {

enum class Dtype : std::uint8_t {
  unknown,
  bool_,
  uint8,
  uint16,
  uint32,
  uint64,
  int8,
  int16,
  int32,
  int64,
  float16,
  bfloat16,
  float32,
  float64,
  complex64,
  complex128,
};

/// "float32", "bool", …; "unknown" for `Dtype::unknown`.
STRANDLINE_API std::string_view dtype_name(Dtype dtype) noexcept;
/// Bytes of one element; 0 for `Dtype::unknown`.
STRANDLINE_API std::uint32_t dtype_size_bytes(Dtype dtype) noexcept;

struct Layout {
  std::vector<std::int64_t> shape;
  Dtype dtype = Dtype::unknown;

  bool operator==(const Layout&) const = default;
};

/// "(16, 512) float32"; "() float32" for a scalar.
STRANDLINE_API std::string layout_text(const Layout& layout);

/// Numbers are never given twice, also not after `clear`; a stale id reads as an empty layout.
class STRANDLINE_API LayoutTable {
 public:
  explicit LayoutTable(std::uint64_t cap_bytes) : cap_bytes_(cap_bytes) {}

  /// 0 past the cap. Throws std::bad_alloc only. A hit allocates nothing.
  LayoutId intern(std::span<const std::int64_t> shape, Dtype dtype) STRANDLINE_EXCLUDES(mutex_);
  Layout layout(LayoutId id) const STRANDLINE_EXCLUDES(mutex_);
  std::uint64_t memory_bytes() const STRANDLINE_EXCLUDES(mutex_);
  std::uint64_t refused() const STRANDLINE_EXCLUDES(mutex_);
  void clear() STRANDLINE_EXCLUDES(mutex_);
  /// Held around a fork, so that the child gets a whole table and a free lock.
  void lock_for_fork() noexcept STRANDLINE_NO_LOCK_ANALYSIS { mutex_.lock(); }
  void unlock_after_fork() noexcept STRANDLINE_NO_LOCK_ANALYSIS { mutex_.unlock(); }

 private:
  struct Entry {
    std::uint32_t first_dimension = 0;  // into dimensions_
    std::uint32_t next = 0;             // index + 1 of the next entry with the same hash
    std::uint16_t rank = 0;
    Dtype dtype = Dtype::unknown;
  };
  bool entry_equals(const Entry& entry, std::span<const std::int64_t> shape, Dtype dtype) const
      STRANDLINE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  const std::uint64_t cap_bytes_;
  std::vector<Entry> entries_ STRANDLINE_GUARDED_BY(mutex_);
  std::vector<std::int64_t> dimensions_ STRANDLINE_GUARDED_BY(mutex_);
  FlatMap<std::uint32_t> heads_ STRANDLINE_GUARDED_BY(mutex_);  // hash -> index + 1
  std::uint32_t first_ STRANDLINE_GUARDED_BY(mutex_) = 1;
  std::uint64_t refused_ STRANDLINE_GUARDED_BY(mutex_) = 0;
};

}  // namespace strandline::record
