// SPDX-License-Identifier: Apache-2.0
// The capture source over the interpreter's own frames. A stack seen before costs one pass over its
// frames (about 1 ns each) and one look into a table: no object, no reference count, no lock.
// A new stack is listed once more, its code objects are kept, and it enters the table.
//
// Used when the self-test, which compares it with the public API, finds no difference.
#pragma once

#include <memory>
#include <string>

#include "cpython_frames.h"
#include "cpython_source.h"

namespace strandline::python {

class FastSource final : public CpythonSource {
 public:
  FastSource() : CpythonSource("interpreter frames") {}

  bool try_gather(record::TracebackTable& table, std::uint16_t source,
                  TracebackId& stack) noexcept override;
  TracebackId gather(record::TracebackTable& table, std::uint16_t source) noexcept override;
  bool try_gather_site(record::TracebackTable& table, std::uint16_t source,
                       TracebackId& site) noexcept override;
  bool try_key(record::Fingerprint& key) noexcept override;
  bool try_list(std::uint16_t source, record::FrameList& list) noexcept override;
  const void* current_frame() noexcept override;
  void set_entry(PyCodeObject* code) override;
  void remember_ids_of(const record::TracebackTable& table,
                       const std::atomic<std::uint32_t>& generation) noexcept override {
    remembered_ = &table;
    generation_ = &generation;
  }

 private:
  TracebackId find_or_enter(record::TracebackTable& table, std::uint16_t source,
                            PyThreadState* thread, const record::Fingerprint& key) noexcept;
  TracebackId enter_stack(record::TracebackTable& table, std::uint16_t source,
                          PyThreadState* thread, const record::Fingerprint& key) noexcept;

  const record::TracebackTable* remembered_ = nullptr;
  const std::atomic<std::uint32_t>* generation_ = nullptr;
  // Guarded by the interpreter lock.
  CodeRange entry_range_;
  StackMemo memo_;
};

/// The source of this interpreter: fast where it can be, else the public API, and then `why_not`
/// says what stands against it. The environment variable STRANDLINE_CAPTURE=public asks for the
/// latter. With the interpreter lock.
std::unique_ptr<CpythonSource> make_cpython_source(std::string& why_not);

/// Runs a small Python program in which both ways tell each stack; the first difference, empty when
/// there is none. With the interpreter lock.
std::string compare_frames_with_api();

}  // namespace strandline::python
