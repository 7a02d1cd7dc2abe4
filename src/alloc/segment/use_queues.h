// SPDX-License-Identifier: Apache-2.0
// Uses of blocks by other streams than their own, and the queues of those that freed blocks wait
// for. A use is a device event on the stream; uses of one stream are reached in the order they were
// recorded, so each queue is looked at from its front.
//
//   record_stream ──▶ attached to its block ──free──▶ in the queue of its stream ──done──▶ unused
//
// Nodes and queues are made when a use is said, so that free and completion allocate nothing. A
// node keeps its device event for the next use. Not synchronised; the device is called by others.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "alloc/segment/segment_block.h"
#include "alloc/segment/visit_order.h"
#include "strandline/device/types.h"

namespace strandline::alloc {

struct UseQueue;

struct StreamUse {
  StreamId stream;
  device::DeviceEventId event;
  std::uint64_t sequence = 0;  ///< grows with every record; 0: not recorded
  SegmentBlock* block = nullptr;
  UseQueue* queue = nullptr;           ///< of its stream
  StreamUse* next_of_block = nullptr;  ///< by stream; while unused: the list of those
  StreamUse* previous = nullptr;       ///< in the queue
  StreamUse* next = nullptr;
  bool is_queued = false;
};

struct UseQueue {
  StreamId stream;
  StreamUse* first = nullptr;
  StreamUse* last = nullptr;
};

class UseQueues {
 public:
  UseQueues() = default;
  UseQueues(const UseQueues&) = delete;
  UseQueues& operator=(const UseQueues&) = delete;

  /// A node for a use of `stream`, attached to nothing; bad_alloc leaves everything as it was.
  StreamUse& make(StreamId stream);
  void recycle(StreamUse& use) noexcept;

  static StreamUse* find(const SegmentBlock& block, StreamId stream) noexcept;
  /// By stream. The block has none of this stream.
  static void attach(SegmentBlock& block, StreamUse& use) noexcept;
  static void detach(StreamUse& use) noexcept;

  /// Into the queue of its stream, by sequence.
  void enqueue(StreamUse& use) noexcept;
  void dequeue(StreamUse& use) noexcept;
  /// Uses in queues.
  std::uint64_t queued() const noexcept { return queued_; }
  /// By stream.
  std::map<StreamId, UseQueue>& queues() noexcept { return queues_; }
  /// Those that hold uses, in the order they are visited.
  std::vector<UseQueue*> busy_queues();
  /// The uses of a block in that order, where each was said at its sequence; bad_alloc.
  std::vector<StreamUse*> visit_uses(const SegmentBlock& block) const;
  /// Visits streams as PyTorch does, whose default stream `first_stream` is; else by number.
  void follow_visit_order(StreamId first_stream) { first_stream_ = first_stream; }

  template <typename Visit>
  void for_each_node(Visit&& visit) {
    for (StreamUse& use : nodes_) visit(use);
  }

 private:
  std::deque<StreamUse> nodes_;
  StreamUse* unused_ = nullptr;
  std::map<StreamId, UseQueue> queues_;
  std::uint64_t queued_ = 0;
  std::optional<StreamId> first_stream_{};  // none: the order is not PyTorch's
  VisitOrder order_{VisitOrder::stream_hash};
};

}  // namespace strandline::alloc
