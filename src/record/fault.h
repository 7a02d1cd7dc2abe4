// SPDX-License-Identifier: Apache-2.0
// The wall between the recorder and the program: whatever is thrown inside stays inside and turns
// the recorder off. Private to the room.
#pragma once

#include <exception>

#include "strandline/record/recorder.h"

namespace strandline::record {

template <typename Work>
void guarded(const char* what, Work&& work) noexcept {
  try {
    work();
  } catch (const std::exception& fault) {
    recorder().fail(fault.what());
  } catch (...) {
    recorder().fail(what);
  }
}

}  // namespace strandline::record
