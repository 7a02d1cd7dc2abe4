// SPDX-License-Identifier: Apache-2.0
#include "alloc/settings_value.h"

#include <algorithm>
#include <bit>
#include <optional>

#include <fmt/format.h>

#include "alloc/faults.h"

namespace strandline::alloc::settings {
namespace {

constexpr std::size_t kIntervals = Settings::kIntervals;

std::uint64_t bytes_of_mebibytes(std::uint64_t count) {
  return std::min(count, UINT64_MAX / kMebibyte) * kMebibyte;
}

std::optional<ExpandableReserve> reserve_of(std::string_view text) {
  const bool is_bytes = text.ends_with('G') || text.ends_with('g');
  const std::optional<double> number =
      real_number(text.substr(0, text.size() - (is_bytes ? 1 : 0)));
  if (!number || *number <= 0) return std::nullopt;
  if (!is_bytes) return ExpandableReserve{.stream_class = {}, .fraction = *number};
  constexpr double kGibibyte = 1024.0 * 1024 * 1024;
  constexpr double kMost = 9.0e18;  // below 2^63: larger ones saturate
  return ExpandableReserve{
      .stream_class = {},
      .fraction = 0,
      .bytes = std::max<std::uint64_t>(
          static_cast<std::uint64_t>(std::min(*number * kGibibyte, kMost)), 1)};
}

struct ReadWords {
  Words& words;
  const Key& key;
  std::string_view name;
  Settings& settings;
  std::vector<std::string>& notes;

  [[nodiscard]] std::string expected() const {
    return expected_value(key, settings.large_segment_bytes / kMebibyte);
  }
  [[nodiscard]] const SettingsWord& word() const { return words.word(name, expected()); }
  [[noreturn]] void refuse(const SettingsWord& word) const { words.refuse(name, word, expected()); }

  void operator()(const Flag& flag) const {
    const SettingsWord& value = word();
    if (value.text != "True" && value.text != "False") refuse(value);
    settings.*flag.at = value.text == "True";
  }

  void operator()(const Mebibytes& size) const {
    const SettingsWord& value = word();
    const std::optional<std::uint64_t> count = whole_number(value.text);
    if (!count) refuse(value);
    const std::uint64_t bytes = bytes_of_mebibytes(*count);
    const bool is_too_small =
        (size.least == Least::one && bytes == 0) ||
        (size.least == Least::large_segment && bytes < settings.large_segment_bytes);
    if (is_too_small) refuse(value);
    settings.*size.at = bytes;
  }

  // max_non_split_rounding_mb goes along where it stood at its default.
  void operator()(LargeSegment) const {
    const SettingsWord& value = word();
    const std::optional<std::uint64_t> count = whole_number(value.text);
    if (!count || *count <= 10) refuse(value);
    std::uint64_t& rounding = settings.max_non_split_rounding_bytes;
    const bool follows = rounding == settings.large_segment_bytes;
    settings.large_segment_bytes = bytes_of_mebibytes(*count);
    if (follows) rounding = settings.large_segment_bytes;
  }

  void operator()(const Fraction& fraction) const {
    const SettingsWord& value = word();
    const std::optional<double> number = real_number(value.text);
    if (!number || *number > 1 || (fraction.is_open && (*number == 0 || *number == 1))) {
      refuse(value);
    }
    settings.*fraction.at = *number;
  }

  void operator()(const Threads& threads) const {
    constexpr std::uint64_t kMost = 128;
    const SettingsWord& value = word();
    const std::optional<std::uint64_t> count = whole_number(value.text);
    if (!count || !std::has_single_bit(*count) || *count > kMost) refuse(value);
    settings.*threads.at = *count;
  }

  void operator()(Backend) const {
    const SettingsWord& value = word();
    const bool is_native = value.text == "native";
    const bool is_ordered = value.text == "ordered_pools" || value.text == "cudaMallocAsync" ||
                            value.text == "hipMallocAsync";
    if (!is_native && !is_ordered) refuse(value);
    settings.backend = is_native ? SettingsBackend::native : SettingsBackend::ordered_pools;
  }

  void operator()(Reserve) const {
    const SettingsWord& value = word();
    const std::optional<ExpandableReserve> reserve = reserve_of(value.text);
    if (!reserve) return ignore(value);
    settings.expandable_reserve_fraction = reserve->fraction;
    settings.expandable_reserve_bytes = reserve->bytes;
  }

  void operator()(ReserveByClass) const {
    std::vector<ExpandableReserve> classes;
    list([&](const SettingsWord& stream_class) {
      const SettingsWord& value = word();
      std::optional<ExpandableReserve> reserve = reserve_of(value.text);
      if (!reserve) return ignore(value);
      reserve->stream_class = stream_class.text;
      std::erase_if(classes,
                    [&](const auto& one) { return one.stream_class == stream_class.text; });
      classes.push_back(std::move(*reserve));
    });
    settings.expandable_reserve_by_class = std::move(classes);
  }

