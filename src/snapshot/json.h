// SPDX-License-Identifier: Apache-2.0
// The JSON of all answers: members stay in the order in which they are written.
#pragma once

#include <nlohmann/json.hpp>

namespace strandline::snapshot {

using Json = nlohmann::ordered_json;

}  // namespace strandline::snapshot
