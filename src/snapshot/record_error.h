// SPDX-License-Identifier: Apache-2.0
// Why the bytes of a pickle make no snapshot; the machine adds the offset.
#pragma once

#include <string>

namespace strandline::snapshot {

struct RecordError {
  std::string what;
  std::string got;
  std::string expected;
};

}  // namespace strandline::snapshot
