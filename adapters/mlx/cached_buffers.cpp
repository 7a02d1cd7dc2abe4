// SPDX-License-Identifier: Apache-2.0
#include "cached_buffers.h"

namespace strandline::mlx_adapter {

void CachedBuffers::put(std::uint64_t address, std::uint64_t size) {
  Index at = 0;
  if (free_nodes_.empty()) {
    at = static_cast<Index>(nodes_.size());
    nodes_.emplace_back();
    free_nodes_.reserve(nodes_.capacity());
  } else {
    at = free_nodes_.back();
    free_nodes_.pop_back();
  }
  nodes_[at] = {.buffer = {address, size}, .older = newest_, .newer = kNone};
  (newest_ == kNone ? oldest_ : nodes_[newest_].newer) = at;
  newest_ = at;
  by_address_[address] = at;
  total_ += size;
}

bool CachedBuffers::take(std::uint64_t address) noexcept {
  const Index* found = by_address_.find(address);
  if (found == nullptr) return false;
  const Index at = *found;
  by_address_.erase_found(found);
  unlink(at);
  return true;
}

void CachedBuffers::shrink_to(std::uint64_t total, std::vector<CachedBuffer>& evicted) {
  // MLX drops everything at once when nine tenths or more have to go.
  const bool all = total == 0 || (total_ - total) >= total_ / 10 * 9 + total_ % 10 * 9 / 10;
  while (oldest_ != kNone && total_ > (all ? 0 : total)) {
    const CachedBuffer oldest = nodes_[oldest_].buffer;
    evicted.push_back(oldest);
    by_address_.erase(oldest.address);
    unlink(oldest_);
  }
}

std::vector<CachedBuffer> CachedBuffers::buffers() const {
  std::vector<CachedBuffer> buffers;
  for (Index at = oldest_; at != kNone; at = nodes_[at].newer) buffers.push_back(nodes_[at].buffer);
  return buffers;
}

void CachedBuffers::unlink(Index at) noexcept {
  const Node& node = nodes_[at];
  (node.older == kNone ? oldest_ : nodes_[node.older].newer) = node.newer;
  (node.newer == kNone ? newest_ : nodes_[node.newer].older) = node.older;
  total_ -= node.buffer.size;
  free_nodes_.push_back(at);
}

}  // namespace strandline::mlx_adapter
