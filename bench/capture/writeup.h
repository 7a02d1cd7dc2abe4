// SPDX-License-Identifier: Apache-2.0
// The method that the capture is compared with: CPython's public API for the frames, FNV-1a over
// the bytes of (code, offset) of all of them, and a table of whole stacks that verifies a hit.
#pragma once

#include <cstdint>
#include <cstring>
#include <unordered_map>
#include <vector>

#include <Python.h>

namespace strandline::bench {

class WriteupCapture {
 public:
  std::uint32_t capture() {
    collect();
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    const auto* bytes = reinterpret_cast<const unsigned char*>(stack_.data());
    for (std::size_t i = 0; i < stack_.size() * sizeof(Frame); ++i) {
      hash = (hash ^ bytes[i]) * 0x100000001B3ULL;
    }
    const auto [first, last] = numbers_.equal_range(hash);
    for (auto known = first; known != last; ++known) {
      const std::vector<Frame>& stored = stacks_[known->second];
      if (stored.size() == stack_.size() &&
          std::memcmp(stored.data(), stack_.data(), stack_.size() * sizeof(Frame)) == 0) {
        return known->second + 1;
      }
    }
    for (const Frame& frame : stack_) Py_INCREF(reinterpret_cast<PyObject*>(frame.code));
    const auto number = static_cast<std::uint32_t>(stacks_.size());
    stacks_.push_back(stack_);
    numbers_.emplace(hash, number);
    return number + 1;
  }

 private:
  struct Frame {
    PyCodeObject* code;
    std::uint64_t offset;
  };

  void collect() {
    stack_.clear();
    PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
    while (frame != nullptr) {
      PyCodeObject* code = PyFrame_GetCode(frame);
      Py_DECREF(code);
      stack_.push_back({code, static_cast<std::uint64_t>(PyFrame_GetLasti(frame))});
      PyFrameObject* back = PyFrame_GetBack(frame);
      Py_DECREF(frame);
      frame = back;
    }
  }

  std::vector<Frame> stack_;  // reused: no allocation once it has grown
  std::vector<std::vector<Frame>> stacks_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> numbers_;
};

}  // namespace strandline::bench
