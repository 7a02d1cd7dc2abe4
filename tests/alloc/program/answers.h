// SPDX-License-Identifier: Apache-2.0
// Answers in the format of the allocator programs: places instead of addresses, statistics and
// history under PyTorch's names, calls sorted where PyTorch's order is that of a hash table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "alloc/program/logged_device.h"
#include "strandline/alloc/segment_allocator.h"

namespace strandline::alloc::program {

using Json = nlohmann::ordered_json;

/// Turns addresses into [segment, offset]; segments are numbered as they are obtained.
class Places {
 public:
  std::size_t add(device::Address base, std::uint64_t size) {
    spans_.emplace_back(base, size);
    return spans_.size() - 1;
  }
  std::size_t segment_of(device::Address address) const {
    for (std::size_t i = spans_.size(); i-- > 0;) {
      if (address >= spans_[i].first && address - spans_[i].first < spans_[i].second) return i;
    }
    return SIZE_MAX;
  }
  Json find(device::Address address) const {
    const std::size_t segment = segment_of(address);
    if (segment == SIZE_MAX) return nullptr;
    return Json::array({segment, address - spans_[segment].first});
  }

 private:
  std::vector<std::pair<device::Address, std::uint64_t>> spans_;
};

/// Sorts each run of neighbours of one kind by `key`, and keeps the order of equals.
template <typename Item, typename Kind, typename Key>
void sort_runs(std::vector<Item>& items, Kind&& kind, Key&& key) {
  for (auto start = items.begin(); start != items.end();) {
    auto end = start;
    while (end != items.end() && kind(*end) == kind(*start)) ++end;
    std::stable_sort(start, end, [&](const Item& a, const Item& b) { return key(a) < key(b); });
    start = end;
  }
}

inline Json stat_json(const Stat& stat) {
  return {{"current", stat.current},
          {"peak", stat.peak},
          {"allocated", stat.allocated},
          {"freed", stat.freed}};
}

inline Json stat_json(const StatByPool& stat) {
  return {{"all", stat_json(stat.all)},
          {"small_pool", stat_json(stat.small_pool)},
          {"large_pool", stat_json(stat.large_pool)}};
}

/// All that memory_stats_as_nested_dict tells; unlimited is -1 there.
inline Json all_statistics(const SegmentStatistics& now,
                           const std::map<PoolId, std::string>& pool_names) {
  Json all = {{"num_alloc_retries", now.num_alloc_retries},
              {"num_ooms", now.num_ooms},
              {"max_split_size", static_cast<std::int64_t>(now.max_split_size)},
              {"num_sync_all_streams", now.num_sync_all_streams},
              {"num_device_alloc", now.num_device_alloc},
              {"num_device_free", now.num_device_free},
              {"num_oom_rejections", now.num_oom_rejections},
              {"allocation", stat_json(now.allocation)},
              {"segment", stat_json(now.segment)},
              {"active", stat_json(now.active)},
              {"inactive_split", stat_json(now.inactive_split)},
              {"allocated_bytes", stat_json(now.allocated_bytes)},
              {"reserved_bytes", stat_json(now.reserved_bytes)},
              {"active_bytes", stat_json(now.active_bytes)},
              {"inactive_split_bytes", stat_json(now.inactive_split_bytes)},
              {"requested_bytes", stat_json(now.requested_bytes)},
              {"oversize_allocations", stat_json(now.oversize_allocations)},
              {"oversize_segments", stat_json(now.oversize_segments)}};
  Json pools = Json::object();
  for (const auto& [id, stat] : now.reserved_bytes_by_private_pools) {
    pools[pool_names.at(id)] = stat_json(stat);
  }
  all["reserved_bytes_by_private_pools"] = std::move(pools);
  return all;
}

/// After each operation.
inline Json short_statistics(const SegmentStatistics& now) {
  return {{"allocated", now.allocated_bytes.all.current},
          {"reserved", now.reserved_bytes.all.current},
          {"active", now.active_bytes.all.current},
          {"requested", now.requested_bytes.all.current},
          {"segments", now.segment.all.current},
          {"inactive_split", now.inactive_split.all.current},
          {"inactive_split_bytes", now.inactive_split_bytes.all.current}};
}

inline Json call_json(const LoggedCall& call, Places& places,
                      const std::map<StreamId, std::uint64_t>& streams) {
  const auto stream = [&] { return streams.at(call.stream); };
  switch (call.verb) {
    case Verb::malloc:
      return {"malloc", places.add(call.address, call.size), call.size};
    case Verb::malloc_failed:
      return {"malloc_failed", call.size};
    case Verb::free:
      return {"free", places.segment_of(call.address)};
    case Verb::record:
      return {"record", stream()};
    case Verb::query:
      return {"query", stream(), call.is_done};
    case Verb::wait_event:
      return {"wait_event", stream()};
    case Verb::wait_stream:
      return {"wait_stream", stream()};
    case Verb::wait_device:
      return Json::array({"wait_device"});
  }
  return nullptr;
}

/// Neighbouring event calls by stream, neighbouring frees by the pool of their segment.
inline Json in_fixed_order(std::vector<Json> calls,
                           const std::map<std::uint64_t, std::uint32_t>& pool_of_segment) {
  sort_runs(
      calls, [](const Json& call) { return call[0]; },
      [&](const Json& call) -> std::uint64_t {
        const std::string verb = call[0];
        if (verb == "record" || verb == "query" || verb == "wait_event") return call[1];
        return verb == "free" ? pool_of_segment.at(call[1]) : 0;
      });
  return Json(std::move(calls));
}

}  // namespace strandline::alloc::program
