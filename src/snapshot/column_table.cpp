// SPDX-License-Identifier: Apache-2.0
// Columns as they lie in memory where they are numbers of one width, made for the table elsewhere.
#include "strandline/snapshot/column_table.h"

#include <type_traits>
#include <unordered_map>

#include <fmt/format.h>

#include "snapshot/user_frames.h"
#include "snapshot/utf8.h"

namespace strandline::snapshot {

void TextList::add(std::string_view text) {
  if (is_valid_utf8(text)) {
    bytes += text;
  } else {
    bytes += repaired_utf8(text);
  }
  offsets.push_back(static_cast<std::int64_t>(bytes.size()));
}

namespace {

using Texts = std::shared_ptr<const TextList>;

template <typename Number>
constexpr ColumnType type_of() {
  if constexpr (sizeof(Number) == 1) {
    return ColumnType::u8;
  } else if constexpr (sizeof(Number) == 4) {
    return ColumnType::u32;
  } else {
    return std::is_signed_v<Number> ? ColumnType::i64 : ColumnType::u64;
  }
}

class TableBuilder {
 public:
  TableBuilder(SharedFile file, std::size_t rows) : file_(std::move(file)) { table_.rows = rows; }

  /// Numbers, or ids, as they lie in the snapshot. Ids are numbers of `texts`, if any.
  template <typename Value>
  void view(const char* name, const std::vector<Value>& values, Texts texts = nullptr) {
    static_assert(sizeof(Value) == 1 || sizeof(Value) == 4 || sizeof(Value) == 8);
    table_.columns.push_back({.name = name,
                              .type = type_of<Value>(),
                              .values = values.data(),
                              .owner = file_,
                              .texts = std::move(texts),
                              .is_copy = false});
  }
  /// Columns of another kind: each value is asked for.
  template <typename Column>
  void view(const char* name, const Column& column, Texts texts = nullptr) {
    using Value = std::decay_t<decltype(column[0])>;
    if constexpr (requires(Value value) { value.value; }) {
      make<std::uint32_t>(
          name, [&](std::size_t i) { return column[i].value; }, std::move(texts));
    } else {
      make<Value>(
          name, [&](std::size_t i) { return static_cast<Value>(column[i]); }, std::move(texts));
    }
  }

  void view_time(const char* name, const std::vector<std::int64_t>& values) {
    view(name, values);
    table_.columns.back().type = ColumnType::time_us;
  }

  template <typename Number, typename Get>
  void make(const char* name, Get&& get, Texts texts = nullptr) {
    auto values = std::make_shared<std::vector<Number>>(table_.rows);
    for (std::size_t i = 0; i < table_.rows; ++i) (*values)[i] = static_cast<Number>(get(i));
    table_.columns.push_back({.name = name,
                              .type = type_of<Number>(),
                              .values = values->data(),
                              .owner = std::move(values),
                              .texts = std::move(texts),
                              .is_copy = true});
  }

  ColumnTable take() { return std::move(table_); }

 private:
  SharedFile file_;
  ColumnTable table_;
};

/// What columns of texts, pools and lines are numbers of.
class Dictionaries {
 public:
  explicit Dictionaries(const SnapshotFile& file)
      : file_(file), frames_(file.snapshot), lines_of_stacks_(file.snapshot.stacks.size() + 1) {
    const Snapshot& snapshot = file.snapshot;
    auto texts = std::make_shared<TextList>();
    for (std::uint32_t id = 0; id <= snapshot.strings.size(); ++id) {
      texts->add(snapshot.text(StringId{id}));
    }
    texts_ = std::move(texts);
    auto pools = std::make_shared<TextList>();
    for (std::uint32_t id = 0; id <= snapshot.pools.size(); ++id) {
      const auto [first, second] = snapshot.pool(PoolId{id});
      pools->add(fmt::format("{}:{}", first, second));
    }
    pools_ = std::move(pools);
    auto lines = std::make_shared<TextList>();
    for (std::uint32_t id = 0; id <= snapshot.frames.size(); ++id) {
      const Location place = frames_.location(FrameId{id});
      lines->add(id == 0 ? "" : fmt::format("{}:{} {}", place.file, place.line, place.function));
    }
    lines_ = std::move(lines);
    for (std::uint32_t id = 1; id < lines_of_stacks_.size(); ++id) {
      lines_of_stacks_[id] = frames_.line_of(StackId{id}).value;
    }
  }

  const Texts& texts() const noexcept { return texts_; }
  const Texts& pools() const noexcept { return pools_; }
  const Texts& lines() const noexcept { return lines_; }
  std::uint32_t line_of(StackId stack) const { return lines_of_stacks_[stack.value]; }

  /// Names of actions and the numbers of the rows in them.
  template <typename Actions>
  void add_actions(TableBuilder& table, const Actions& actions) const {
    auto names = std::make_shared<TextList>();
    for (std::size_t a = 0; a < record::kActionCount; ++a) {
      names->add(a == 0 ? std::string_view("none")
                        : record::action_name(static_cast<record::Action>(a)));
    }
    table.view("action", actions, std::move(names));
  }

