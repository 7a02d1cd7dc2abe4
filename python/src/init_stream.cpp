// SPDX-License-Identifier: Apache-2.0
// Topic: the record streamed to a native file. One stream a process; opened, closed and flushed
// without the interpreter lock, which the recorder's delivery thread needs to tell frames.

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings.h"
#include "interpreter_lock.h"
#include "strandline/snapshot/native_file.h"
#include "strandline/snapshot/native_stream.h"

namespace strandline::python {
namespace {

using snapshot::NativeStream;

// Touched with the interpreter lock only; never destroyed, as the recorder is not.
std::shared_ptr<NativeStream>& stream() {
  static auto& only = *new std::shared_ptr<NativeStream>;
  return only;
}

bool close_stream() {
  const std::shared_ptr<NativeStream> open = std::exchange(stream(), nullptr);
  if (open == nullptr) return true;
  const ReleasedLock release;
  return open->close();
}

void open_stream(const std::string& path) {
  close_stream();
  std::shared_ptr<NativeStream> opened;
  {
    const ReleasedLock release;
    opened = NativeStream::open(record::recorder(), path);
  }
  stream() = std::move(opened);
}

void write_native(const snapshot::Snapshot& snapshot, const std::string& path) {
  const ReleasedLock release;
  snapshot::write_native(snapshot, path);
}

}  // namespace

void init_stream(nb::module_& m) {
  m.def("open_stream", &open_stream, nb::arg("path"),
        "Streams the record to a native file from now on; a stream before it is closed.");
  m.def("close_stream", &close_stream,
        "Completes the file of the stream, if there is one; False where that failed.");
  m.def(
      "stream_path",
      []() -> std::optional<std::string> {
        if (stream() == nullptr) return std::nullopt;
        return stream()->path();
      },
      "The file that is streamed to, None without one.");
  m.def(
      "stream_events",
      []() -> std::uint64_t {
        const std::shared_ptr<NativeStream> open = stream();
        if (open == nullptr) return 0;
        const ReleasedLock release;
        return open->events_written();
      },
      "Events in the file that is streamed to.");
  m.def("write_native", &write_native, nb::arg("snapshot"), nb::arg("path"),
        "Writes a snapshot of the recorder as a native file.");
}

}  // namespace strandline::python
