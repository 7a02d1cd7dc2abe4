// SPDX-License-Identifier: Apache-2.0

#include "fast_source.h"

#include <cstdlib>
#include <exception>
#include <string_view>

#include "cpython_compat.h"

namespace strandline::python {

using record::Fingerprint;
using record::RawFrame;

bool FastSource::try_gather(record::TracebackTable& table, std::uint16_t source,
                            TracebackId& stack) noexcept {
  PyThreadState* const thread = looking_thread(interpreter());
  if (thread == nullptr) return false;
  const Fingerprint key = key_of_stack(thread, entry_range_);
  stack = table.find(key);
  if (!stack) stack = enter(table, source, thread, key);
  return true;
}

TracebackId FastSource::gather(record::TracebackTable& table, std::uint16_t source) noexcept {
  TracebackId stack;
  try_gather(table, source, stack);
  return stack;
}

TracebackId FastSource::enter(record::TracebackTable& table, std::uint16_t source,
                              PyThreadState* thread, const Fingerprint& key) noexcept {
  FrameList list;
  list_frames(thread, entry_range_, source, list);
  if (list.count == 0) return {};
  Fingerprint exact = key;
  if (list.ambiguous) {
    exact = {};
    for (const RawFrame& frame : list.span()) exact.add(frame.code, frame.offset);
    exact.add(list.count, list.truncated ? 1 : 0);
    if (const TracebackId known = table.find(exact)) return known;
  }
  if (!keep(list.span())) return {};
  try {
    return table.insert(exact, list.span(), list.truncated);
  } catch (const std::exception&) {
    return {};  // no memory for the table: this stack is not told
  }
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
