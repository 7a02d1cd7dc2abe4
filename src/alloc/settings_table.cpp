// SPDX-License-Identifier: Apache-2.0
#include "alloc/settings_table.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace strandline::alloc::settings {
namespace {

using S = Settings;

constexpr std::array kKeys = {
    Key{"backend",
        {},
        Backend{},
        Effect::kept,
        "Who serves allocations: our segments, or the device's stream-ordered pools."},
    Key{"large_segment_size_mb",
        {},
        LargeSegment{},
        Effect::acts,
        "Segment obtained for a request above 1 MiB and below 10 MiB. Read before all other keys."},
    Key{"max_split_size_mb",
        {},
        Mebibytes{&S::max_split_bytes, Least::large_segment},
        Effect::acts,
        "Blocks of this size and more are never cut, and serve only requests of this size and "
        "more."},
    Key{"max_non_split_rounding_mb",
        {},
        Mebibytes{&S::max_non_split_rounding_bytes, Least::large_segment},
        Effect::acts,
        "By less than this may a block that is not cut exceed the request. Follows "
        "`large_segment_size_mb` while it is equal to it."},
    Key{"garbage_collection_threshold",
        {},
        Fraction{&S::garbage_collection_threshold, true},
        Effect::acts,
        "Share of the memory limit past which blocks that were unused for long go back to the "
        "device."},
    Key{"roundup_power2_divisions",
        {},
        Divisions{},
        Effect::acts,
        "Into how many steps the way from a power of two to the next is divided when sizes are "
        "rounded up; 1: to the next power, 0: to multiples of 512 bytes. In a list each word "
        "before "
        "`:` is where an interval begins, in MiB: `[256:1,512:2,>:4]`."},
    Key{"per_process_memory_fraction",
        {},
        Fraction{&S::per_process_memory_fraction, false},
        Effect::acts,
        "Share of the device's memory that may be obtained; 1: all."},
    Key{"throw_on_device_malloc_oom",
        {"throw_on_cudamalloc_oom", ""},
        Flag{&S::throw_on_device_malloc_oom},
        Effect::acts,
        "Out of memory at once when the device has no more, instead of giving back what is "
        "cached."},
    Key{"release_lock_on_device_malloc",
        {"release_lock_on_cudamalloc", "release_lock_on_hipmalloc"},
        Flag{&S::release_lock_on_device_malloc},
        Effect::acts,
        "The lock is released while the device allocates. Ours always is, whatever this says."},
    Key{"expandable_segments",
        {},
        Flag{&S::expandable_segments},
        Effect::kept,
        "Segments that grow by pages in reserved addresses."},
    Key{"expandable_segments_reserve",
        {},
        Reserve{},
        Effect::kept,
        "Addresses that an expandable segment reserves: a share of the device's memory, or GiB "
        "with `G` behind."},
    Key{"expandable_segments_reserve_by_class",
        {},
        ReserveByClass{},
        Effect::kept,
        "The same for classes of streams, each by its name."},
    Key{"graph_capture_record_stream_reuse",
        {},
        Flag{&S::graph_capture_record_stream_reuse},
        Effect::kept,
        "Memory that other streams used is reused inside the capture that freed it, where the "
        "graph orders it."},
    Key{"pinned_use_host_register",
        {"pinned_use_cuda_host_register", "pinned_use_hip_host_register"},
        Flag{&S::pinned_use_host_register},
        Effect::kept,
        "Pinned memory is the host's own, registered with the device."},
    Key{"pinned_num_register_threads",
        {},
        Threads{&S::pinned_register_threads},
        Effect::kept,
        "Threads that touch its pages first."},
    Key{"pinned_use_background_threads",
        {},
        Flag{&S::pinned_use_background_threads},
        Effect::kept,
        "Device events of pinned blocks are looked at by threads of their own."},
    Key{"pinned_reserve_segment_size_mb",
        {},
        Mebibytes{&S::pinned_reserve_segment_bytes, Least::one},
        Effect::kept,
        "One segment obtained at the start, from which small pinned blocks are cut."},
    Key{"pinned_free_catch_all",
        {},
        Flag{&S::pinned_free_catch_all},
        Effect::kept,
        "Errors while pinned memory is freed are logged and not thrown."},
    Key{"pinned_max_round_threshold_mb",
        {},
        Mebibytes{&S::pinned_max_round_bytes},
        Effect::kept,
        "Larger pinned requests are not rounded up to powers of two."},
    Key{"pinned_max_cached_size_mb",
        {},
        Mebibytes{&S::pinned_max_cached_bytes},
        Effect::kept,
        "Larger pinned blocks are not kept for reuse."},
};

std::string text_of(const ExpandableReserve& reserve) {
  constexpr std::uint64_t kGibibyte = std::uint64_t{1} << 30;
  if (reserve.bytes == 0) return fmt::format("{}", reserve.fraction);
  if (reserve.bytes % kGibibyte == 0) return fmt::format("{}G", reserve.bytes / kGibibyte);
  return fmt::format("{}G", static_cast<double>(reserve.bytes) / static_cast<double>(kGibibyte));
}

SettingValue divisions_of(const Settings& settings) {
  const auto& divisions = settings.roundup_power2_divisions;
  if (std::ranges::count(divisions, divisions[0]) == std::ssize(divisions)) return divisions[0];
  std::string text;
  for (std::size_t i = 0; i < divisions.size(); ++i) {
    text += fmt::format("{}{}:{}", i == 0 ? "[" : ",", std::uint64_t{1} << i, divisions[i]);
  }
  return text + "]";
}

SettingValue reserve_of(const Settings& settings) {
  const ExpandableReserve reserve{
      {}, settings.expandable_reserve_fraction, settings.expandable_reserve_bytes};
  if (reserve == ExpandableReserve{}) return {};
  return text_of(reserve);
}

SettingValue classes_of(const Settings& settings) {
  if (settings.expandable_reserve_by_class.empty()) return {};
  std::string text;
  for (const ExpandableReserve& one : settings.expandable_reserve_by_class) {
    text += fmt::format("{}{}:{}", text.empty() ? "[" : ",", one.stream_class, text_of(one));
  }
  return text + "]";
}

struct ReadValue {
  const Settings& settings;

