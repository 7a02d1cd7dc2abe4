// SPDX-License-Identifier: Apache-2.0
// A file that is written while others may read it: it appears under its name once its first bytes
// are in, and ends with a whole write however the writer ends.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <sys/types.h>

#include "snapshot/byte_output.h"

namespace strandline::snapshot {

/// Locked against a second writer. In a forked child it is closed and writes nothing. What is no
/// regular file (a pipe, a terminal) is written in place. Throws DeviceError naming the path.
class StreamOutput final : public ByteOutput {
 public:
  explicit StreamOutput(const std::string& path);
  ~StreamOutput() override;
  StreamOutput(const StreamOutput&) = delete;
  StreamOutput& operator=(const StreamOutput&) = delete;

  /// All of it or nothing.
  void write(std::string_view bytes) override;
  /// Gives the file its name.
  void publish();
  void close();

  const std::string& path() const noexcept { return path_; }
  /// False in a forked child.
  bool is_ours() const noexcept;

 private:
  [[noreturn]] void fail(const char* what, int error) const;
  void open_beside();
  void lock();

  std::string path_;
  std::string temporary_;  // empty once published, and for what is written in place
  int descriptor_ = -1;
  pid_t process_;
  bool is_regular_ = true;
  std::uint64_t whole_ = 0;
};

}  // namespace strandline::snapshot
