// SPDX-License-Identifier: Apache-2.0
// Where encoded bytes go: a string, or a file that appears only when it is complete.
#pragma once

#include <string>
#include <string_view>

namespace strandline::snapshot {

class ByteOutput {
 public:
  virtual ~ByteOutput() = default;
  virtual void write(std::string_view bytes) = 0;
};

class StringOutput final : public ByteOutput {
 public:
  explicit StringOutput(std::string& target) : target_(target) {}
  void write(std::string_view bytes) override { target_.append(bytes); }

 private:
  std::string& target_;
};

/// Writes to a temporary file beside `path`; `commit` renames it to `path`. Without commit nothing
/// is left. What is no regular file (a pipe, a terminal) is written in place. Throws DeviceError
/// naming the path and the system's reason.
class FileOutput final : public ByteOutput {
 public:
  explicit FileOutput(const std::string& path);
  ~FileOutput() override;
  FileOutput(const FileOutput&) = delete;
  FileOutput& operator=(const FileOutput&) = delete;

  void write(std::string_view bytes) override;
  void commit();

 private:
  [[noreturn]] void fail(const char* what, int error) const;

  std::string path_;
  std::string temporary_;  // empty when `path_` is written in place
  int descriptor_ = -1;
};

}  // namespace strandline::snapshot
