// SPDX-License-Identifier: Apache-2.0
// Trace events as JSON, record by record. Times are microseconds since the first event.
//
//   M process_name   C counter   b, e begin and end of a span, paired by (cat, id)   i mark
#include <algorithm>

#include <fmt/format.h>

#include "snapshot/answer_parts.h"
#include "snapshot/byte_output.h"
#include "snapshot/json.h"
#include "snapshot/user_frames.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/profile_export.h"
#include "strandline/snapshot/state_replay.h"

namespace strandline::snapshot {
namespace {

class ChromeTrace {
 public:
  ChromeTrace(const SnapshotFile& file, const ProfileOptions& options, ByteOutput& output)
      : file_(file),
        snapshot_(file.snapshot),
        options_(options),
        frames_(file.snapshot, {}, options.answers.own),
        output_(output),
        has_times_(file.snapshot.taken_us > file.snapshot.start_us) {}

  void write() {
    output_.write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
    for (const DeviceAccount& account : make_account(file_, options_.device).devices) {
      write_device(account.device);
    }
    const Json other{{"start_unix_us", snapshot_.start_us}};
    output_.write("],\"otherData\":" + other.dump() + "}\n");
  }

 private:
  void put(const Json& record) {
    output_.write(first_ ? "\n" : ",\n");
    first_ = false;
    output_.write(record.dump(-1, ' ', false, Json::error_handler_t::replace));
  }

  std::int64_t time_of(RowRange trace, std::uint64_t index) const {
    if (!has_times_) return static_cast<std::int64_t>(index);
    const auto row = static_cast<std::size_t>(trace.first + index);
    return snapshot_.events.time_us[row] - snapshot_.start_us;
  }

  void write_device(std::uint8_t device) {
    put({{"ph", "M"},
         {"pid", device},
         {"name", "process_name"},
         {"args", {{"name", fmt::format("device {}", device)}}}});
    StateReplay replay(file_, device);
    const RowRange trace = replay.trace();
    last_ = {};
    write_counters(device, 0, replay.totals());
    for (const auto& [address, block] : replay.blocks()) {
      begin_block(device, 0, replay.row_of(address, block));
    }
    for (std::uint64_t i = 0; i < trace.count; ++i) {
      const std::int64_t at = time_of(trace, i);
      const auto row = static_cast<std::size_t>(trace.first + i);
      write_event(device, at, row, replay);
      write_counters(device, at, replay.totals());
    }
    const std::int64_t end = trace.count == 0 ? 0 : time_of(trace, trace.count - 1);
    for (const auto& [address, block] : replay.blocks()) {
      end_block(device, end, replay.row_of(address, block));
    }
    write_phases(device, end);
  }

  /// Steps over the event; what it does to blocks is seen in the state before and after.
  void write_event(std::uint8_t device, std::int64_t at, std::size_t row, StateReplay& replay) {
    const EventColumns& events = snapshot_.events;
    const std::uint64_t address = events.address[row];
    const bool begins = record::begins_block(events.action[row]);
    if (begins || record::ends_block(events.action[row])) {
      const auto open = replay.blocks().find(address);
      if (open != replay.blocks().end()) {
        end_block(device, at, replay.row_of(address, open->second));
      }
    }
    replay.step();
    if (begins) begin_block(device, at, replay.row_of(address, replay.blocks().at(address)));
    if (events.action[row] != record::Action::oom) return;
    put({{"ph", "i"},
         {"s", "p"},
         {"pid", device},
         {"tid", 0},
         {"ts", at},
         {"name", "out of memory"},
         {"args", {{"asked", events.requested[row]}, {"device_free", address}}}});
  }

  void write_counters(std::uint8_t device, std::int64_t at, const StateTotals& totals) {
    const auto put_one = [&](const char* name, std::uint64_t value, std::uint64_t before) {
      if (value == before) return;
      put({{"ph", "C"}, {"pid", device}, {"ts", at}, {"name", name}, {"args", {{"bytes", value}}}});
    };
    put_one("requested", totals.requested, last_.requested);
    put_one("taken", totals.live, last_.live);
    put_one("reserved", totals.reserved, last_.reserved);
    last_ = totals;
  }

  /// The one at an address that is open: addresses are handed out again.
  std::string block_id(std::uint8_t device, const BlockRow& block) const {
    return fmt::format("{}:{:x}:{}", device, block.address, block.alloc_sequence);
  }

  void begin_block(std::uint8_t device, std::int64_t at, const BlockRow& block) {
    if (!options_.answers.counts(block)) return;
    Json args{{"requested", block.requested}, {"taken", block.size}, {"address", block.address}};
    if (block.label) args["label"] = snapshot_.text(block.label);
    if (block.op) args["op"] = snapshot_.text(block.op);
    const FrameId frame = frames_.line_of(block.forward ? block.forward : block.stack);
    const auto line = frame ? std::optional(frames_.location(frame)) : std::nullopt;
    put({{"ph", "b"},
         {"cat", "block"},
         {"id", block_id(device, block)},
         {"pid", device},
         {"tid", 0},
         {"ts", at},
         {"name", line_text(line)},
         {"args", std::move(args)}});
  }

  void end_block(std::uint8_t device, std::int64_t at, const BlockRow& block) {
    if (!options_.answers.counts(block)) return;
    const FrameId frame = frames_.line_of(block.forward ? block.forward : block.stack);
    const auto line = frame ? std::optional(frames_.location(frame)) : std::nullopt;
    put({{"ph", "e"},
         {"cat", "block"},
         {"id", block_id(device, block)},
         {"pid", device},
         {"tid", 0},
         {"ts", at},
         {"name", line_text(line)}});
  }

  void write_phases(std::uint8_t device, std::int64_t end) {
    const std::size_t count =
        device < file_.traces.size() ? static_cast<std::size_t>(file_.traces[device].count) : 0;
    for (const PhaseRow& phase : phases_of(file_, device, std::vector<std::int64_t>(count + 1))) {
      const auto put_one = [&](const char* kind, std::int64_t at) {
        put({{"ph", kind},
             {"cat", "phase"},
             {"id", fmt::format("{}:{}", device, phase.number)},
             {"pid", device},
             {"tid", 0},
             {"ts", at},
             {"name", snapshot_.text(phase.name)}});
      };
      put_one("b", phase.start_us - snapshot_.start_us);
      put_one("e", phase.open ? end : phase.end_us - snapshot_.start_us);
    }
  }

  const SnapshotFile& file_;
  const Snapshot& snapshot_;
  const ProfileOptions& options_;
  UserFrames frames_;
  ByteOutput& output_;
  bool has_times_;
  bool first_ = true;
  StateTotals last_;
};

}  // namespace

void write_chrome_trace(const SnapshotFile& file, const std::string& path,
                        const ProfileOptions& options) {
  FileOutput output(path);
  ChromeTrace(file, options, output).write();
  output.commit();
}

}  // namespace strandline::snapshot
