// SPDX-License-Identifier: Apache-2.0
// Binding entries, and the walk by frame pointers from one to the next. A frame record is
// {caller's frame record, return address}; x86-64 and AArch64 agree on that.
#include "strandline/record/native_stack.h"

#include "native_walk.h"

namespace strandline::record {
namespace {

STRANDLINE_FAST_TLS constinit thread_local BindingEntry* t_entry = nullptr;

struct FrameRecord {
  const FrameRecord* caller;
  std::uintptr_t return_address;
};

bool is_aligned(const void* frame) noexcept {
  return reinterpret_cast<std::uintptr_t>(frame) % alignof(FrameRecord) == 0;
}

// From `frame` to the function that opened the entry. Records lie ever further out and end at the
// entry's: whatever leaves this order is no frame of ours, and the part is cut there.
void walk_part(const void* frame, const void* end, ReturnAddresses& part) noexcept {
  const auto* record = static_cast<const FrameRecord*>(frame);
  const auto* last = static_cast<const FrameRecord*>(end);
  while (record < last) {
    part.add(record->return_address);
    const FrameRecord* caller = record->caller;
    if (part.truncated || caller <= record || caller > last || !is_aligned(caller)) {
      part.truncated = true;
      return;
    }
    record = caller;
  }
}

}  // namespace

BindingEntry::BindingEntry(const void* language_frame, const void* frame) noexcept
    : frame_(frame), language_frame_(language_frame), previous_(t_entry) {
  t_entry = this;
}

BindingEntry::~BindingEntry() {
  t_entry = previous_;
}

CallbackScope::CallbackScope(const void* frame) noexcept : entry_(t_entry) {
  if (entry_ == nullptr) return;
  entry_->callback_frame_ = frame;
  entry_->callback_address_ = __builtin_return_address(0);  // in the function of that frame
}

CallbackScope::~CallbackScope() {
  if (entry_ != nullptr) entry_->callback_frame_ = nullptr;
}

NativeWalk::NativeWalk(const void* frame) noexcept
    : frame_(frame),
      entry_(t_entry),
      is_nested_(t_entry != nullptr && t_entry->previous_ != nullptr) {
  // Called back into the language, and from there into C++ that opens no entry of its own.
  if (entry_ != nullptr && entry_->callback_frame_ != nullptr) {
    entry_ = nullptr;
    is_nested_ = false;
  }
}

bool NativeWalk::next(ReturnAddresses& part) noexcept {
  if (done_) return false;
  if (entry_ == nullptr) {
    unwind_all(frame_, part);
    caller_ = nullptr;
    done_ = true;
    return true;
  }
  if (entry_->callback_frame_ != nullptr) {
    part.add(reinterpret_cast<std::uintptr_t>(entry_->callback_address_));
  }
  walk_part(frame_, entry_->frame_, part);
  caller_ = entry_->language_frame_;
  entry_ = entry_->previous_;
  // An entry inside an entry without a callback between them goes on in the same C++.
  frame_ = entry_ != nullptr ? entry_->callback_frame_ : nullptr;
  done_ = frame_ == nullptr;
  return true;
}

}  // namespace strandline::record
