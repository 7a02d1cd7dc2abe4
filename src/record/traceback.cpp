// SPDX-License-Identifier: Apache-2.0
// The traceback table. Readers of the fingerprint table take no lock: a slot's id is published
// last, and a table that has been outgrown or cleared stays until the process ends, since a reader
// may still be in it (their sizes double, so all of them together are no larger than twice the
// last). A reader that races with `clear` may get an id from before it, which reads as "none".
#include "strandline/record/traceback.h"

#include <algorithm>

namespace strandline::record {
namespace {

constexpr std::size_t kFirstSlots = 4096;
constexpr std::uint32_t kNoParent = 0;

constexpr std::uint64_t key_of(std::uint32_t first, std::uint32_t second) noexcept {
  return (static_cast<std::uint64_t>(first) << 32 | second) + 1;
}

void leave_out_middle(std::vector<RawFrame>& frames) {
  const auto outermost = frames.end() - static_cast<std::ptrdiff_t>(kOuterFrames);
  frames[kInnerFrames] = {.code = 0, .offset = 0, .source = kGapSource};
  frames.erase(frames.begin() + static_cast<std::ptrdiff_t>(kInnerFrames) + 1, outermost);
}

}  // namespace

TracebackTable::TracebackTable(std::uint64_t cap_bytes) : cap_bytes_(cap_bytes) {
  levels_.push_back(std::make_unique<Slots>(kFirstSlots));
  slots_.store(levels_.back().get(), std::memory_order_release);
}

TracebackTable::~TracebackTable() = default;

TracebackId TracebackTable::find(const Fingerprint& fingerprint) const noexcept {
  const std::vector<Slot>& slots = slots_.load(std::memory_order_acquire)->slots;
  const std::size_t mask = slots.size() - 1;
  for (std::size_t i = fingerprint.low & mask;; i = (i + 1) & mask) {
    const std::uint32_t id = slots[i].id.load(std::memory_order_acquire);
    if (id == 0) return {};
    if (slots[i].low.load(std::memory_order_relaxed) == fingerprint.low &&
        slots[i].high.load(std::memory_order_relaxed) == fingerprint.high) {
      return {id};
    }
  }
}

TracebackId TracebackTable::insert(const Fingerprint& fingerprint,
                                   std::span<const RawFrame> innermost_first, bool truncated) {
  if (innermost_first.empty()) return {};
  const LockGuard guard(mutex_);
  return insert_unlocked(fingerprint, innermost_first, truncated);
}

TracebackId TracebackTable::insert_unlocked(const Fingerprint& fingerprint,
                                            std::span<const RawFrame> frames, bool truncated) {
  // Another thread may have entered it since the caller looked.
  if (const TracebackId known = find(fingerprint)) return known;
  if (is_full()) {
    ++refused_;
    return {};
  }
  std::uint32_t parent = kNoParent;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    parent = child(parent, frame_index(*frame));
  }
  if (truncated) {
    ++truncated_count_;
    parent = append({.first = parent, .second = 0, .kind = Kind::truncated_stack});
  }
  publish(fingerprint, {parent});
  return {parent};
}

TracebackId TracebackTable::pair(TracebackId calling, TracebackId forward) {
  if (!forward) return calling;
  const LockGuard guard(mutex_);
  if (const Node* outer = node(calling); outer != nullptr && outer->kind == Kind::pair) {
    calling = {outer->first};
  }
  if (const Node* inner = node(forward); inner != nullptr && inner->kind == Kind::pair) {
    forward = {inner->first};
  }
  const std::uint64_t key = key_of(calling.value, forward.value);
  if (const std::uint32_t* known = pairs_.find(key)) return {*known};
  if (is_full()) {
    ++refused_;
    return calling;
  }
  const std::uint32_t id =
      append({.first = calling.value, .second = forward.value, .kind = Kind::pair});
  pairs_[key] = id;
  return {id};
}

TracebackId TracebackTable::splice(TracebackId calling_id, TracebackId traced,
                                   std::size_t outer_frames) {
  const TracebackId forward_id = forward(traced) ? forward(traced) : forward(calling_id);
  const TracebackId outer = calling(calling_id);
  const TracebackId inner = calling(traced);
  if (!inner) return pair(outer, forward_id);
  if (!outer) return pair(inner, forward_id);
  TracebackId joined;
  {
    const LockGuard guard(mutex_);
    joined = splice_unlocked(outer, inner, outer_frames);
  }
  return pair(joined, forward_id);
}

TracebackId TracebackTable::splice_unlocked(TracebackId outer, TracebackId inner,
                                            std::size_t outer_frames) {
  const std::uint64_t key = key_of(outer.value, inner.value);
  const Splice* known = splices_.find(key);
  if (known != nullptr && known->outer_frames == outer_frames) return {known->id};
  std::vector<RawFrame> frames = frames_unlocked(inner);
  frames.resize(frames.size() - std::min(outer_frames, frames.size()));
  for (const RawFrame& frame : frames_unlocked(outer)) frames.push_back(frame);
  const bool truncated = frames.size() > kMaxFrames;
  if (truncated) leave_out_middle(frames);
  const TracebackId joined = insert_unlocked(fingerprint_of(frames, truncated), frames, truncated);
  if (joined) splices_[key] = {joined.value, static_cast<std::uint32_t>(outer_frames)};
  return joined;
}

TracebackId TracebackTable::calling(TracebackId id) const {
  const LockGuard guard(mutex_);
  const Node* found = node(id);
  return found != nullptr && found->kind == Kind::pair ? TracebackId{found->first} : id;
}

