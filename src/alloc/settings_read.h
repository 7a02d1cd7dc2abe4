// SPDX-License-Identifier: Apache-2.0
// apply_settings with the name that opens the messages: of a function, or of a variable.
#pragma once

#include <string_view>

#include "strandline/alloc/settings.h"

namespace strandline::alloc::settings {

SettingsReading read_into(std::string_view text, std::string_view source, Settings& settings,
                          Decisions decisions);

}  // namespace strandline::alloc::settings
