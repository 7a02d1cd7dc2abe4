// SPDX-License-Identifier: Apache-2.0
#include "cached_buffers.h"

#include <algorithm>
#include <utility>

namespace strandline::mlx_adapter {

void CachedBuffers::shrink_to(std::uint64_t total, std::vector<CachedBuffer>& evicted) {
  // MLX drops everything at once when nine tenths or more have to go.
  const bool all = total == 0 || (total_ - total) >= total_ / 10 * 9 + total_ % 10 * 9 / 10;
  for (const CachedBuffer& buffer : buffers()) {
    if (total_ <= (all ? 0 : total)) break;
    evicted.push_back(buffer);
    take(buffer.address);
  }
}

std::vector<CachedBuffer> CachedBuffers::buffers() const {
  std::vector<std::pair<std::uint64_t, CachedBuffer>> ordered;
  ordered.reserve(count_);
  by_address_.for_each([&](std::uint64_t address, const Listed& listed) {
    if (listed.order != 0) ordered.push_back({listed.order, {address, listed.size}});
  });
  std::ranges::sort(ordered, {}, &std::pair<std::uint64_t, CachedBuffer>::first);
  std::vector<CachedBuffer> buffers;
  buffers.reserve(ordered.size());
  for (const auto& [order, buffer] : ordered) buffers.push_back(buffer);
  return buffers;
}

void CachedBuffers::forget_handed_out() {
  std::vector<std::uint64_t> addresses;
  by_address_.for_each([&](std::uint64_t address, const Listed& listed) {
    if (listed.order == 0) addresses.push_back(address);
  });
  for (const std::uint64_t address : addresses) by_address_.erase(address);
}

}  // namespace strandline::mlx_adapter