 private:
  const SnapshotFile& file_;
  UserFrames frames_;
  std::vector<std::uint32_t> lines_of_stacks_;
  Texts texts_;
  Texts pools_;
  Texts lines_;
};

/// Actions that are none of ours keep their name: then the column is made for the table.
void add_event_actions(TableBuilder& table, const SnapshotFile& file,
                       const Dictionaries& dictionaries) {
  std::unordered_map<std::size_t, std::uint32_t> named;
  auto names = std::make_shared<TextList>();
  for (std::size_t a = 0; a < record::kActionCount; ++a) {
    names->add(record::action_name(static_cast<record::Action>(a)));
  }
  std::unordered_map<std::uint32_t, std::uint32_t> numbers;
  for (const EventExtra& extra : file.extras) {
    if (file.snapshot.text(extra.key) != "action") continue;
    const auto [number, is_new] =
        numbers.try_emplace(extra.value.value, static_cast<std::uint32_t>(names->count()));
    if (is_new) names->add(file.snapshot.text(extra.value));
    named[static_cast<std::size_t>(extra.event)] = number->second;
  }
  if (named.empty()) return dictionaries.add_actions(table, file.snapshot.events.action);
  table.make<std::uint32_t>(
      "action",
      [&](std::size_t i) {
        const auto other = named.find(i);
        return other != named.end() ? other->second
                                    : static_cast<std::uint32_t>(file.snapshot.events.action[i]);
      },
      std::move(names));
}

}  // namespace

ColumnTable event_table(const SharedFile& file) {
  const Snapshot& snapshot = file->snapshot;
  const EventColumns& events = snapshot.events;
  const Dictionaries dictionaries(*file);
  TableBuilder table(file, events.count());
  table.view("device", events.device);
  table.make<std::uint64_t>(
      "event", [&](std::size_t i) { return i - file->traces[events.device[i]].first; });
  add_event_actions(table, *file, dictionaries);
  table.view("address", events.address);
  table.view("size", events.size);
  table.view("requested", events.requested);
  table.view_time("time", events.time_us);
  table.make<std::uint64_t>("stream",
                            [&](std::size_t i) { return snapshot.stream(events.stream[i]).first; });
  table.view("pool", events.pool, dictionaries.pools());
  table.view("op", events.op, dictionaries.texts());
  table.view("label", events.label, dictionaries.texts());
  table.view("owner", events.owner, dictionaries.texts());
  table.make<std::uint32_t>(
      "line", [&](std::size_t i) { return dictionaries.line_of(events.stack[i]); },
      dictionaries.lines());
  table.view("stack", events.stack);
  return table.take();
}

ColumnTable block_table(const SharedFile& file) {
  const Snapshot& snapshot = file->snapshot;
  const BlockColumns& blocks = snapshot.blocks;
  const Dictionaries dictionaries(*file);
  std::vector<std::uint32_t> segment_of(blocks.count());
  for (std::size_t s = 0; s < snapshot.segments.count(); ++s) {
    const SegmentRow row = snapshot.segments.row(s);
    for (std::size_t b = row.first_block; b < row.first_block + row.block_count; ++b) {
      segment_of[b] = static_cast<std::uint32_t>(s);
    }
  }
  auto uses = std::make_shared<TextList>();
  for (const char* const use : {"allocated", "pending_free", "inactive"}) uses->add(use);
  TableBuilder table(file, blocks.count());
  table.view("device", blocks.device);
  table.make<std::uint32_t>("segment", [&](std::size_t b) { return segment_of[b]; });
  table.view("address", blocks.address);
  table.view("size", blocks.size);
  table.view("requested", blocks.requested);
  table.view("use", blocks.use, std::move(uses));
  table.view_time("alloc_time", blocks.alloc_time_us);
  table.view("pool", blocks.pool, dictionaries.pools());
  table.view("op", blocks.op, dictionaries.texts());
  table.view("label", blocks.label, dictionaries.texts());
  table.view("owner", blocks.owner, dictionaries.texts());
  table.make<std::uint32_t>(
      "line", [&](std::size_t b) { return dictionaries.line_of(blocks.stack[b]); },
      dictionaries.lines());
  table.view("stack", blocks.stack);
  return table.take();
}

ColumnTable segment_table(const SharedFile& file) {
  const Snapshot& snapshot = file->snapshot;
  const SegmentColumns& segments = snapshot.segments;
  const Dictionaries dictionaries(*file);
  auto kinds = std::make_shared<TextList>();
  for (const char* const kind : {"large", "small"}) kinds->add(kind);
  TableBuilder table(file, segments.count());
  table.view("device", segments.device);
  table.view("address", segments.address);
  table.view("size", segments.size);
  table.view("kind", segments.is_small, std::move(kinds));
  table.view("expandable", segments.is_expandable);
  table.make<std::uint64_t>(
      "stream", [&](std::size_t s) { return snapshot.stream(segments.stream[s]).first; });
  table.view("pool", segments.pool, dictionaries.pools());
  table.view("stack", segments.stack);
  return table.take();
}

ColumnTable frame_table(const SharedFile& file) {
  const Snapshot& snapshot = file->snapshot;
  const Dictionaries dictionaries(*file);
  TableBuilder table(file, snapshot.frames.size());
  const auto id = [](std::size_t i) { return FrameId{static_cast<std::uint32_t>(i + 1)}; };
  table.make<std::uint32_t>(
      "file", [&](std::size_t i) { return snapshot.frames.file(id(i)).value; },
      dictionaries.texts());
  table.make<std::uint32_t>("line", [&](std::size_t i) { return snapshot.frames.line(id(i)); });
  table.make<std::uint32_t>(
      "function", [&](std::size_t i) { return snapshot.frames.function(id(i)).value; },
      dictionaries.texts());
  return table.take();
}

ColumnTable stack_table(const SharedFile& file) {
  const Snapshot& snapshot = file->snapshot;
  TableBuilder table(file, snapshot.stacks.size());
  const auto id = [](std::size_t i) { return StackId{static_cast<std::uint32_t>(i + 1)}; };
  table.make<std::uint32_t>("parent",
                            [&](std::size_t i) { return snapshot.stacks.parent(id(i)).value; });
  table.make<std::uint32_t>("frame",
                            [&](std::size_t i) { return snapshot.stacks.frame(id(i)).value; });
  return table.take();
}

}  // namespace strandline::snapshot
