// SPDX-License-Identifier: Apache-2.0
// A record made by hand: a naive model of what the recorder keeps, told what happens to memory,
// that yields a cut. One tick is one nanosecond of Unix time. Peak sets are kept by copying all
// that is live at every new peak.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "strandline/record/capture.h"
#include "strandline/record/recorder.h"
#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot::testing {

inline constexpr std::uint64_t kMiB = 1U << 20;
inline constexpr std::uint64_t kStartTicks = 1'700'000'000'000'000'000U;

/// Tells frames that tests have made up; counts how often each is asked for.
class MadeUpFrames final : public record::CaptureSource {
 public:
  std::string_view name() const noexcept override { return "made up"; }
  bool can_gather() const noexcept override { return false; }
  TracebackId gather(record::TracebackTable&, std::uint16_t) noexcept override { return {}; }
  record::Frame resolve(const record::RawFrame& raw) const override {
    ++resolved_[raw.code];
    return frames_.at(static_cast<std::size_t>(raw.code - 1));
  }

  record::RawFrame frame(const record::Frame& frame) {
    const auto known = std::find(frames_.begin(), frames_.end(), frame);
    const auto at = static_cast<std::uint64_t>(known - frames_.begin());
    if (known == frames_.end()) frames_.push_back(frame);
    return {.code = at + 1, .offset = 0, .source = index_};
  }

  std::uint64_t times_resolved(const record::RawFrame& raw) const { return resolved_[raw.code]; }
  void forget_counts() { resolved_.clear(); }

  static MadeUpFrames& instance() {
    static MadeUpFrames* const only = [] {
      auto source = std::make_unique<MadeUpFrames>();
      MadeUpFrames* const kept = source.get();
      kept->index_ = record::register_capture_source(std::move(source));
      return kept;
    }();
    return *only;
  }

 private:
  std::deque<record::Frame> frames_;
  mutable std::map<std::uint64_t, std::uint64_t> resolved_;
  std::uint16_t index_ = 0;
};

class SyntheticRecord {
 public:
  record::Tables tables;
  record::Cut cut;
  std::uint64_t ring_entries = UINT64_MAX;
  std::uint64_t now = kStartTicks;
  std::uint64_t tick_step = 1'000'000;
  std::uint8_t device = 0;

  /// A stack, innermost first.
  TracebackId stack(const std::vector<record::Frame>& innermost_first) {
    std::vector<record::RawFrame> raw;
    record::Fingerprint fingerprint;
    for (const record::Frame& frame : innermost_first) {
      raw.push_back(MadeUpFrames::instance().frame(frame));
      fingerprint.add(raw.back().code, raw.back().offset);
    }
    const TracebackId known = tables.tracebacks.find(fingerprint);
    return known ? known : tables.tracebacks.insert(fingerprint, raw, false);
  }

  record::Holder holder(TracebackId stack, const char* op, std::vector<std::int64_t> shape = {},
                        const char* label = "") {
    return {.traceback = stack,
            .op = tables.ops.intern(op),
            .layout = tables.layouts.intern(shape, record::Dtype::float32),
            .label = tables.labels.intern(label)};
  }

  void alloc(record::Action action, std::uint64_t address, std::uint64_t size,
             std::uint64_t requested, const record::Holder& holder) {
    const std::uint64_t number = next_;
    record::LiveBlock block{.address = address,
                            .size = size,
                            .requested = requested,
                            .alloc_ticks = now + tick_step,
                            .alloc_sequence = number,
                            .holder = holder,
                            .owner = {},
                            .stream = stream,
                            .pool = {},
                            .thread = 1,
                            .device = device,
                            .action = action,
                            .hidden = false};
    write(event_of(action, block));
    live[address] = block;
    note_peak(number);
  }

  void release(record::Action action, std::uint64_t address) {
    write(event_of(action, live.at(address)));
    live.erase(address);
  }

  void free_requested(std::uint64_t address) {
    write(event_of(record::Action::free_requested, live.at(address)));
  }

  void note(record::Action action, std::uint64_t address, std::uint64_t size,
            std::uint64_t requested = 0) {
    record::Event event;
    event.address = address;
    event.size = size;
    event.requested = requested;
    event.action = action;
    event.device = device;
    event.stream = stream;
    write(event);
  }

