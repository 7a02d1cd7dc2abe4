// SPDX-License-Identifier: Apache-2.0
// What was read from a file as the dictionary it came from.
#include <algorithm>

#include "snapshot/json.h"
#include "snapshot/pickle_document.h"
#include "snapshot/pickle_segments.h"
#include "strandline/snapshot/pickle_writer.h"

namespace strandline::snapshot {
namespace {

using record::Action;

/// JSON of a file may nest as deep as the file did; deeper than this it is written as text.
constexpr std::size_t kDeepestValue = 64;

class FileDocument final : public PickleDocument {
 public:
  FileDocument(const SnapshotFile& file, ByteOutput& output)
      : PickleDocument(file.snapshot, output), file_(file), categories_(has_categories()) {
    annotations_ = file.annotations;
  }

 private:
  /// A reader that finds a category must also find the category "unknown", else it fails.
  bool has_categories() const {
    const EventColumns& events = snapshot_.events;
    bool known = false;
    bool unknown = false;
    for (std::size_t i = 0; i < events.count(); ++i) {
      known = known || events.op[i];
      unknown = unknown || !events.op[i];
    }
    return known && unknown;
  }

  void write_traces() override {
    PickleList devices(encoder_);
    for (const RowRange& trace : file_.traces) {
      devices.next();
      PickleList events(encoder_);
      for (std::uint64_t i = trace.first; i < trace.end(); ++i) {
        events.next();
        write_device_event(static_cast<std::size_t>(i));
      }
      events.end();
    }
    devices.end();
  }

  void write_host_segments() override {
    PickleSegments(encoder_, parts_, snapshot_, file_.host_segments, file_.host_blocks).write();
  }

  void write_host_traces() override {
    PickleList list(encoder_);
    if (file_.host_events.count() > 0) {
      list.next();
      PickleList events(encoder_);
      for (std::size_t i = 0; i < file_.host_events.count(); ++i) {
        events.next();
        encoder_.empty_dict();
        encoder_.mark();
        write_fields(file_.host_events, i, record::action_name(file_.host_events.action[i]));
        encoder_.set_items();
      }
      events.end();
    }
    list.end();
  }

  void write_device_event(std::size_t i) {
    const EventColumns& events = snapshot_.events;
    const auto first = std::lower_bound(
        file_.extras.begin(), file_.extras.end(), i,
        [](const EventExtra& extra, std::size_t number) { return extra.event < number; });
    encoder_.empty_dict();
    encoder_.mark();
    write_fields(events, i, file_.action_text(i));
    for (auto extra = first; extra != file_.extras.end() && extra->event == i; ++extra) {
      if (snapshot_.text(extra->key) == "action") continue;
      parts_.text(extra->key);
      write_value(extra->value);
    }
    if (categories_) {
      parts_.word(Word::category);
      if (events.op[i]) {
        parts_.text(events.op[i]);
      } else {
        parts_.word(Word::unknown);
      }
    }
    if (events.forward[i]) {
      parts_.word(Word::forward_frames);
      parts_.stack(events.forward[i]);
    }
    encoder_.set_items();
  }

  void write_fields(const EventColumns& events, std::size_t i, std::string_view action) {
    const bool is_oom = events.action[i] == Action::oom;
    parts_.word(Word::action);
    parts_.known_text(action);
    parts_.word(is_oom ? Word::device_free : Word::addr);
    encoder_.integer(events.address[i]);
    parts_.word(Word::size);
    encoder_.integer(events.size[i]);
    parts_.word(Word::stream);
    encoder_.integer(snapshot_.stream(events.stream[i]).first);
    parts_.word(Word::time_us);
    encoder_.integer(events.time_us[i]);
    if (events.context[i]) {
      parts_.word(Word::compile_context);
      parts_.text(events.context[i]);
    }
    parts_.word(Word::user_metadata);
    // An operation alone may have come as the category: it goes back there.
    const bool is_ours = events.owner[i] || events.layout[i] || (events.op[i] && !categories_);
    if (is_ours) {
      parts_.metadata({.op = events.op[i],
                       .label = events.label[i],
                       .owner = events.owner[i],
                       .layout = events.layout[i]});
    } else {
      parts_.text(events.label[i]);
    }
    parts_.word(Word::pool_id);
    parts_.pool(events.pool[i]);
    parts_.word(Word::frames);
    parts_.stack(events.stack[i]);
  }

  void write_value(StringId value) {
    const std::string_view text = snapshot_.text(value);
    if (text.starts_with('{') || text.starts_with('[')) {
      const auto json = Json::parse(text, nullptr, false);
      if (!json.is_discarded()) return write_json(json, 0);
    }
    parts_.text(value);
  }

  void write_settings() override {
    const auto json = Json::parse(file_.settings, nullptr, false);
    write_json(json.is_object() ? json : Json::object(), 0);
  }

  void write_json(const Json& json, std::size_t depth) {
    if (depth == kDeepestValue) {
      encoder_.text(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    } else if (json.is_object()) {
      encoder_.empty_dict();
      if (json.empty()) return;
      encoder_.mark();
      for (const auto& [key, value] : json.items()) {
        encoder_.text(key);
        write_json(value, depth + 1);
      }
      encoder_.set_items();
    } else if (json.is_array()) {
      PickleList list(encoder_);
      for (const auto& value : json) {
        list.next();
        write_json(value, depth + 1);
      }
      list.end();
    } else {
      write_scalar(json);
    }
  }

  void write_scalar(const Json& json) {
    if (json.is_string()) {
      encoder_.text(json.get_ref<const std::string&>());
    } else if (json.is_boolean()) {
      encoder_.boolean(json.get<bool>());
    } else if (json.is_number_unsigned()) {
      encoder_.integer(json.get<std::uint64_t>());
    } else if (json.is_number_integer()) {
      encoder_.integer(json.get<std::int64_t>());
    } else if (json.is_number_float()) {
      encoder_.real(json.get<double>());
    } else {
      encoder_.none();
    }
  }

  const SnapshotFile& file_;
  bool categories_;
};

}  // namespace

void write_pickle(const SnapshotFile& file, const std::string& path) {
  write_document<FileDocument>(file, path);
}

std::string pickle_bytes(const SnapshotFile& file) {
  return document_bytes<FileDocument>(file);
}

}  // namespace strandline::snapshot
