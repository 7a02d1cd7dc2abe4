// SPDX-License-Identifier: Apache-2.0
// What the answers share in JSON and in text: lines, stacks, sums, pins, signed sizes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "strandline/snapshot/fragmentation.h"

namespace strandline::snapshot {

nlohmann::ordered_json location_json(const std::optional<Location>& place);
/// Innermost first.
nlohmann::ordered_json stack_json(const std::vector<Location>& stack);
/// bytes and blocks.
nlohmann::ordered_json held_json(const Held& held);
nlohmann::ordered_json place_json(const Place& place);
nlohmann::ordered_json pins_json(const std::vector<Pin>& pins, std::size_t top);
nlohmann::ordered_json totals_json(const StateTotals& totals);
nlohmann::ordered_json facts_json(const ReplayFacts& facts);
/// Indented, with a newline at its end; what is no UTF-8 is replaced.
std::string document_text(const nlohmann::ordered_json& document);

/// "train.py:88 step": the path's last two parts; "(no line)" without one.
std::string line_text(const std::optional<Location>& place);
/// "+1.5 MiB".
std::string signed_size_text(std::int64_t bytes);
/// "1 block", "1,204 blocks".
std::string counted(std::uint64_t count, std::string_view one, std::string_view many);
/// One row a pin, the rest as a row of its own, indented.
std::string pins_text(const std::vector<Pin>& pins, std::size_t indent, std::size_t top);

}  // namespace strandline::snapshot
