// SPDX-License-Identifier: Apache-2.0

#include "fast_source.h"

#include <cstdlib>
#include <string_view>

#include "cpython_compat.h"

namespace strandline::python {

using record::Fingerprint;

bool FastSource::try_gather(record::TracebackTable& table, std::uint16_t source,
                            TracebackId& stack) noexcept {
  PyThreadState* const thread = looking_thread(interpreter());
  if (thread == nullptr) return false;
  RecentStack* const recent = memo_.stack_here(thread, entry_range_);
  if (recent == nullptr || &table != remembered_) [[unlikely]] {
    const Fingerprint key =
        recent != nullptr ? recent->key() : memo_.key_of_stack(thread, entry_range_);
    stack = find_or_enter(table, source, thread, key);
    return true;
  }
  const std::uint32_t generation = generation_->load(std::memory_order_acquire);
  stack = recent->id(generation);
  if (stack) [[likely]] {
    return true;
  }
  stack = find_or_enter(table, source, thread, recent->key());
  // An ambiguous stack is not told by where its frames are alone: it is looked up each time.
  if (stack && table.find(recent->key()) == stack) recent->keep_id(stack, generation);
  return true;
}

TracebackId FastSource::find_or_enter(record::TracebackTable& table, std::uint16_t source,
                                      PyThreadState* thread, const Fingerprint& key) noexcept {
  const TracebackId known = table.find(key);
  return known ? known : enter_stack(table, source, thread, key);
}

TracebackId FastSource::gather(record::TracebackTable& table, std::uint16_t source) noexcept {
  TracebackId stack;
  try_gather(table, source, stack);
  return stack;
}

TracebackId FastSource::enter_stack(record::TracebackTable& table, std::uint16_t source,
                                    PyThreadState* thread, const Fingerprint& key) noexcept {
  FrameList list;
  list_frames(thread, entry_range_, source, list);
  if (!list.ambiguous) return enter(table, key, list.span(), list.truncated);
  const Fingerprint exact = record::fingerprint_of(list.span(), list.truncated);
  const TracebackId known = table.find(exact);
  return known ? known : enter(table, exact, list.span(), list.truncated);
}

bool FastSource::try_gather_site(record::TracebackTable& table, std::uint16_t source,
                                 TracebackId& site) noexcept {
  PyThreadState* const thread = looking_thread(interpreter());
  if (thread == nullptr) return false;
  const std::uintptr_t ip = innermost_ip(thread, entry_range_);
  site = {};
  if (ip == 0) return true;
  Fingerprint key{.low = 0x1F83D9ABFB41BD6BULL, .high = 0x5BE0CD19137E2179ULL};
  key.add(ip, 0);
  site = table.find(key);
  if (site) return true;
  FrameList list;
  list_frames(thread, entry_range_, source, list);
  site = enter(table, key, list.span().first(1), false);
  return true;
}

bool FastSource::try_key(Fingerprint& key) noexcept {
  PyThreadState* const thread = looking_thread(interpreter());
  if (thread == nullptr) return false;
  key = memo_.key_of_stack(thread, entry_range_);
  return true;
}

bool FastSource::try_list(std::uint16_t source, FrameList& list) noexcept {
  PyThreadState* const thread = looking_thread(interpreter());
  if (thread == nullptr) return false;
  list_frames(thread, entry_range_, source, list);
  if (!keep(list.span())) list.count = 0;
  return true;
}

const void* FastSource::current_frame() noexcept {
  PyThreadState* const thread = looking_thread(interpreter());
  return thread != nullptr ? python::current_frame(thread) : nullptr;
}

void FastSource::set_entry(PyCodeObject* code) {
  CpythonSource::set_entry(code);
  entry_range_ = instructions_of(code);
}

std::unique_ptr<CpythonSource> make_cpython_source(std::string& why_not) {
  const char* wish = std::getenv("STRANDLINE_CAPTURE");
  if (wish != nullptr && std::string_view(wish) == "public") {
    why_not = "asked for by STRANDLINE_CAPTURE=public";
  } else if (const char* unreadable = frames_unreadable()) {
    why_not = unreadable;
  } else {
    why_not = compare_frames_with_api();
  }
  if (why_not.empty()) return std::make_unique<FastSource>();
  return std::make_unique<CpythonSource>();
}

}  // namespace strandline::python
