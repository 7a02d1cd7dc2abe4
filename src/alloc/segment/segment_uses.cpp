// SPDX-License-Identifier: Apache-2.0
// Uses by other streams: said by record_stream, waited for after free. Ours are device events taken
// when the use is said; PyTorch takes them at free. The device is called without the lock; what was
// looked at is recognised by its sequence afterwards.
//
//   late: pending blocks whose events the device refused to record at free. They are tried again,
//   and their streams waited for when memory is short.
#include <cstdio>
#include <utility>

#include "alloc/segment/segment_core.h"
#include "strandline/core/error.h"

namespace strandline::alloc {

using device::EventStatus;

// -- saying a use ---------------------------------------------------------------------------------

void SegmentCore::record_stream(Buffer buffer, StreamId stream) {
  if (!buffer || !stream) return;
  check_stream("record_stream", stream);
  StreamUse* use = nullptr;
  {
    const StateGuard guard(lock_);
    const auto& block = static_cast<const SegmentBlock&>(known("record_stream", buffer));
    if (block.kind != BlockKind::slot || block.stream == stream) return;
    if (is_pytorch_ && UseQueues::find(block, stream) != nullptr) return;
    use = &uses_.make(stream);
  }
  try {
    if (!is_pytorch_) record_event(*use);
    note_use(buffer, *use);
  } catch (...) {
    const StateGuard guard(lock_);
    uses_.recycle(*use);
    throw;
  }
}

// The latest use of a stream covers those before it.
void SegmentCore::note_use(Buffer buffer, StreamUse& use) {
  const StateGuard guard(lock_);
  auto& block = static_cast<SegmentBlock&>(const_cast<Block&>(known("record_stream", buffer)));
  if (StreamUse* earlier = UseQueues::find(block, use.stream)) {
    UseQueues::detach(*earlier);
    uses_.recycle(*earlier);
  }
  use.sequence = ++use_clock_;
  UseQueues::attach(block, use);
  block.has_uses = true;
}

void SegmentCore::record_event(StreamUse& use) {
  if (!use.event) use.event = device_.streams().create_event();
  device_.streams().record(use.event, use.stream);
}

// -- free -----------------------------------------------------------------------------------------

void SegmentCore::do_defer(Block& block) noexcept {
  auto& freed = static_cast<SegmentBlock&>(block);
  end_allocated(freed);
  freed.pending = 0;
  for (const StreamUse* use = freed.uses; use != nullptr; use = use->next_of_block) {
    ++freed.pending;
  }
  if (!is_pytorch_) queue_uses(freed);
}

void SegmentCore::queue_uses(SegmentBlock& block) noexcept {
  for (StreamUse* use = block.uses; use != nullptr; use = use->next_of_block) {
    uses_.enqueue(*use);
  }
  attend(kUsesPending);
}

void SegmentCore::do_deferred(Block& block) noexcept {
  if (!is_pytorch_) return;
  auto& freed = static_cast<SegmentBlock&>(block);
  if (record_uses(freed)) return;
  const StateGuard guard(lock_);
  freed.left = late_;  // it is in no tree
  late_ = &freed;
  attend(kUsesPending);
}

// Nobody else looks at the uses of a block that is pending and in no queue.
bool SegmentCore::record_uses(SegmentBlock& block) noexcept {
  std::vector<StreamUse*> uses;
  try {
    uses = uses_.visit_uses(block);
    for (StreamUse* use : uses) record_event(*use);
  } catch (...) {
    return false;
  }
  const StateGuard guard(lock_);
  for (StreamUse* use : uses) {
    use->sequence = ++use_clock_;
    uses_.enqueue(*use);
  }
  attend(kUsesPending);
  return true;
}

void SegmentCore::record_late() noexcept {
  SegmentBlock* block = nullptr;
  {
    const StateGuard guard(lock_);
    block = std::exchange(late_, nullptr);
  }
  while (block != nullptr) {
    SegmentBlock* next = block->left;
    if (!record_uses(*block)) {
      const StateGuard guard(lock_);
      block->left = late_;
      late_ = block;
    }
    block = next;
  }
}

// -- done -----------------------------------------------------------------------------------------

bool SegmentCore::finish_use(StreamUse& use, Departures& out) noexcept {
  SegmentBlock& block = *use.block;
  if (use.is_queued) uses_.dequeue(use);
  UseQueues::detach(use);
  uses_.recycle(use);
  if (--block.pending > 0) return true;
  block.has_uses = false;
  end_pending(block);
  return complete(block, out);
}

// The use at the front of its queue has been found done; another thread may have been faster.
bool SegmentCore::finish_front(const StreamUse& use, std::uint64_t sequence) {
  Departures out;
  bool more = false;
  bool finished_block = false;
  {
    const StateGuard guard(lock_);
    StreamUse* front = use.queue->first;
    if (front != &use || front->sequence != sequence) return false;
    finished_block = front->block->pending == 1;
    more = !finish_use(*front, out);
    if (uses_.queued() == 0 && late_ == nullptr) cease(kUsesPending);
  }
  depart(out);
  if (more) trim_rest();
  return finished_block;
}

std::uint64_t SegmentCore::poll() {
  if (!attends(kUsesPending)) return 0;
  record_late();
  std::vector<UseQueue*> queues;
  {
    const StateGuard guard(lock_);
    queues = uses_.busy_queues();
  }
  std::uint64_t finished = 0;
  for (UseQueue* queue : queues) {
    for (;;) {
      const StreamUse* front = nullptr;
      std::uint64_t sequence = 0;
      device::DeviceEventId event;
      {
        const StateGuard guard(lock_);
        front = queue->first;
        if (front == nullptr) break;
        sequence = front->sequence;
        event = front->event;
      }
      if (device_.streams().query(event) != EventStatus::done &&
          !is_on(Fault::C07_frees_complete_before_their_uses)) {
        break;
      }
      if (finish_front(*front, sequence)) ++finished;
    }
  }
  return finished;
}

// -- waiting --------------------------------------------------------------------------------------

// Where the device records nothing, the whole stream is waited for.
void SegmentCore::wait_for_late() {
  record_late();
  for (;;) {
    SegmentBlock* block = nullptr;
    {
      const StateGuard guard(lock_);
      block = late_;
      if (block == nullptr) return;
      late_ = block->left;
    }
    try {
      for (const StreamUse* use = block->uses; use != nullptr; use = use->next_of_block) {
        device_.streams().wait(use->stream);
      }
    } catch (...) {
      const StateGuard guard(lock_);
      block->left = late_;
      late_ = block;
      throw;
    }
    Departures out;
    {
      const StateGuard guard(lock_);
      while (block->pending > 1) (void)finish_use(*block->uses, out);
      (void)finish_use(*block->uses, out);
    }
    depart(out);
  }
}

void SegmentCore::wait_for_uses(PoolId pool) {
  {
    const StateGuard guard(lock_);
    ++counted_.num_sync_all_streams;
  }
  if (!attends(kUsesPending)) return;
  wait_for_late();
  std::uint64_t covered = 0;  // by the wait: what is freed meanwhile is another's
  {
    const StateGuard guard(lock_);
    covered = use_clock_;
  }
  std::vector<UseQueue*> queues;
  {
    const StateGuard guard(lock_);
    queues = uses_.busy_queues();
  }
  for (const UseQueue* queue : queues) wait_for_queue(*queue, pool, covered);
}

void SegmentCore::wait_for_queue(const UseQueue& queue, PoolId pool, std::uint64_t latest) {
  for (;;) {
    StreamUse* use = nullptr;
    std::uint64_t sequence = 0;
    device::DeviceEventId event;
    {
      const StateGuard guard(lock_);
      use = queue.first;
      while (use != nullptr && pool && pool_of(*use->block) != pool) use = use->next;
      if (use == nullptr || use->sequence > latest) return;
      sequence = use->sequence;
      event = use->event;
    }
    device_.streams().wait(event);
    Departures out;
    bool more = false;
    {
      const StateGuard guard(lock_);
      if (use->sequence == sequence && use->is_queued) more = !finish_use(*use, out);
      if (uses_.queued() == 0 && late_ == nullptr) cease(kUsesPending);
    }
    depart(out);
    if (more) trim_rest();
  }
}

bool SegmentCore::wait_for_oldest() {
  const StreamUse* oldest = nullptr;
  std::uint64_t sequence = 0;
  device::DeviceEventId event;
  {
    const StateGuard guard(lock_);
    for (const auto& [stream, queue] : uses_.queues()) {
      const StreamUse* front = queue.first;
      if (front != nullptr && (oldest == nullptr || front->sequence < oldest->sequence)) {
        oldest = front;
      }
    }
    if (oldest == nullptr) return false;
    sequence = oldest->sequence;
    event = oldest->event;
    ++counted_.num_event_waits;
  }
  device_.streams().wait(event);
  (void)finish_front(*oldest, sequence);
  return true;
}

void SegmentCore::do_before_empty() noexcept {
  try {
    wait_for_uses({});
  } catch (const std::exception& error) {  // what is not done stays pending
    std::fprintf(stderr, "strandline: SegmentAllocator: emptying the cache without waiting: %s\n",
                 error.what());
  }
}

}  // namespace strandline::alloc