TracebackId TracebackTable::forward(TracebackId id) const {
  const LockGuard guard(mutex_);
  const Node* found = node(id);
  return found != nullptr && found->kind == Kind::pair ? TracebackId{found->second} : TracebackId{};
}

std::vector<RawFrame> TracebackTable::frames(TracebackId id) const {
  const LockGuard guard(mutex_);
  return frames_unlocked(id);
}

std::size_t TracebackTable::depth(TracebackId id) const {
  return frames(id).size();
}

std::vector<RawFrame> TracebackTable::frames_unlocked(TracebackId id) const {
  std::vector<RawFrame> frames;
  const Node* at = node(id);
  while (at != nullptr) {
    if (at->kind == Kind::stack) frames.push_back(frames_[at->second]);
    at = node({at->first});
  }
  return frames;
}

bool TracebackTable::truncated(TracebackId id) const {
  const TracebackId stack = calling(id);
  const LockGuard guard(mutex_);
  const Node* found = node(stack);
  return found != nullptr && found->kind == Kind::truncated_stack;
}

std::uint64_t TracebackTable::memory_bytes() const {
  const LockGuard guard(mutex_);
  return bytes_unlocked();
}

std::uint64_t TracebackTable::refused() const {
  const LockGuard guard(mutex_);
  return refused_;
}

std::uint64_t TracebackTable::truncated_count() const {
  const LockGuard guard(mutex_);
  return truncated_count_;
}

void TracebackTable::clear() {
  const LockGuard guard(mutex_);
  first_ += static_cast<std::uint32_t>(nodes_.size());
  nodes_ = std::vector<Node>();  // with their memory, which counts against the cap
  frames_ = std::vector<RawFrame>();
  frame_numbers_.clear();
  children_.clear();
  pairs_.clear();
  splices_.clear();
  for (std::size_t i = 0; i <= level_; ++i) {
    for (Slot& slot : levels_[i]->slots) slot.id.store(0, std::memory_order_relaxed);
  }
  level_ = 0;
  used_slots_ = 0;
  refused_ = 0;
  truncated_count_ = 0;
  slots_.store(levels_.front().get(), std::memory_order_release);
}

const TracebackTable::Node* TracebackTable::node(TracebackId id) const {
  if (id.value < first_ || id.value - first_ >= nodes_.size()) return nullptr;
  return &nodes_[id.value - first_];
}

std::uint32_t TracebackTable::append(Node node) {
  nodes_.push_back(node);
  return first_ + static_cast<std::uint32_t>(nodes_.size()) - 1;
}

std::uint32_t TracebackTable::frame_index(const RawFrame& frame) {
  if (const auto known = frame_numbers_.find(frame); known != frame_numbers_.end()) {
    return known->second;
  }
  const auto number = static_cast<std::uint32_t>(frames_.size());
  frames_.push_back(frame);  // before it gets a number: what throws must leave no number too many
  frame_numbers_.emplace(frame, number);
  return number;
}

std::uint32_t TracebackTable::child(std::uint32_t parent, std::uint32_t frame) {
  std::uint32_t& id = children_[key_of(parent, frame)];
  if (id == 0) id = append({.first = parent, .second = frame, .kind = Kind::stack});
  return id;
}

void TracebackTable::publish(const Fingerprint& fingerprint, TracebackId id) {
  if ((used_slots_ + 1) * 2 > levels_[level_]->slots.size()) grow_slots();
  place(levels_[level_]->slots, fingerprint.low, fingerprint.high, id.value);
  ++used_slots_;
}

void TracebackTable::grow_slots() {
  const std::vector<Slot>& old = levels_[level_]->slots;
  if (level_ + 1 == levels_.size()) levels_.push_back(std::make_unique<Slots>(old.size() * 2));
  std::vector<Slot>& larger = levels_[level_ + 1]->slots;
  for (const Slot& slot : old) {
    const std::uint32_t number = slot.id.load(std::memory_order_relaxed);
    if (number == 0) continue;
    place(larger, slot.low.load(std::memory_order_relaxed),
          slot.high.load(std::memory_order_relaxed), number);
  }
  ++level_;
  slots_.store(levels_[level_].get(), std::memory_order_release);
}

void TracebackTable::place(std::vector<Slot>& slots, std::uint64_t low, std::uint64_t high,
                           std::uint32_t id) noexcept {
  const std::size_t mask = slots.size() - 1;
  std::size_t i = low & mask;
  while (slots[i].id.load(std::memory_order_relaxed) != 0) i = (i + 1) & mask;
  slots[i].low.store(low, std::memory_order_relaxed);
  slots[i].high.store(high, std::memory_order_relaxed);
  slots[i].id.store(id, std::memory_order_release);
}

bool TracebackTable::is_full() const {
  return bytes_unlocked() >= cap_bytes_;
}

std::uint64_t TracebackTable::bytes_unlocked() const {
  const std::size_t slots = levels_[level_]->slots.size() * 2;  // with those outgrown
  constexpr std::size_t kFrameNumberBytes = 64;
  return nodes_.capacity() * sizeof(Node) + frames_.capacity() * sizeof(RawFrame) +
         frame_numbers_.size() * kFrameNumberBytes + children_.memory_bytes() +
         pairs_.memory_bytes() + splices_.memory_bytes() + slots * sizeof(Slot);
}

}  // namespace strandline::record
