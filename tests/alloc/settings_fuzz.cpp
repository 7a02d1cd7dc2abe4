// SPDX-License-Identifier: Apache-2.0
// Any bytes as a settings string, with both decisions: read or refused, never half of it, and what
// was read reads back.
#include <cstdlib>
#include <string_view>

#include "strandline/alloc/settings.h"

namespace {

using namespace strandline::alloc;

void must(bool holds) {
  if (!holds) std::abort();
}

void read(std::string_view text, Decisions decisions) {
  Settings settings;
  try {
    apply_settings(text, settings, decisions);
  } catch (const SettingsError& error) {
    must(error.position <= text.size());
    must(decisions == Decisions::pytorch || settings == Settings{});
    return;
  }
  Settings again;
  apply_settings(settings_text(settings), again, Decisions::pytorch);
  must(settings_text(again) == settings_text(settings));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read(text, Decisions::ours);
  read(text, Decisions::pytorch);
  return 0;
}
