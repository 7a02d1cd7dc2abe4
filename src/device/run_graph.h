// SPDX-License-Identifier: Apache-2.0
// Running a finished graph on the calling thread, node after node in the order of capture.
#pragma once

#include "device/capture_book.h"

namespace strandline::device {

/// Which body of a conditional node runs for the value its condition holds now: an index into
/// `bodies`, or none. Reads the value's four bytes.
[[nodiscard]] std::optional<std::size_t> chosen_body(const ConditionalOptions& condition);

/// Throws what a node's body throws; nodes behind it are then not run.
void run_in_order(const Graph& graph);

}  // namespace strandline::device
