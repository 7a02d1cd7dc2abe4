// SPDX-License-Identifier: Apache-2.0
// Records one by one, so that nothing larger than one of them is held.
#include "strandline/snapshot/json_writer.h"

#include <algorithm>

#include "snapshot/byte_output.h"
#include "snapshot/json.h"
#include "snapshot/phase_marks.h"

namespace strandline::snapshot {
namespace {

using record::BlockUse;

std::string dumped(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

class JsonWriter {
 public:
  /// `file` is null where the snapshot is all there is.
  JsonWriter(const Snapshot& snapshot, const SnapshotFile* file, ByteOutput& output)
      : snapshot_(snapshot), file_(file), output_(output) {}

  void write() {
    output_.write("{\"segments\":[");
    write_segments(snapshot_.segments, snapshot_.blocks);
    output_.write("],\"device_traces\":[");
    for (std::size_t device = 0; device < device_count(); ++device) {
      output_.write(device == 0 ? "[" : ",[");
      std::size_t written = 0;
      for (std::size_t i = 0; i < snapshot_.events.count(); ++i) {
        if (snapshot_.events.device[i] == device) next(written++, device_event(i));
      }
      output_.write("]");
    }
    output_.write("],\"external_annotations\":[");
    write_annotations();
    output_.write("],\"allocator_settings\":");
    output_.write(file_ == nullptr ? "{}" : file_->settings);
    if (file_ != nullptr) write_host();
    output_.write("}\n");
  }

 private:
  std::size_t device_count() const {
    return file_ == nullptr ? snapshot_.device_count() : file_->traces.size();
  }

  void next(std::size_t number, const Json& json) {
    output_.write(number == 0 ? "\n" : ",\n");
    output_.write(dumped(json));
  }

  void write_annotations() {
    std::size_t written = 0;
    const std::vector<Annotation> marks =
        file_ == nullptr ? phase_marks(snapshot_.phases) : file_->annotations;
    for (const Annotation& annotation : marks) {
      const char* const stage = annotation.stage == Stage::start ? "START"
                                : annotation.stage == Stage::end ? "END"
                                                                 : "";
      next(written++, mark(annotation.name, stage, annotation.device, annotation.time_us));
    }
  }

  void write_host() {
    output_.write(",\"host_segments\":[");
    write_segments(file_->host_segments, file_->host_blocks);
    output_.write("],\"host_traces\":[");
    if (file_->host_events.count() > 0) {
      output_.write("[");
      for (std::size_t i = 0; i < file_->host_events.count(); ++i) {
        const record::Action action = file_->host_events.action[i];
        next(i, event(file_->host_events, i, record::action_name(action)));
      }
      output_.write("]");
    }
    output_.write("]");
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

  Json event(const EventColumns& events, std::size_t i, std::string_view action) const {
    const bool is_oom = events.action[i] == record::Action::oom;
    const bool is_block =
        record::begins_block(events.action[i]) || record::ends_block(events.action[i]);
    Json json{{"action", action},
              {is_oom ? "device_free" : "addr", events.address[i]},
              {"size", is_oom || is_block ? events.requested[i] : events.size[i]},
              {"stream", snapshot_.stream(events.stream[i]).first},
              {"time_us", events.time_us[i]},
              {"user_metadata", snapshot_.text(events.label[i])},
              {"pool_id", pool(events.pool[i])},
              {"frames", frames(events.stack[i])}};
    if (events.context[i]) json["compile_context"] = snapshot_.text(events.context[i]);
    return json;
  }

  /// With what it has beyond the columns; its numbers come in order.
  Json device_event(std::size_t i) {
    if (file_ == nullptr) {
      return event(snapshot_.events, i, record::action_name(snapshot_.events.action[i]));
    }
    Json json = event(snapshot_.events, i, file_->action_text(i));
    if (snapshot_.events.forward[i]) json["forward_frames"] = frames(snapshot_.events.forward[i]);
    if (snapshot_.events.op[i]) json["category"] = snapshot_.text(snapshot_.events.op[i]);
    const auto first = std::lower_bound(
        file_->extras.begin(), file_->extras.end(), i,
        [](const EventExtra& extra, std::size_t number) { return extra.event < number; });
    for (auto extra = first; extra != file_->extras.end() && extra->event == i; ++extra) {
      const std::string key(snapshot_.text(extra->key));
      if (key != "action") json[key] = value_of(snapshot_.text(extra->value));
    }
    return json;
  }

  /// Lists and dictionaries were kept as JSON, texts as they are.
  static Json value_of(std::string_view text) {
    if (text.starts_with('{') || text.starts_with('[')) {
      Json json = Json::parse(text, nullptr, false);
      if (!json.is_discarded()) return json;
    }
    return text;
  }

  Json block(const BlockColumns& blocks, std::size_t b) const {
    const char* const state = blocks.use[b] == BlockUse::allocated      ? "active_allocated"
                              : blocks.use[b] == BlockUse::pending_free ? "active_pending_free"
                                                                        : "inactive";
    return {{"address", blocks.address[b]},
            {"size", blocks.size[b]},
            {"requested_size", blocks.requested[b]},
            {"state", state},
            {"frames", frames(blocks.stack[b])}};
  }

  void write_segments(const SegmentColumns& segments, const BlockColumns& blocks) {
    for (std::size_t s = 0; s < segments.count(); ++s) next(s, segment(segments.row(s), blocks));
  }

  Json segment(const SegmentRow& row, const BlockColumns& columns) const {
    Json blocks = Json::array();
    std::uint64_t active = 0;
    std::uint64_t allocated = 0;
    std::uint64_t requested = 0;
    for (std::size_t b = row.first_block; b < row.first_block + row.block_count; ++b) {
      blocks.push_back(block(columns, b));
      if (columns.use[b] == BlockUse::inactive) continue;
      active += columns.size[b];
      requested += columns.requested[b];
      if (columns.use[b] == BlockUse::allocated) allocated += columns.size[b];
    }
    return {{"device", row.device == kHost ? -1 : static_cast<int>(row.device)},
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

  Json mark(StringId name, const char* stage, std::int32_t device, std::int64_t time_us) const {
    return {
        {"name", snapshot_.text(name)}, {"stage", stage}, {"device", device}, {"time_us", time_us}};
  }

  /// -1 in 8 bits: the device that pinned memory is told to be of.
  static constexpr std::uint8_t kHost = 255;

  const Snapshot& snapshot_;
  const SnapshotFile* file_;
  ByteOutput& output_;
};

}  // namespace

void write_json(const Snapshot& snapshot, const std::string& path) {
  FileOutput output(path);
  JsonWriter(snapshot, nullptr, output).write();
  output.commit();
}

void write_json(const SnapshotFile& file, const std::string& path) {
  FileOutput output(path);
  JsonWriter(file.snapshot, &file, output).write();
  output.commit();
}

}  // namespace strandline::snapshot
