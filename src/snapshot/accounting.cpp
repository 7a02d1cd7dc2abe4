// SPDX-License-Identifier: Apache-2.0
// One walk backwards for the curve, one forwards for what pairs by address.
#include "strandline/snapshot/accounting.h"

#include <algorithm>
#include <set>

#include "snapshot/file_links.h"
#include "snapshot/wrapping.h"

namespace strandline::snapshot {
namespace {

using record::Action;
using record::BlockUse;

class Books {
 public:
  Books(const SnapshotFile& file, std::uint8_t device) : file_(file), snapshot_(file.snapshot) {
    account_.device = device;
    if (device < file.traces.size()) trace_ = file.traces[device];
  }

  DeviceAccount run() {
    account_.events = trace_.count;
    if (account_.device < file_.parts.size()) {
      const TracePart& part = file_.parts[account_.device];
      account_.events -= part.carried;
      if (account_.events != part.in_file) account_.part = part;
    }
    count_actions();
    add_segments();
    walk_backwards();
    pair_by_address();
    account_.verdict = verdict();
    return std::move(account_);
  }

 private:
  void count_actions() {
    const std::vector<std::uint32_t> depths = stack_depths();
    std::array<std::uint64_t, record::kActionCount> counts{};
    for (std::uint64_t i = trace_.first; i < trace_.end(); ++i) {
      const auto row = static_cast<std::size_t>(i);
      ++counts[static_cast<std::size_t>(snapshot_.events.action[row])];
      account_.max_stack_depth = std::max<std::uint64_t>(account_.max_stack_depth,
                                                         depths[snapshot_.events.stack[row].value]);
    }
    for (const EventExtra& extra : file_.extras) {
      if (extra.event < trace_.first || extra.event >= trace_.end()) continue;
      if (snapshot_.text(extra.key) != "action") continue;
      const Action action = snapshot_.events.action[static_cast<std::size_t>(extra.event)];
      std::uint64_t& count = counts[static_cast<std::size_t>(action)];
      if (count == 0) continue;  // a file that names the action of one event twice
      --count;
      ++account_.actions[std::string(snapshot_.text(extra.value))];
    }
    for (std::size_t a = 0; a < counts.size(); ++a) {
      const auto action = static_cast<Action>(a);
      if (counts[a] > 0) account_.actions[std::string(record::action_name(action))] += counts[a];
    }
  }

  /// By stack; parents come before their children.
  std::vector<std::uint32_t> stack_depths() const {
    std::vector<std::uint32_t> depths(snapshot_.stacks.size() + 1);
    for (std::uint32_t id = 1; id < depths.size(); ++id) {
      depths[id] = depths[snapshot_.stacks.parent(StackId{id}).value] + 1;
    }
    return depths;
  }

  void add_segments() {
    const SegmentColumns& segments = snapshot_.segments;
    for (std::size_t s = 0; s < segments.count(); ++s) {
      if (segments.device[s] != account_.device) continue;
      ++account_.segments;
      account_.reserved += segments.size[s];
      if (file_.unaddressed[s] != 0) addressed_ = false;
      if (!add_blocks(s)) ++account_.broken_segments;
    }
    account_.cached = wrapping_subtract(static_cast<std::int64_t>(account_.reserved),
                                        account_.live_rounding_bytes);
    account_.live_rounding_bytes =
        wrapping_subtract(account_.live_rounding_bytes, account_.active_end);
  }

  /// False when its blocks leave holes, overlap or do not add up. Sums sizes for now.
  bool add_blocks(std::size_t segment) {
    const BlockColumns& blocks = snapshot_.blocks;
    const std::size_t first = snapshot_.segments.first_block[segment];
    std::uint64_t at = snapshot_.segments.address[segment];
    std::uint64_t sum = 0;
    bool touch = true;
    for (std::size_t b = first; b < first + snapshot_.segments.block_count[segment]; ++b) {
      touch = touch && blocks.address[b] == at;
      at += blocks.size[b];
      sum += blocks.size[b];
      if (blocks.use[b] == BlockUse::inactive) {
        account_.largest_free_block = std::max(account_.largest_free_block, blocks.size[b]);
        continue;
      }
      ++account_.live_blocks;
      account_.active_end =
          wrapping_add(account_.active_end, static_cast<std::int64_t>(blocks.requested[b]));
      account_.live_rounding_bytes =
          wrapping_add(account_.live_rounding_bytes, static_cast<std::int64_t>(blocks.size[b]));
      live_[place_key(account_.device, blocks.address[b])] = blocks.requested[b];
    }
    return touch && sum == snapshot_.segments.size[segment];
  }

