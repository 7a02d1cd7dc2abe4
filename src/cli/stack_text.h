// SPDX-License-Identifier: Apache-2.0
// Lines, stacks and sizes as the verbs print them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "strandline/snapshot/peak_report.h"

namespace strandline::cli {

nlohmann::ordered_json location_json(const std::optional<snapshot::Location>& place);
nlohmann::ordered_json stack_json(const std::vector<snapshot::Location>& stack);

/// "train.py:88 step"; "(no line)" without one.
std::string line_text(const std::optional<snapshot::Location>& place);
/// "1.5 MiB": exact below 1 KiB, else one decimal.
std::string bytes_text(std::uint64_t bytes);
/// The same with its sign.
std::string growth_text(std::int64_t bytes);

}  // namespace strandline::cli
