// SPDX-License-Identifier: Apache-2.0
// Runs an allocator program, operation by operation, on a SegmentAllocator over sim. The format is
// that of ../shared/samples/allocator_programs/README.md; captures and expandable segments are not
// served yet, and say so.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "alloc/program/answers.h"
#include "strandline/alloc/settings.h"

namespace strandline::alloc::program {

/// The program asks for what is not there yet.
class Unsupported : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Interpreter {
 public:
  Interpreter(const Json& header, Decisions decisions)
      : decisions_(decisions),
        device_(header.at("bytes"), header.value("events", "auto") == "auto"),
        allocator_(device_, {.decisions = decisions}) {
    streams_.push_back(device_.streams().default_stream());
    for (std::uint64_t i = 0; i < header.value("streams", 4u); ++i) {
      streams_.push_back(device_.streams().create());
    }
    for (const StreamId stream : streams_) numbers_.emplace(stream, numbers_.size());
    (void)allocator_.add_trace_tracker([this](const TraceEntry& entry) {
      history_.push_back({entry, nullptr, label_});
      ++fresh_;
    });
  }

  Json run(std::uint64_t number, const Json& operation) {
    const std::string name = operation.at("op");
    const std::int64_t before = allocator_.segment_statistics().allocated_bytes.all.current;
    Json answer = {{"i", number}, {"op", name}};
    std::optional<device::Address> address;
    fresh_ = 0;
    device_.log.calls.clear();
    try {
      address = perform(name, operation, answer);
    } catch (const OutOfMemory& error) {
      answer["oom"] = true;
      answer["message"] = error.what();
    } catch (const Error& error) {
      answer["error"] = error.what();
    }
    Json driver = take_calls();
    const SegmentStatistics now = allocator_.segment_statistics();
    if (address) {
      answer["at"] = places_.find(*address);
      answer["block"] = now.allocated_bytes.all.current - before;
    }
    if (name == "snapshot") answer["segments"] = segments();
    if (name == "trace") answer["events"] = history();
    if (!driver.empty()) answer["driver"] = std::move(driver);
    answer["stats"] = short_statistics(now);
    return answer;
  }

  SegmentAllocator& allocator() { return allocator_; }

 private:
  struct Event {
    TraceEntry entry;
    Json place;
    std::string label;
  };

  // The address that an alloc gave.
  std::optional<device::Address> perform(const std::string& name, const Json& operation,
                                         Json& answer) {
    if (name == "alloc") return alloc(operation, answer);
    if (name == "free") {
      free(operation, answer);
    } else if (name == "record_stream") {
      const auto found = blocks_.find(operation.at("id"));
      if (found == blocks_.end()) {
        answer["skipped"] = true;
      } else {
        allocator_.record_stream(found->second, streams_.at(operation.at("stream")));
      }
    } else if (name == "settings") {
      set(operation.at("value"));
    } else if (name == "memory_fraction") {
      (void)allocator_.set_memory_fraction(operation.at("value"));
    } else if (name == "empty_cache") {
      (void)allocator_.empty_cache();
    } else if (name == "reset_peak") {
      allocator_.reset_peaks();
    } else if (name == "label") {
      label_ = operation.at("value");
    } else if (name == "fail") {
      if (operation.at("function") != "cudaMalloc") throw Unsupported("fail of another function");
      device_.log.fails_in.push_back(operation.value("nth", 1u));
    } else if (name == "stats") {
      answer["all"] = all_statistics(allocator_.segment_statistics(), pool_names_);
    } else if (name != "note" && name != "snapshot" && name != "trace" &&
               !perform_on_streams(name, operation) && !perform_on_pools(name, operation)) {
      throw Unsupported("operation " + name);
    }
    return std::nullopt;
  }

  bool perform_on_streams(const std::string& name, const Json& operation) {
    const bool has_stream = operation.contains("stream");
    const StreamId stream = streams_.at(operation.value("stream", 0u));
    if (name == "complete") {
      if (operation.contains("events")) {
        device_.streams().complete_points(stream, operation.at("events"));
      } else if (has_stream) {
        device_.quiet_streams().wait(stream);
      } else {
        device_.quiet_streams().wait_all();
      }
    } else if (name == "synchronize") {
      if (has_stream) {
        device_.streams().wait(stream);
      } else {
        device_.streams().wait_all();
      }
    } else if (name == "kernel") {
      device_.streams().enqueue(stream,
                                {.name = "kernel", .accesses = {}, .binds = {}, .body = {}});
    } else if (name == "wait") {
      const device::DeviceEventId event = device_.streams().create_event();
      device_.streams().record(event, streams_.at(operation.at("on")));
      device_.streams().wait_event(stream, event);
    } else {
      return false;
    }
    return true;
  }

