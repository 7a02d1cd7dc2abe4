// SPDX-License-Identifier: Apache-2.0
// Settings as text: the strings of PYTORCH_ALLOC_CONF and ours, one grammar, one table of keys
// (docs/settings.md is printed from it).
//
//   max_split_size_mb:64, roundup_power2_divisions:[256:2,>:4], expandable_segments:True
//   key ':' value, items divided by ','; white space counts for nothing; empty items are allowed
//   a value is a word or a list '[' word ':' word, ... ']'; `default` takes back any key
//
// A string is read as a whole or not at all; keys that it does not name keep their values. With
// Decisions::pytorch both are as PyTorch has them: what stands before an error is applied, four
// keys (max_split_size_mb, max_non_split_rounding_mb, garbage_collection_threshold,
// roundup_power2_divisions) return to their defaults when not named, separators may be any.
//
// Plain values; from any thread, but setenv beside settings_from_environment is the caller's race.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "strandline/alloc/segment_allocator.h"
#include "strandline/alloc/segment_settings.h"
#include "strandline/core/error.h"
#include "strandline/core/export.h"

namespace strandline::alloc {

enum class SettingsBackend : std::uint8_t {
  native,         ///< segments and blocks
  ordered_pools,  ///< the device's own stream-ordered pools
};

/// Address space that expandable segments of a class of streams reserve: a share of the device, or
/// bytes. The other one is 0.
struct ExpandableReserve {
  std::string stream_class;
  double fraction = 0;
  std::uint64_t bytes = 0;

  bool operator==(const ExpandableReserve&) const = default;
};

/// What a string can say: what SegmentAllocator reads, and what no allocator of this version does.
struct Settings : SegmentSettings {
  SettingsBackend backend = SettingsBackend::native;
  std::vector<ExpandableReserve> expandable_reserve_by_class;
  // Pinned memory of the host.
  bool pinned_use_host_register = false;
  bool pinned_use_background_threads = false;
  bool pinned_free_catch_all = false;
  std::uint64_t pinned_register_threads = 1;          ///< a power of two up to 128
  std::uint64_t pinned_reserve_segment_bytes = 0;     ///< 0: none
  std::uint64_t pinned_max_round_bytes = kUnlimited;  ///< above: no rounding to powers of two
  std::uint64_t pinned_max_cached_bytes = kUnlimited;

  bool operator==(const Settings&) const = default;
};

/// What is wrong with a string, and where.
class STRANDLINE_API SettingsError : public InvalidArgument {
 public:
  SettingsError(const std::string& message, std::string the_key, std::string the_value,
                std::size_t the_position)
      : InvalidArgument(message),
        key(std::move(the_key)),
        value(std::move(the_value)),
        position(the_position) {}

  std::string key;           ///< as it was written; empty where none was
  std::string value;         ///< the word that cannot be; empty at the string's end
  std::size_t position = 0;  ///< of that word in the string, in bytes from 0
};

/// What a string said.
struct SettingsReading {
  std::vector<std::string> keys;   ///< named, by their first names, in order, each once
  std::vector<std::string> notes;  ///< for the user: old spellings, what is ignored or repeated
};

/// Puts into `settings` what `text` says. Throws SettingsError, with `settings` as they were
/// (Decisions::pytorch: with what stood before the error).
STRANDLINE_API SettingsReading apply_settings(std::string_view text, Settings& settings,
                                              Decisions decisions = Decisions::ours);

/// What is not at its default, as a string that reads back to the same with either decisions.
/// Sizes are written in whole MiB.
[[nodiscard]] STRANDLINE_API std::string settings_text(const Settings& settings);

/// None: unlimited, or not given.
using SettingValue = std::variant<std::monostate, bool, std::uint64_t, double, std::string>;
/// Every key by its first name, in the table's order, with its value in the unit of its name; lists
/// as they are written.
[[nodiscard]] STRANDLINE_API std::vector<std::pair<std::string, SettingValue>> settings_values(
    const Settings& settings);

/// The first of these that is set, empty or not, is read, the others are not:
/// STRANDLINE_ALLOC_CONF, PYTORCH_ALLOC_CONF, PYTORCH_CUDA_ALLOC_CONF, PYTORCH_HIP_ALLOC_CONF
/// (Decisions::pytorch: the neutral one of PyTorch comes last, as it does there).
struct EnvironmentSettings {
  Settings settings;
  std::string variable;  ///< that was read; empty: none is set
  std::string text;      ///< what it said
  SettingsReading reading;
};
/// Throws SettingsError, which names the variable.
[[nodiscard]] STRANDLINE_API EnvironmentSettings
settings_from_environment(Decisions decisions = Decisions::ours);

/// docs/settings.md, from the table.
[[nodiscard]] STRANDLINE_API std::string settings_page();

}  // namespace strandline::alloc
