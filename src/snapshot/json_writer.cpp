// SPDX-License-Identifier: Apache-2.0
// Records one by one, so that nothing larger than one of them is held.
#include "strandline/snapshot/json_writer.h"

#include <nlohmann/json.hpp>

#include "snapshot/byte_output.h"

namespace strandline::snapshot {
namespace {

using Json = nlohmann::ordered_json;
using record::BlockUse;

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class JsonWriter {
 public:
  JsonWriter(const Snapshot& snapshot, ByteOutput& output) : snapshot_(snapshot), output_(output) {}

  void write() {
    output_.write("{\"segments\":[");
    for (std::size_t s = 0; s < snapshot_.segments.count(); ++s) next(s, segment(s));
    output_.write("],\"device_traces\":[");
    for (std::size_t device = 0; device < snapshot_.device_count(); ++device) {
      output_.write(device == 0 ? "[" : ",[");
      std::size_t written = 0;
      for (std::size_t i = 0; i < snapshot_.events.count(); ++i) {
        if (snapshot_.events.device[i] == device) next(written++, event(i));
      }
      output_.write("]");
    }
    output_.write("],\"external_annotations\":[");
    std::size_t written = 0;
    for (const PhaseRow& phase : snapshot_.phases) {
      next(written++, mark(phase, "START", phase.start_us));
      if (!phase.open) next(written++, mark(phase, "END", phase.end_us));
    }
    output_.write("],\"allocator_settings\":{}}\n");
  }

 private:
  void next(std::size_t number, const Json& json) {
    output_.write(number == 0 ? "\n" : ",\n");
    output_.write(dumped(json));
  }

  Json frames(StackId stack) const {
    Json list = Json::array();
    for (; stack; stack = snapshot_.stacks.parent(stack)) {
      const FrameId frame = snapshot_.stacks.frame(stack);
      list.push_back({{"filename", snapshot_.text(snapshot_.frames.file(frame))},
                      {"line", snapshot_.frames.line(frame)},
                      {"name", snapshot_.text(snapshot_.frames.function(frame))}});
    }
    return list;
  }

  Json pool(PoolId id) const {
    const auto [first, second] = snapshot_.pool(id);
    return {first, second};
  }

  Json event(std::size_t i) const {
    const EventColumns& events = snapshot_.events;
    const bool is_oom = events.action[i] == record::Action::oom;
    const bool is_block =
        record::begins_block(events.action[i]) || record::ends_block(events.action[i]);
    return {{"action", record::action_name(events.action[i])},
            {is_oom ? "device_free" : "addr", events.address[i]},
            {"size", is_oom || is_block ? events.requested[i] : events.size[i]},
            {"stream", snapshot_.stream(events.stream[i]).first},
            {"time_us", events.time_us[i]},
            {"user_metadata", snapshot_.text(events.label[i])},
            {"pool_id", pool(events.pool[i])},
            {"frames", frames(events.stack[i])}};
  }

  Json block(std::size_t b) const {
    const BlockColumns& blocks = snapshot_.blocks;
    const char* const state = blocks.use[b] == BlockUse::allocated      ? "active_allocated"
                              : blocks.use[b] == BlockUse::pending_free ? "active_pending_free"
                                                                        : "inactive";
    return {{"address", blocks.address[b]},
            {"size", blocks.size[b]},
            {"requested_size", blocks.requested[b]},
            {"state", state},
            {"frames", frames(blocks.stack[b])}};
  }

  Json segment(std::size_t s) const {
    const SegmentRow row = snapshot_.segments.row(s);
    Json blocks = Json::array();
    std::uint64_t active = 0;
    std::uint64_t allocated = 0;
    std::uint64_t requested = 0;
    for (std::size_t b = row.first_block; b < row.first_block + row.block_count; ++b) {
      blocks.push_back(block(b));
      if (snapshot_.blocks.use[b] == BlockUse::inactive) continue;
      active += snapshot_.blocks.size[b];
      requested += snapshot_.blocks.requested[b];
      if (snapshot_.blocks.use[b] == BlockUse::allocated) allocated += snapshot_.blocks.size[b];
    }
    return {{"device", row.device},
            {"address", row.address},
            {"total_size", row.size},
            {"allocated_size", allocated},
            {"active_size", active},
            {"requested_size", requested},
            {"stream", snapshot_.stream(row.stream).first},
            {"segment_type", row.is_small ? "small" : "large"},
            {"segment_pool_id", pool(row.pool)},
            {"is_expandable", row.is_expandable},
            {"frames", frames(row.stack)},
            {"blocks", std::move(blocks)}};
  }

  Json mark(const PhaseRow& phase, const char* stage, std::int64_t time_us) const {
    return {{"name", snapshot_.text(phase.name)},
            {"stage", stage},
            {"device", 0},
            {"time_us", time_us}};
  }

  const Snapshot& snapshot_;
  ByteOutput& output_;
};

}  // namespace

void write_json(const Snapshot& snapshot, const std::string& path) {
  FileOutput output(path);
  JsonWriter(snapshot, output).write();
  output.commit();
}

}  // namespace strandline::snapshot