  void operator()(Divisions) const {
    auto& divisions = settings.roundup_power2_divisions;
    if (!words.sees('[')) {
      const SettingsWord& value = word();
      divisions.fill(division(value));
      if (words.are_lenient() && divisions[0] == 0) {
        divisions = {};
        refuse(value);
      }
      return;
    }
    if (words.are_lenient()) return read_pytorch_list();
    std::array<std::optional<std::uint64_t>, kIntervals> given;
    std::optional<std::uint64_t> above;
    list([&](const SettingsWord& interval) {
      if (interval.text == ">") {
        above = division(word());
      } else {
        given[index(interval)] = division(word());
      }
    });
    fill_intervals(given, above);
  }

 private:
  void ignore(const SettingsWord& value) const {
    if (!words.are_lenient()) refuse(value);
    notes.push_back(fmt::format("{} '{}' is ignored, as PyTorch does", name, value.text));
  }

  // '[' word ':' ... ',' word ':' ... ']'; `pair` is given the first word and reads the value.
  template <typename Pair>
  void list(Pair&& pair) const {
    words.pass('[', name);
    while (!words.sees(']')) {
      const SettingsWord& first = words.word(name, "a list that ends with ']'");
      words.pass(':', name);
      pair(first);
      if (!words.sees(']')) words.pass(',', name);
    }
    words.take();
  }

  [[nodiscard]] std::uint64_t division(const SettingsWord& value) const {
    const std::optional<std::uint64_t> count = whole_number(value.text);
    if (!count || (*count != 0 && !std::has_single_bit(*count))) refuse(value);
    return *count;
  }
  [[nodiscard]] std::size_t index(const SettingsWord& interval) const {
    const std::optional<std::uint64_t> start = whole_number(interval.text);
    if (!start || !std::has_single_bit(*start)) refuse(interval);
    return std::min<std::size_t>(static_cast<std::size_t>(std::countr_zero(*start)),
                                 kIntervals - 1);
  }

  // A value holds from its interval up to the next one that is given, the first one below as well;
  // '>' holds above the last.
  void fill_intervals(const std::array<std::optional<std::uint64_t>, kIntervals>& given,
                      std::optional<std::uint64_t> above) const {
    const auto is_given = [](const auto& one) { return one.has_value(); };
    const auto first = std::ranges::find_if(given, is_given);
    std::uint64_t value = first == given.end() ? above.value_or(0) : **first;
    std::size_t last = 0;
    for (std::size_t i = 0; i < kIntervals; ++i) {
      if (given[i]) last = i;
    }
    for (std::size_t i = 0; i < kIntervals; ++i) {
      if (given[i]) value = *given[i];
      if (i + (is_on(Fault::D15_above_overwrites_the_last_interval) ? 1 : 0) > last && above) {
        value = *above;
      }
      settings.roundup_power2_divisions[i] = value;
    }
  }

  // Each item takes effect as it is read, and what lies between two of them stays 0.
  void read_pytorch_list() const {
    auto& divisions = settings.roundup_power2_divisions;
    std::size_t last = 0;
    bool is_first = true;
    list([&](const SettingsWord& interval) {
      const std::uint64_t value = division(word());
      if (interval.text == ">") {
        std::fill(divisions.begin() + static_cast<std::ptrdiff_t>(last) + 1, divisions.end(),
                  value);
        return;
      }
      last = index(interval);
      if (std::exchange(is_first, false)) std::fill_n(divisions.begin(), last, value);
      divisions[last] = value;
    });
  }
};

}  // namespace

bool Words::go_behind(std::string_view name) {
  std::size_t depth = 0;
  for (next_ = 0; !at_end(); ++next_) {
    if (sees('[')) ++depth;
    if (sees(']') && depth > 0) --depth;
    const bool may_be_key = next_ == 0 || words_[next_ - 1].is(',') || are_lenient();
    if (depth == 0 && may_be_key && words_[next_].text == name) return ++next_ > 0;
  }
  return false;
}

bool Words::take_if(std::string_view text) {
  const bool is_there = !at_end() && words_[next_].text == text;
  if (is_there) ++next_;
  return is_there;
}

const SettingsWord& Words::word(std::string_view key, std::string_view expected) {
  if (at_end()) refuse_end(key, expected);
  const SettingsWord& word = take();
  if (word.is_separator() && !are_lenient()) refuse(key, word, expected);
  return word;
}

void Words::pass(char separator, std::string_view key) {
  const std::string expected = fmt::format("'{}'", separator);
  if (at_end()) refuse_end(key, expected);
  const SettingsWord& word = take();
  if (!word.is(separator) && !are_lenient()) refuse(key, word, expected);
}

void Words::refuse(std::string_view key, const SettingsWord& word,
                   std::string_view expected) const {
  const std::string what = fmt::format("{} at position {}", key, word.position);
  throw SettingsError(error_message(source_, what, "'" + word.text + "'", expected),
                      std::string(key), word.text, word.position);
}

void Words::refuse_end(std::string_view key, std::string_view expected) const {
  const std::string what = fmt::format("{} at position {}", key, end_);
  throw SettingsError(error_message(source_, what, "the end of the string", expected),
                      std::string(key), {}, end_);
}

void read_value(Words& words, const Key& key, std::string_view name, Settings& settings,
                std::vector<std::string>& notes) {
  std::visit(ReadWords{words, key, name, settings, notes}, key.kind);
}

}  // namespace strandline::alloc::settings