  void walk_backwards() {
    std::int64_t level = account_.active_end;
    account_.active_peak = level;
    account_.active_lowest = level;
    account_.active_peak_after_event = static_cast<std::int64_t>(trace_.count) - 1;
    for (std::uint64_t i = trace_.count; i-- > 0;) {
      const auto row = static_cast<std::size_t>(trace_.first + i);
      const auto size = static_cast<std::int64_t>(snapshot_.events.size[row]);
      const Action action = snapshot_.events.action[row];
      if (record::begins_block(action)) level = wrapping_subtract(level, size);
      if (record::ends_block(action)) level = wrapping_add(level, size);
      account_.active_lowest = std::min(account_.active_lowest, level);
      if (level < account_.active_peak) continue;
      account_.active_peak = level;
      account_.active_peak_after_event = static_cast<std::int64_t>(i) - 1;
    }
    account_.active_start = level;
  }

  void pair_by_address() {
    FlatMap<std::uint8_t> open;
    for (std::uint64_t i = trace_.first; i < trace_.end(); ++i) {
      const auto row = static_cast<std::size_t>(i);
      const std::uint64_t key = place_key(account_.device, snapshot_.events.address[row]);
      if (record::begins_block(snapshot_.events.action[row])) {
        std::uint8_t& entry = open[key];
        account_.double_allocs += entry;
        entry = 1;
        has_allocs_ = true;
      } else if (record::ends_block(snapshot_.events.action[row]) && !open.erase(key)) {
        ++account_.orphan_frees;
        account_.orphan_bytes += snapshot_.events.size[row];
      }
    }
    std::uint64_t lost = 0;
    std::uint64_t without_alloc = 0;
    live_.for_each([&](std::uint64_t key, std::uint64_t requested) {
      if (open.find(key) != nullptr) return;
      ++without_alloc;
      account_.before_bytes += requested;
    });
    open.for_each([&](std::uint64_t key, std::uint8_t) {
      if (live_.find(key) == nullptr) ++lost;
    });
    if (addressed_) {
      account_.live_without_alloc_event = without_alloc;
      account_.lost_frees = lost;
    } else {
      account_.before_bytes = static_cast<std::uint64_t>(account_.active_end);
    }
    const auto explained = static_cast<std::int64_t>(account_.orphan_bytes + account_.before_bytes);
    account_.residual = wrapping_subtract(account_.active_start, explained);
  }

  Verdict verdict() const {
    if (account_.broken_segments > 0 || account_.double_allocs > 0 || account_.residual != 0 ||
        account_.active_lowest < 0) {
      return Verdict::inconsistent;
    }
    if (!has_allocs_) return Verdict::state_only;
    if (account_.orphan_frees > 0 || account_.before_bytes > 0) return Verdict::starts_midway;
    return Verdict::complete;
  }

  const SnapshotFile& file_;
  const Snapshot& snapshot_;
  RowRange trace_;
  DeviceAccount account_;
  FlatMap<std::uint64_t> live_;  // requested bytes by place
  bool addressed_ = true;
  bool has_allocs_ = false;
};

}  // namespace

std::int64_t DeviceAccount::number_in_file(std::int64_t index) const noexcept {
  if (!part) return index;
  const std::int64_t in_range = index - static_cast<std::int64_t>(part->carried);
  return static_cast<std::int64_t>(part->first_event) + std::max<std::int64_t>(in_range, -1);
}

std::string_view verdict_text(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::complete:
      return "complete";
    case Verdict::starts_midway:
      return "starts-midway";
    case Verdict::state_only:
      return "state-only";
    case Verdict::inconsistent:
      return "inconsistent";
  }
  return "";
}

bool Account::is_inconsistent() const noexcept {
  return std::any_of(devices.begin(), devices.end(), [](const DeviceAccount& device) {
    return device.verdict == Verdict::inconsistent;
  });
}

Account make_account(const SnapshotFile& file, std::optional<std::uint8_t> device) {
  Account account;
  account.keys = file.keys;
  account.annotations = file.annotations.size();
  account.host_events = file.host_events.count();
  account.skipped_values = file.skipped_values;
  for (const std::uint64_t size : file.host_segments.size) account.host_reserved += size;
  for (const auto& [key, count] : file.unknown_keys) {
    account.unknown_keys.emplace_back(file.snapshot.text(key), count);
  }
  const std::vector<std::uint8_t>& of_segments = file.snapshot.segments.device;
  std::set<std::uint8_t> devices(of_segments.begin(), of_segments.end());
  for (std::size_t d = 0; d < file.traces.size(); ++d) {
    if (file.traces[d].count > 0) devices.insert(static_cast<std::uint8_t>(d));
  }
  for (const std::uint8_t number : devices) {
    if (!device || number == *device) account.devices.push_back(Books(file, number).run());
  }
  return account;
}

}  // namespace strandline::snapshot
