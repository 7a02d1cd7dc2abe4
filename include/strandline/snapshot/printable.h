// SPDX-License-Identifier: Apache-2.0
// Texts of a file on their way to a terminal. Labels, names of files and functions are whatever
// somebody wrote into a snapshot; none of it may move the cursor, rename the window or turn the
// direction of writing.
#pragma once

#include <string>
#include <string_view>

#include "strandline/core/export.h"

namespace strandline::snapshot {

/// `text` with control characters, marks of direction and bytes that are no UTF-8 as escapes: "\n",
/// "\x1b", "\u202e". Everything else stays as it is, backslashes included.
STRANDLINE_API std::string printable(std::string_view text);

}  // namespace strandline::snapshot
