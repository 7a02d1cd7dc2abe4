// SPDX-License-Identifier: Apache-2.0
// Binding entries, and the walk by frame pointers from one to the next. A frame record is
// {caller's frame record, return address}; x86-64 and AArch64 agree on that.
#include "strandline/record/native_stack.h"

#include <new>

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

BindingEntry::BindingEntry(CppFrames frames, const void* language_frame, const void* frame) noexcept
    : frame_(frame), language_frame_(language_frame), previous_(t_entry), frames_(frames) {
  t_entry = this;
}

BindingEntry::~BindingEntry() {
  t_entry = previous_;
}

CallbackScope::CallbackScope(const void* frame) noexcept
    : entry_(t_entry),
      previous_(entry_ != nullptr ? entry_->callback_ : nullptr),
      frame_(frame),
      address_(__builtin_return_address(0)) {
  if (entry_ == nullptr) return;
  if (entry_->frames_ == CppFrames::need_unwinding) {
    unwound_.reset(new (std::nothrow) ReturnAddresses);
    if (unwound_ != nullptr) unwind_all(__builtin_frame_address(0), *unwound_);
  }
  entry_->callback_ = this;
}

CallbackScope::~CallbackScope() {
  if (entry_ != nullptr) entry_->callback_ = previous_;
}

NativeWalk::NativeWalk(const void* frame) noexcept
    : frame_(frame),
      entry_(t_entry),
      is_in_entry_(t_entry != nullptr && t_entry->callback_ == nullptr),
      is_nested_(t_entry != nullptr && (!is_in_entry_ || t_entry->previous_ != nullptr)) {}

bool NativeWalk::next(ReturnAddresses& part) noexcept {
  if (done_) return false;
  // Without an entry, or called back into the language and from there into C++ that opens none.
  if (!is_in_entry_) {
    unwind_all(frame_, part);
    is_in_entry_ = true;
    callback_ = entry_ != nullptr ? entry_->callback_ : nullptr;
    done_ = entry_ == nullptr;
    return true;
  }
  if (callback_ == nullptr) {
    add_part(frame_, part);
  } else if (entry_->frames_ == CppFrames::keep_pointers) {
    part.add(reinterpret_cast<std::uintptr_t>(callback_->address_));
    add_part(callback_->frame_, part);
  } else if (callback_->unwound_ != nullptr) {
    part = *callback_->unwound_;
  }
  caller_ = entry_->language_frame_;
  entry_ = entry_->previous_;
  // An entry inside an entry without a callback between them goes on in the same C++.
  callback_ = entry_ != nullptr ? entry_->callback_ : nullptr;
  done_ = callback_ == nullptr;
  return true;
}

void NativeWalk::add_part(const void* from, ReturnAddresses& part) noexcept {
  if (entry_->frames_ == CppFrames::keep_pointers) {
    walk_part(from, entry_->frame_, part);
  } else {
    unwind_all(from, part);
  }
}

}  // namespace strandline::record
