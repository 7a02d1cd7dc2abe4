// SPDX-License-Identifier: Apache-2.0
// What the answers share in JSON and in text: lines, stacks, sums, pins, signed sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "snapshot/json.h"
#include "strandline/snapshot/fragmentation.h"

namespace strandline::snapshot {

Json location_json(const std::optional<Location>& place);
/// Innermost first.
Json stack_json(const std::vector<Location>& stack);
/// bytes and blocks.
Json held_json(const Held& held);
Json place_json(const Place& place);
Json pins_json(const std::vector<Pin>& pins, std::size_t top);
Json totals_json(const StateTotals& totals);
Json facts_json(const ReplayFacts& facts);
/// Indented, with a newline at its end; what is no UTF-8 is replaced.
std::string document_text(const Json& document);

/// "train.py:88 step": the path's last two parts; "(no line)" without one.
std::string line_text(const std::optional<Location>& place);
/// "+1.5 MiB".
std::string signed_size_text(std::int64_t bytes);
/// "1 block", "1,204 blocks".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many);
/// One row a pin, the rest as a row of its own, indented.
std::string pins_text(const std::vector<Pin>& pins, std::size_t indent, std::size_t top);

}  // namespace strandline::snapshot
