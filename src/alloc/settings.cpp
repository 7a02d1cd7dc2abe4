// SPDX-License-Identifier: Apache-2.0
#include "strandline/alloc/settings.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "alloc/settings_read.h"
#include "alloc/settings_value.h"

namespace strandline::alloc {
namespace settings {
namespace {

constexpr std::string_view kLargeSegment = "large_segment_size_mb";

/// Reads one string into settings, which it leaves half changed when it throws.
class Reader {
 public:
  Reader(std::string_view text, std::string_view source, Settings& settings, Decisions decisions)
      : words_(text, source, decisions),
        is_pytorch_(decisions == Decisions::pytorch),
        settings_(settings) {}

  SettingsReading read() {
    if (is_pytorch_) forget();
    read_large_segment();
    words_.rewind();
    while (!words_.at_end()) {
      if (!is_pytorch_ && words_.take_if(",")) continue;
      read_item();
      if (!words_.at_end()) words_.pass(',', last_key_);
    }
    if (!is_pytorch_) check_together();
    note();
    return std::move(reading_);
  }

 private:
  // What PyTorch sets anew with every string.
  void forget() {
    const Settings defaults = defaults_beside(settings_);
    settings_.max_split_bytes = defaults.max_split_bytes;
    settings_.garbage_collection_threshold = defaults.garbage_collection_threshold;
    settings_.roundup_power2_divisions = defaults.roundup_power2_divisions;
    settings_.max_non_split_rounding_bytes = defaults.max_non_split_rounding_bytes;
  }

  // Before all others: two of them are held to it.
  void read_large_segment() {
    if (!words_.go_behind(kLargeSegment)) return;
    read_value_of(*find_key(kLargeSegment), kLargeSegment);
  }

  void read_item() {
    const SettingsWord& word = words_.word("key", "the name of a setting");
    const Key* key = find_key(word.text);
    if (key == nullptr) refuse_key(word);
    last_key_ = word.text;
    if (last_key_ == kLargeSegment) large_segment_ = &word;
    remember(*key, word.text);
    read_value_of(*key, word.text);
  }

  void read_value_of(const Key& key, std::string_view name) {
    words_.pass(':', name);
    if (!is_pytorch_ && words_.take_if("default")) {
      set_default(key);
    } else {
      read_value(words_, key, name, settings_, reading_.notes);
    }
  }

  void set_default(const Key& key) {
    const Settings before = settings_;
    copy(key, defaults_beside(settings_), settings_);
    const bool follows = before.max_non_split_rounding_bytes == before.large_segment_bytes;
    if (follows) settings_.max_non_split_rounding_bytes = settings_.large_segment_bytes;
  }

  void remember(const Key& key, const std::string& name) {
    if (key.name != name) older_.push_back(fmt::format("{} (now {})", name, key.name));
    const std::string first(key.name);
    if (std::ranges::count(reading_.keys, first) == 0) {
      reading_.keys.push_back(first);
    } else {
      reading_.notes.push_back(
          fmt::format("{} is given more than once, the last one counts", first));
    }
  }

  [[noreturn]] void refuse_key(const SettingsWord& word) const {
    const std::string_view nearest = nearest_name(word.text);
    words_.refuse("key", word,
                  nearest.empty()
                      ? std::string("a key of docs/settings.md")
                      : fmt::format("a key of docs/settings.md, perhaps '{}'", nearest));
  }

  // Named ones were held to the new segments when they were read; these were kept.
  void check_together() const {
    if (large_segment_ == nullptr) return;
    for (const std::string_view name : {"max_split_size_mb", "max_non_split_rounding_mb"}) {
      const SettingValue least = value_of(*find_key(name), settings_);
      const auto* mebibytes = std::get_if<std::uint64_t>(&least);
      if (mebibytes == nullptr || *mebibytes * kMebibyte >= settings_.large_segment_bytes) continue;
      const SettingsWord value{.text = std::to_string(settings_.large_segment_bytes / kMebibyte),
                               .position = large_segment_->position};
      words_.refuse(kLargeSegment, value,
                    fmt::format("at most {}, the {} set before", *mebibytes, name));
    }
  }

  void note() {
    std::vector<std::string_view> kept;
    const Settings defaults;
    for (const std::string& name : reading_.keys) {
      const Key& key = *find_key(name);
      if (key.effect == Effect::kept && value_of(key, settings_) != value_of(key, defaults)) {
        kept.push_back(key.name);
      }
    }
    if (!kept.empty()) {
      reading_.notes.push_back(fmt::format(
          "checked and kept, but nothing of this version acts on: {}", fmt::join(kept, ", ")));
    }
    if (!older_.empty()) {
      reading_.notes.push_back(fmt::format("older names: {}", fmt::join(older_, ", ")));
    }
  }

  Words words_;
  bool is_pytorch_;
  Settings& settings_;
  SettingsReading reading_;
  std::vector<std::string> older_;
  std::string_view last_key_;
  const SettingsWord* large_segment_ = nullptr;
};

}  // namespace

SettingsReading read_into(std::string_view text, std::string_view source, Settings& settings,
                          Decisions decisions) {
  if (decisions == Decisions::pytorch) return Reader(text, source, settings, decisions).read();
  Settings changed = settings;
  SettingsReading reading = Reader(text, source, changed, decisions).read();
  settings = std::move(changed);
  return reading;
}

}  // namespace settings

SettingsReading apply_settings(std::string_view text, Settings& settings, Decisions decisions) {
  return settings::read_into(text, "apply_settings", settings, decisions);
}

std::string settings_text(const Settings& settings) {
  const Settings defaults = settings::defaults_beside(settings);
  std::vector<std::string> items;
  for (const settings::Key& key : settings::keys()) {
    const SettingValue value = settings::value_of(key, settings);
    if (value == settings::value_of(key, defaults)) continue;
    items.push_back(fmt::format("{}:{}", key.name, settings::printed(value)));
  }
  return fmt::format("{}", fmt::join(items, ","));
}

std::vector<std::pair<std::string, SettingValue>> settings_values(const Settings& settings) {
  std::vector<std::pair<std::string, SettingValue>> values;
  for (const settings::Key& key : settings::keys()) {
    values.emplace_back(key.name, settings::value_of(key, settings));
  }
  return values;
}

}  // namespace strandline::alloc
