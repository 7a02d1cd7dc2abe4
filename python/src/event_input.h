// SPDX-License-Identifier: Apache-2.0
// Events as Python dictionaries, read back into what the snapshot builder takes.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <nanobind/nanobind.h>

#include "strandline/snapshot/builder.h"

namespace strandline::python {

/// Reads one dictionary at a time; the input lasts until the next `read`, and the dictionary must
/// outlive it. `action`, `address` and `size` are needed, what else is missing is as for none.
class EventInputReader {
 public:
  /// Throws TypeMismatch and InvalidArgument that name `events[index]` and the key.
  const snapshot::EventInput& read(std::size_t index, nanobind::handle event);

 private:
  using Frames = std::vector<snapshot::FrameView>;

  nanobind::object get(const char* key) const;
  std::uint64_t number(const char* key, std::uint64_t maximum, nanobind::handle value) const;
  std::uint64_t number(const char* key, std::uint64_t maximum = UINT64_MAX) const;
  std::uint64_t needed_number(const char* key) const;
  std::string_view text(const char* key, nanobind::handle value);
  std::string_view text(const char* key);
  record::Action action();
  record::Dtype dtype();
  void read_shape();
  void read_pool();
  void read_frames(const char* key, Frames& frames);
  [[noreturn]] void refuse_type(const char* key, nanobind::handle got, const char* expected) const;
  [[noreturn]] void refuse_value(const char* key, nanobind::handle got, const char* expected) const;
  std::string place(const char* key) const;

  std::size_t index_ = 0;
  nanobind::handle event_;
  snapshot::EventInput input_;
  std::vector<std::int64_t> shape_;
  Frames stack_;
  Frames forward_;
  std::deque<std::string> texts_;  // of this event; a deque keeps the views into it valid
};

}  // namespace strandline::python
