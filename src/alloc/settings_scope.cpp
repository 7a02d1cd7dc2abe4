// SPDX-License-Identifier: Apache-2.0
#include "strandline/alloc/settings_scope.h"

#include <cstdio>

#include "alloc/settings_read.h"
#include "alloc/settings_table.h"

namespace strandline::alloc {
namespace {

constexpr std::string_view kFraction = "per_process_memory_fraction";

Settings settings_of(const SegmentAllocator& allocator) {
  Settings settings;
  static_cast<SegmentSettings&>(settings) = allocator.settings();
  settings.per_process_memory_fraction = allocator.memory_fraction();
  return settings;
}

void put(SegmentAllocator& allocator, const Settings& settings, bool with_fraction) {
  if (settings.backend != SettingsBackend::native) {
    throw InvalidArgument(error_message("configure", "backend of a SegmentAllocator",
                                        "another than the native one", "native"));
  }
  allocator.set_settings(settings);
  if (with_fraction) allocator.set_memory_fraction(settings.per_process_memory_fraction);
}

bool names_fraction(const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    if (key == kFraction) return true;
  }
  return false;
}

}  // namespace

SettingsReading configure(SegmentAllocator& allocator, std::string_view text) {
  Settings settings = settings_of(allocator);
  const Decisions decisions = allocator.decisions();
  try {
    SettingsReading reading = settings::read_into(text, "configure", settings, decisions);
    put(allocator, settings, decisions == Decisions::ours && names_fraction(reading.keys));
    return reading;
  } catch (const SettingsError&) {
    if (decisions == Decisions::pytorch) put(allocator, settings, false);
    throw;
  }
}

SettingsScope::SettingsScope(SegmentAllocator& allocator, std::string_view text)
    : allocator_(allocator),
      before_(settings_of(allocator)),
      keys_(configure(allocator, text).keys) {}

SettingsScope::~SettingsScope() {
  try {
    Settings settings = settings_of(allocator_);
    for (const std::string& key : keys_) {
      settings::copy(*settings::find_key(key), before_, settings);
    }
    put(allocator_, settings, names_fraction(keys_));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "strandline: settings of a scope stay: %s\n", error.what());
  }
}

}  // namespace strandline::alloc
