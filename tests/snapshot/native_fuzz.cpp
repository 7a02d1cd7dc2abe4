// SPDX-License-Identifier: Apache-2.0
// Any bytes as a native file, see native_input.h.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "snapshot/native_input.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strandline::snapshot::try_native({reinterpret_cast<const char*>(data), size});
  return 0;
}
