// SPDX-License-Identifier: Apache-2.0
// Native frames and those of a language in the order of the calls. With one part of C++, the usual
// case, the order follows from both parts, and a stack is found by the keys of the two; with
// several, it is merged each time and found by its frames.
#include "native_capture.h"

#include <exception>

#include "native_walk.h"

namespace strandline::record {
namespace {

RawFrame raw_frame(std::uintptr_t return_address) noexcept {
  return {.code = return_address, .offset = 0, .source = kNativeSource};
}

void append(FrameListBuilder& builder, const ReturnAddresses& part) noexcept {
  for (const std::uintptr_t address : part.span()) builder.add(raw_frame(address), nullptr);
}

// `first` is what `walk` has given already.
void merge(NativeWalk& walk, const ReturnAddresses& first, const FrameList& language,
           FrameList& merged) noexcept {
  FrameListBuilder builder(merged);
  append(builder, first);
  bool is_cut = first.truncated;
  std::size_t next = 0;
  for (ReturnAddresses part; walk.next(part); part = {}) {
    // These were called from the part; its own caller and all outward of that come after it.
    while (next < language.count && language.addresses[next] != walk.caller()) {
      builder.add(language.frames[next++], nullptr);
    }
    append(builder, part);
    is_cut = is_cut || part.truncated;
  }
  while (next < language.count) builder.add(language.frames[next++], nullptr);
  builder.finish();
  merged.truncated = merged.truncated || is_cut || language.truncated;
}

bool pin(const FrameList& list) noexcept {
  for (const RawFrame& frame : list.span()) {
    if (frame.source == kNativeSource && !pin_module(frame.code)) return false;
  }
  return true;
}

TracebackId enter(TracebackTable& table, const Fingerprint& key, const FrameList& list) noexcept {
  if (!pin(list)) return {};
  note_new_stack();
  try {
    return table.insert(key, list.span(), list.truncated);
  } catch (const std::exception&) {
    return {};  // no memory for the table: this stack is not told
  }
}

Fingerprint key_of_parts(const ReturnAddresses& part, const LanguagePart* language) noexcept {
  Fingerprint key{.low = 0x3C6EF372FE94F82BULL, .high = 0xA54FF53A5F1D36F1ULL};
  for (const std::uintptr_t address : part.span()) key.add(address, 0);
  key.add(part.count, part.truncated ? 1 : 0);
  if (language != nullptr) {
    key.add(language->key.low, 0);
    key.add(language->key.high, 0);
  }
  return key;
}

}  // namespace

TracebackId gather_native(TracebackTable& table, const LanguagePart* language,
                          const void* frame) noexcept {
  NativeWalk walk(frame);
  ReturnAddresses first;
  walk.next(first);
  Fingerprint key;
  if (!walk.is_nested()) {
    key = key_of_parts(first, language);
    if (const TracebackId known = table.find(key)) return known;
  }
  FrameList list;
  if (language != nullptr) language->source->try_list(language->index, list);
  const bool by_frames = walk.is_nested() || list.ambiguous;
  FrameList merged;
  merge(walk, first, list, merged);
  if (merged.count == 0) return {};
  if (by_frames) {
    key = fingerprint_of(merged.span(), merged.truncated);
    if (const TracebackId known = table.find(key)) return known;
  }
  return enter(table, key, merged);
}

}  // namespace strandline::record
