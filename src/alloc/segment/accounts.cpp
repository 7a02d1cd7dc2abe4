// SPDX-License-Identifier: Apache-2.0
// What is derived when statistics are asked for.
#include "alloc/segment/accounts.h"

namespace strandline::alloc {

StatByPool Accounts::stat(Count what) const noexcept {
  const auto i = static_cast<std::size_t>(what);
  const auto of = [&](Pool pool) {
    const std::uint64_t freed = added_[pool][i] - current_[pool][i];
    return Stat{.current = static_cast<std::int64_t>(current_[pool][i]),
                .peak = static_cast<std::int64_t>(peak_[pool][i]),
                .allocated = static_cast<std::int64_t>(added_[pool][i] - added_then_[pool][i]),
                .freed = static_cast<std::int64_t>(freed - freed_then_[pool][i])};
  };
  const Stat in_small = of(small);
  const Stat in_large = of(large);
  return {.all = {.current = in_small.current + in_large.current,
                  .peak = static_cast<std::int64_t>(peak_[kAll][i]),
                  .allocated = in_small.allocated + in_large.allocated,
                  .freed = in_small.freed + in_large.freed},
          .small_pool = in_small,
          .large_pool = in_large};
}

void Accounts::reset_peaks() noexcept {
  for (std::size_t i = 0; i < kCounts; ++i) {
    peak_[small][i] = current_[small][i];
    peak_[large][i] = current_[large][i];
    peak_[kAll][i] = current_[small][i] + current_[large][i];
  }
}

void Accounts::reset_added() noexcept {
  added_then_ = added_;
  for (const Pool pool : {small, large}) {
    for (std::size_t i = 0; i < kCounts; ++i) {
      freed_then_[pool][i] = added_[pool][i] - current_[pool][i];
    }
  }
}

}  // namespace strandline::alloc