  bool perform_on_pools(const std::string& name, const Json& operation) {
    if (!operation.contains("pool") || name.rfind("pool_", 0) != 0) return false;
    const std::string pool = operation.at("pool");
    if (name == "pool_create") {
      pools_[pool] = allocator_.create_pool({.use_on_oom = operation.value("use_on_oom", false),
                                             .no_split = operation.value("no_split", false)});
      pool_names_[pools_[pool]] = pool;
    } else if (name == "pool_begin") {
      allocator_.begin_pool(pools_.at(pool));
    } else if (name == "pool_end") {
      allocator_.end_pool(pools_.at(pool));
    } else if (name == "pool_release") {
      allocator_.destroy_pool(pools_.at(pool));
      pools_.erase(pool);
    } else {
      return false;
    }
    return true;
  }

  std::optional<device::Address> alloc(const Json& operation, Json& answer) {
    const std::uint64_t size = operation.at("size");
    if (size > INT64_MAX) {  // what PyTorch's Python function says before it asks the allocator
      throw InvalidArgument("Invalid memory size: -1. It has to be non-negative.");
    }
    const StreamId stream = streams_.at(operation.value("stream", 0u));
    const Buffer buffer = allocator_.malloc(size, {.stream = stream});
    blocks_[operation.at("id")] = buffer;
    if (buffer) return buffer.address();
    answer["null"] = true;
    return std::nullopt;
  }

  void free(const Json& operation, Json& answer) {
    const auto found = blocks_.find(operation.at("id"));
    if (found == blocks_.end()) {
      answer["skipped"] = true;
      return;
    }
    allocator_.free(found->second);
    blocks_.erase(found);
  }

  void set(const std::string& text) {
    const auto apply = [this] {
      if (settings_.expandable_segments) throw Unsupported("expandable segments");
      (void)allocator_.set_settings(settings_);
    };
    try {
      (void)apply_settings(text, settings_, decisions_);
    } catch (const SettingsError&) {
      apply();  // of PyTorch: what stood before the error
      throw;
    }
    apply();
  }

  // -- looking ------------------------------------------------------------------------------------

  Json take_calls() {
    std::vector<Json> calls;
    bool has_new_segments = false;
    for (const LoggedCall& call : device_.log.calls) {
      calls.push_back(call_json(call, places_, numbers_));
      has_new_segments = has_new_segments || call.verb == Verb::malloc;
    }
    if (has_new_segments) {
      for (const record::SegmentState& segment : allocator_.segments()) {
        pool_of_segment_[places_.segment_of(segment.address)] = segment.pool.value;
      }
    }
    // Now that the segments are numbered.
    for (std::size_t i = history_.size() - fresh_; i < history_.size(); ++i) {
      const TraceEntry& entry = history_[i].entry;
      const bool has_place = entry.action != record::Action::oom;
      history_[i].place = has_place ? places_.find(entry.address) : Json(entry.address);
    }
    return in_fixed_order(std::move(calls), pool_of_segment_);
  }

  Json pool_name(PoolId pool) const { return pool ? Json(pool_names_.at(pool)) : Json(nullptr); }

  Json segments() const {
    Json list = Json::array();
    for (const record::SegmentState& segment : allocator_.segments()) {
      Json blocks = Json::array();
      for (const record::BlockState& block : segment.blocks) {
        const char* state = block.use == record::BlockUse::allocated      ? "allocated"
                            : block.use == record::BlockUse::pending_free ? "pending"
                                                                          : "free";
        blocks.push_back({block.address - segment.address, block.size, block.requested, state});
      }
      list.push_back({{"at", places_.find(segment.address)},
                      {"size", segment.size},
                      {"type", segment.is_small ? "small" : "large"},
                      {"stream", numbers_.at(segment.stream)},
                      {"pool", pool_name(segment.pool)},
                      {"expandable", false},
                      {"blocks", std::move(blocks)}});
    }
    return list;
  }

  Json history() const {
    std::vector<Json> events;
    for (const Event& event : history_) {
      Json one = {record::action_name(event.entry.action), event.place, event.entry.size,
                  numbers_.at(event.entry.stream), pool_name(event.entry.pool)};
      if (!event.label.empty()) one.push_back(event.label);
      events.push_back(std::move(one));
    }
    sort_runs(
        events, [](const Json& event) { return event[0]; },
        [](const Json& event) {
          const bool is_sorted = event[0] == "free_completed";
          return is_sorted ? std::pair<std::uint64_t, std::uint64_t>(event[1][0], event[1][1])
                           : std::pair<std::uint64_t, std::uint64_t>();
        });
    return Json(std::move(events));
  }

  const Decisions decisions_;
  LoggedDevice device_;
  Places places_;
  std::vector<StreamId> streams_;
  std::map<StreamId, std::uint64_t> numbers_;
  std::map<PoolId, std::string> pool_names_;
  std::map<std::string, PoolId> pools_;
  std::map<std::uint64_t, std::uint32_t> pool_of_segment_;
  std::map<std::uint64_t, Buffer> blocks_;
  std::vector<Event> history_;
  std::size_t fresh_ = 0;  // events of this operation
  std::string label_;
  Settings settings_;
  SegmentAllocator allocator_;
};

}  // namespace strandline::alloc::program