  SettingValue operator()(const Flag& flag) const { return settings.*flag.at; }
  SettingValue operator()(const Fraction& fraction) const { return settings.*fraction.at; }
  SettingValue operator()(const Threads& threads) const { return settings.*threads.at; }
  SettingValue operator()(const Mebibytes& size) const {
    const std::uint64_t bytes = settings.*size.at;
    if (bytes == Settings::kUnlimited || (bytes == 0 && size.least == Least::one)) return {};
    return bytes / kMebibyte;
  }
  SettingValue operator()(LargeSegment) const { return settings.large_segment_bytes / kMebibyte; }
  SettingValue operator()(Divisions) const { return divisions_of(settings); }
  SettingValue operator()(Reserve) const { return reserve_of(settings); }
  SettingValue operator()(ReserveByClass) const { return classes_of(settings); }
  SettingValue operator()(Backend) const {
    const bool is_native = settings.backend == SettingsBackend::native;
    return std::string(is_native ? "native" : "ordered_pools");
  }
};

struct CopyValue {
  const Settings& from;
  Settings& to;

  template <typename Plain>
  void operator()(const Plain& plain) const {
    to.*plain.at = from.*plain.at;
  }
  void operator()(LargeSegment) const { to.large_segment_bytes = from.large_segment_bytes; }
  void operator()(Divisions) const { to.roundup_power2_divisions = from.roundup_power2_divisions; }
  void operator()(Reserve) const {
    to.expandable_reserve_fraction = from.expandable_reserve_fraction;
    to.expandable_reserve_bytes = from.expandable_reserve_bytes;
  }
  void operator()(ReserveByClass) const {
    to.expandable_reserve_by_class = from.expandable_reserve_by_class;
  }
  void operator()(Backend) const { to.backend = from.backend; }
};

struct Expected {
  std::uint64_t large_mb;

  std::string operator()(const Flag&) const { return "True or False"; }
  std::string operator()(const Mebibytes& size) const {
    if (size.least == Least::zero) return "a whole number of MiB";
    if (size.least == Least::one) return "a whole number of MiB above 0";
    return fmt::format("a whole number of MiB, at least {} (large_segment_size_mb)", large_mb);
  }
  std::string operator()(LargeSegment) const { return "a whole number of MiB above 10"; }
  std::string operator()(const Fraction& fraction) const {
    return fraction.is_open ? "a number above 0 and below 1" : "a number from 0 to 1";
  }
  std::string operator()(const Threads&) const { return "a power of two up to 128"; }
  std::string operator()(Divisions) const {
    return "0, a power of two, or a list of such by powers of two of MiB or '>'";
  }
  std::string operator()(Reserve) const {
    return "a number above 0 (share of the device) or with 'G' behind (GiB)";
  }
  std::string operator()(ReserveByClass) const {
    return "a list of numbers above 0 (share of the device) or with 'G' behind (GiB), by class";
  }
  std::string operator()(Backend) const { return "native or ordered_pools (cudaMallocAsync)"; }
};

struct Print {
  std::string operator()(std::monostate) const { return "default"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(const std::string& value) const { return value; }
  template <typename Number>
  std::string operator()(Number value) const {
    return fmt::format("{}", value);
  }
};

// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t change = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({change, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

std::span<const Key> keys() {
  return kKeys;
}

const Key* find_key(std::string_view name) {
  const auto has_name = [name](const Key& key) {
    return key.name == name || (!name.empty() && std::ranges::count(key.older, name) != 0);
  };
  const auto found = std::ranges::find_if(kKeys, has_name);
  return found == kKeys.end() ? nullptr : &*found;
}

std::string_view nearest_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;  // of what could be a misspelt key
  if (name.size() > kLongest) return {};
  std::string_view nearest;
  std::size_t least = name.size() / 3 + 1;
  for (const Key& key : kKeys) {
    const std::size_t apart = distance(name, key.name);
    if (apart >= least) continue;
    least = apart;
    nearest = key.name;
  }
  return nearest;
}

std::string expected_value(const Key& key, std::uint64_t large_mb) {
  return std::visit(Expected{large_mb}, key.kind);
}

SettingValue value_of(const Key& key, const Settings& settings) {
  return std::visit(ReadValue{settings}, key.kind);
}

std::string printed(const SettingValue& value) {
  return std::visit(Print{}, value);
}

void copy(const Key& key, const Settings& from, Settings& to) {
  std::visit(CopyValue{from, to}, key.kind);
}

Settings defaults_beside(const Settings& settings) {
  Settings defaults;
  defaults.max_non_split_rounding_bytes = settings.large_segment_bytes;
  return defaults;
}

}  // namespace strandline::alloc::settings
