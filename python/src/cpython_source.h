// SPDX-License-Identifier: Apache-2.0
// The capture source over CPython's public API: right on every supported version, at one or two
// microseconds a stack, because the API makes an object for each frame it shows. fast_source.h is
// the one used where the interpreter's frames can be read.
//
// A frame is (code object, byte offset). A stack seen before is found by its fingerprint and leaves
// nothing behind. A new one keeps one reference per distinct code object, for ever: a code object
// that died would give its address, and with it the identity of its frames, to another.
//
// Frames from the entry outward (see `set_entry`) are left out: they belong to `strandline run`,
// not to the program it runs.
#pragma once

#include <atomic>
#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include <Python.h>

#include "strandline/record/capture.h"
#include "strandline/record/frame_batch.h"

namespace strandline::python {

class CpythonSource : public record::CaptureSource, public record::BatchSource {
 public:
  /// With the interpreter lock; captures threads of the current interpreter only.
  explicit CpythonSource(std::string_view method = "public API");

  std::string_view name() const noexcept override { return name_; }
  /// The thread holds the interpreter lock and the interpreter is not shutting down.
  bool can_gather() const noexcept override;
  TracebackId gather(record::TracebackTable& table, std::uint16_t source) noexcept override;
  bool try_gather_site(record::TracebackTable& table, std::uint16_t source,
                       TracebackId& site) noexcept override;
  bool try_key(record::Fingerprint& key) noexcept override;
  bool try_list(std::uint16_t source, record::FrameList& list) noexcept override;
  /// Takes the interpreter lock. "??" when the interpreter is shutting down.
  record::Frame resolve(const record::RawFrame& frame) const override;
  /// Takes the interpreter lock, once for all of them.
  void while_resolving(const std::function<void()>& work) const override;

  /// Frames of this code object, and all outward of them, are dropped from now on; null: none are.
  /// With the interpreter lock.
  virtual void set_entry(PyCodeObject* code);
  /// The id of a stack in this table may be kept while `generation`, which grows after every clear
  /// of the table, stays. Both live as long as the process. Before the source is used.
  virtual void remember_ids_of(const record::TracebackTable& /*table*/,
                               const std::atomic<std::uint32_t>& /*generation*/) noexcept {}

 protected:
  /// Strong references to the code of `frames`; true when all are kept. With the lock.
  bool keep(std::span<const record::RawFrame> frames) noexcept;
  /// Keeps `frames` and enters them; none where that fails. With the lock.
  TracebackId enter(record::TracebackTable& table, const record::Fingerprint& key,
                    std::span<const record::RawFrame> frames, bool truncated) noexcept;
  PyInterpreterState* interpreter() const noexcept { return interpreter_; }

 private:
  struct FrameHash {
    std::size_t operator()(const record::RawFrame& frame) const noexcept {
      return static_cast<std::size_t>(mix_bits(frame.code + frame.offset));
    }
  };

  void list_here(std::uint16_t source, record::FrameList& list) const noexcept;

  const std::string name_;
  PyInterpreterState* const interpreter_;
  std::atomic<PyCodeObject*> entry_{nullptr};
  // Guarded by the interpreter lock.
  std::unordered_set<PyCodeObject*> kept_;
  mutable std::unordered_map<record::RawFrame, record::Frame, FrameHash> resolved_;
};

}  // namespace strandline::python