  void annotate(std::uint64_t address, const char* label) {
    record::LiveBlock& block = live.at(address);
    block.holder.label = tables.labels.intern(label);
    for (std::vector<record::LiveBlock>& set : cut.peak_set) {
      for (record::LiveBlock& kept : set) {
        if (kept.alloc_sequence == block.alloc_sequence) kept.holder.label = block.holder.label;
      }
    }
    record::Event event = event_of(record::Action::annotate, block);
    event.owner = {};
    write(event);
  }

  void change_holder(std::uint64_t address, const record::Holder& holder) {
    record::LiveBlock& block = live.at(address);
    block.holder = holder;
    record::Event event = event_of(record::Action::holder, block);
    event.size = holder.view_bytes;
    event.requested = holder.view_offset;
    write(event);
  }

  std::uint32_t begin_phase(const char* name, std::uint32_t parent = 0) {
    const auto number = static_cast<std::uint32_t>(cut.phases.size() + 1);
    record::Phase phase;
    phase.name = name;
    phase.number = number;
    phase.parent = parent;
    phase.start_ticks = now;
    phase.start_sequence = next_;
    phase.start_active = active(0);
    cut.phases.push_back(phase);
    return number;
  }

  void end_phase(std::uint32_t number) {
    record::Phase& phase = cut.phases[number - 1];
    phase.open = false;
    phase.end_ticks = now;
    phase.end_sequence = next_;
    phase.end_active = active(0);
  }

  Snapshot snapshot() {
    cut.next_sequence = next_;
    cut.first_sequence = next_ - cut.events.size();
    cut.start_ticks = kStartTicks;
    constexpr auto kStartNs = static_cast<std::int64_t>(kStartTicks);
    constexpr std::int64_t kSecondNs = 1'000'000'000;
    cut.clock =
        ClockConversion({kStartTicks, kStartNs}, {kStartTicks + kSecondNs, kStartNs + kSecondNs});
    cut.ticks = now + tick_step;
    cut.live.clear();
    for (const auto& [address, block] : live) cut.live.push_back(block);
    for (std::size_t m = 0; m < record::kMeasureCount; ++m) cut.active[m] = active(m);
    record::Cut copy = cut;
    return make_snapshot(std::move(copy), tables);
  }

  std::uint64_t active(std::size_t measure) const {
    std::uint64_t sum = 0;
    for (const auto& [address, block] : live) sum += measure == 0 ? block.size : block.requested;
    return sum;
  }

  std::map<std::uint64_t, record::LiveBlock> live;
  StreamId stream;

 private:
  record::Event event_of(record::Action action, const record::LiveBlock& block) const {
    record::Event event;
    event.address = block.address;
    event.size = block.size;
    event.requested = block.requested;
    event.traceback = block.holder.traceback;
    event.op = block.holder.op;
    event.label = block.holder.label;
    event.layout = block.holder.layout;
    event.owner = block.owner;
    event.stream = block.stream;
    event.pool = block.pool;
    event.thread = block.thread;
    event.device = block.device;
    event.action = action;
    return event;
  }

  void write(record::Event event) {
    now += tick_step;
    event.ticks = now;
    ++next_;
    cut.events.push_back(event);
    const auto action = static_cast<std::size_t>(event.action);
    cut.counters.events[action] += 1;
    cut.counters.bytes[action] += event.size;
    if (cut.events.size() <= ring_entries) return;
    cut.events.erase(cut.events.begin());
    ++cut.counters.events_overwritten;
  }

  void note_peak(std::uint64_t number) {
    for (std::size_t m = 0; m < record::kMeasureCount; ++m) {
      if (active(m) <= cut.peak[m].bytes) continue;
      cut.peak[m].bytes = active(m);
      cut.peak[m].sequence = number;
      cut.peak[m].ticks = now;
      cut.peak_set[m].clear();
      for (const auto& [address, block] : live) cut.peak_set[m].push_back(block);
    }
  }

  std::uint64_t next_ = 1;
};

}  // namespace strandline::snapshot::testing
