// SPDX-License-Identifier: Apache-2.0
// The record into a native file while the program runs. The recorder's delivery thread brings
// events at least every 50 ms; they are written as a chunk when there are 32,768 of them or the
// oldest has waited for 250 ms. So at any moment the file opens, and lacks at most what the last
// 0.3 s, the write in progress, and a wait for the interpreter lock have brought.
//
//   head, state at the start, chunk…   and by `close`: last events, state at the end, index
//
// Recording threads never wait for the file, only for the copy of a batch. A write that fails ends
// the stream, which is said once on standard error, and not the program; the file then ends with
// its last whole chunk. A forked child writes nothing. Memory stays constant but for the tables of
// frames, texts and stacks.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "strandline/core/export.h"
#include "strandline/record/recorder.h"
#include "strandline/record/stream_sink.h"

namespace strandline::snapshot {

struct NativeStreamOptions {
  int level = 1;  ///< of zstd
  std::uint32_t most_wait_ms = 250;
};

class STRANDLINE_API NativeStream final : public record::StreamSink {
 public:
  /// Begins `path`, which is replaced, and gets every event from now on. Throws DeviceError naming
  /// the path where it cannot be written or where another stream is writing it, InternalError in a
  /// forked child. Frames are told by the capture sources: no lock they need may be held here.
  static std::shared_ptr<NativeStream> open(record::Recorder& recorder, const std::string& path,
                                            const NativeStreamOptions& options = {});
  ~NativeStream() override;
  NativeStream(const NativeStream&) = delete;
  NativeStream& operator=(const NativeStream&) = delete;

  /// Writes what is left, the state of now and the index; a second call does nothing. False where
  /// that failed, now or earlier. Without it the file is as a killed program leaves it.
  bool close() noexcept;

  const std::string& path() const noexcept;
  std::uint64_t events_written() const noexcept;
  std::uint64_t bytes_written() const noexcept;

  void write(std::uint64_t first_sequence, std::span<const record::Event> events) override;
  void write_phases(std::span<const record::Phase> phases) override;
  void tick() override;

 private:
  class Core;
  explicit NativeStream(std::unique_ptr<Core> core);

  std::unique_ptr<Core> core_;
};

}  // namespace strandline::snapshot
