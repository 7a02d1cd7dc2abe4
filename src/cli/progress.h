// SPDX-License-Identifier: Apache-2.0
// How far a verb is, on standard error, when that is a terminal and the work exceeds a second: one
// line, written anew five times a second and taken away at the end. Its own thread writes it, so
// that it comes however long one step of the work takes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace strandline::cli {

class Progress {
 public:
  /// Shows nothing where standard error is no terminal.
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Of the verb on this thread; nothing without one. `all` is 0 where nobody knows it.
  static void reading(std::uint64_t done, std::uint64_t all) noexcept;
  static void working() noexcept;
  /// Writes "strandline: TEXT" to standard error, where the line is not in its way.
  static void say(const std::string& text);

 private:
  struct Line;
  std::unique_ptr<Line> line_;
};

}  // namespace strandline::cli
