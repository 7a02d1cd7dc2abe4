// SPDX-License-Identifier: Apache-2.0
// Sections to tables and rows, every number in them checked.
#include "snapshot/native_reader.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "strandline/core/error.h"

namespace strandline::snapshot::native {
namespace {

template <typename Row>
std::uint8_t last_field() {
  std::uint8_t last = 0;
  const Row row{};
  visit_fields(row, [&](int field, const auto&) { last = static_cast<std::uint8_t>(field); });
  return last;
}

class PartsReader {
 public:
  explicit PartsReader(std::string_view bytes)
      : scanner_(bytes), snapshot_(parts_.native.file.snapshot) {}

  FileParts read() {
    ChunkHead head;
    std::string_view payload;
    bool at_index = false;
    while (!at_index && scanner_.next(head, payload)) {
      try {
        at_index = read_chunk(head, payload);
      } catch (const PayloadError& error) {
        throw FormatError(error_message("read_snapshot", error.what, error.got, error.expected),
                          scanner_.offset());
      }
    }
    if (at_index) scanner_.finish();
    parts_.native.is_complete = at_index;
    parts_.native.minor_version = scanner_.minor();
    parts_.native.chunks = scanner_.chunks();
    parts_.native.whole_bytes = scanner_.whole_bytes();
    parts_.native.cut_bytes = scanner_.cut_bytes();
    return std::move(parts_);
  }

 private:
  /// True for the index: no chunk comes after it.
  bool read_chunk(const ChunkHead& head, std::string_view payload) {
    switch (static_cast<ChunkKind>(head.kind)) {
      case ChunkKind::rows:
        read_rows(head, payload);
        return false;
      case ChunkKind::state:
        read_state(head, payload);
        return false;
      case ChunkKind::index:
        return true;
    }
    skip_newer((head.flags & chunk_flag::kRequired) != 0, fmt::format("chunk kind {}", head.kind));
    return false;
  }

  void skip_newer(bool is_required, std::string what) {
    if (is_required) {
      throw PayloadError{std::move(what), "one that must be known", "a newer strandline"};
    }
    ++parts_.native.skipped_parts;
  }

  void read_rows(const ChunkHead& head, std::string_view payload) {
    const std::size_t before = snapshot_.events.count();
    while (!payload.empty()) read_section(take_section(payload), nullptr);
    const std::uint64_t added = snapshot_.events.count() - before;
    if (added != head.events) {
      throw PayloadError{"the events of a chunk", fmt::format("{}", added),
                         fmt::format("{}", head.events)};
    }
    if (added > 0) add_run({head.first_sequence, added, before});
  }

  void add_run(const EventRun& run) {
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
    EventRun* const last = parts_.runs.empty() ? nullptr : &parts_.runs.back();
    const std::uint64_t least = last == nullptr ? 1 : last->first_sequence + last->count;
    if (run.first_sequence < least || run.first_sequence > kMost) {
      throw PayloadError{"the number of a chunk's first event",
                         fmt::format("{}", run.first_sequence), fmt::format("{} or more", least)};
    }
    if (last != nullptr && run.first_sequence == least) {
      last->count += run.count;
    } else {
      parts_.native.missed_events += last == nullptr ? 0 : run.first_sequence - least;
      parts_.runs.push_back(run);
    }
  }

  void read_state(const ChunkHead& head, std::string_view payload) {
    if ((head.flags & chunk_flag::kFirst) != 0) {
      pending_ = {};
      in_state_ = true;
    }
    if (!in_state_) throw PayloadError{"a state", "a later part", "its first"};
    while (!payload.empty()) read_section(take_section(payload), &pending_);
    if ((head.flags & chunk_flag::kLast) == 0) return;
    in_state_ = false;
    check_blocks(pending_.segments, pending_.blocks);
    check_blocks(pending_.host_segments, pending_.host_blocks);
    for (const PhaseRow& phase : pending_.phases) parts_.phases[phase.number] = phase;
    parts_.state = std::move(pending_);
  }

  static void check_blocks(const SegmentColumns& segments, const BlockColumns& blocks) {
    std::uint64_t of_segments = 0;
    for (std::size_t s = 0; s < segments.count(); ++s) of_segments += segments.block_count[s];
    if (of_segments == blocks.count()) return;
    throw PayloadError{"blocks of segments", fmt::format("{}", of_segments),
                       fmt::format("{}, as there are", blocks.count())};
  }

  /// `state` is null in chunks of rows.
  void read_section(const SectionView& section, StateParts* state) {
    switch (static_cast<Table>(section.table)) {
      case Table::strings:
        return read_strings(section);
      case Table::frames:
        return each<FrameRow>(section, [&](const FrameRow& row) {
          ids_.frames.push_back(snapshot_.frames.intern(row.file, row.function, row.line));
        });
      case Table::stacks:
        return each<StackRow>(section, [&](const StackRow& row) {
          if (!row.frame) throw PayloadError{"a stack", "no frame", "a frame"};
          ids_.stacks.push_back(snapshot_.stacks.child(row.parent, row.frame));
        });
      case Table::dimensions:
        return each<DimensionRow>(
            section, [&](const DimensionRow& row) { dimensions_.push_back(row.size); });
      case Table::layouts:
        return read_layouts(section);
      case Table::streams:
        return read_handles(section, snapshot_.streams, ids_.streams);
      case Table::pools:
        return read_handles(section, snapshot_.pools, ids_.pools);
      case Table::events:
        return each<EventRow>(section,
                              [&](const EventRow& row) { snapshot_.events.push_back(row); });
      case Table::host_events:
        return each<EventRow>(
            section, [&](const EventRow& row) { parts_.native.file.host_events.push_back(row); });
      case Table::extras:
        return read_extras(section);
      case Table::phases:
        return each<PhaseRow>(section, [&](const PhaseRow& row) {
          if (state != nullptr) {
            state->phases.push_back(row);
          } else {
            parts_.phases[row.number] = row;
          }
        });
      default:
        if (state == nullptr || !read_state_section(section, *state)) {
          skip_newer((section.flags & kRequired) != 0, fmt::format("table {}", section.table));
        }
    }
  }

  bool read_state_section(const SectionView& section, StateParts& state) {
    switch (static_cast<Table>(section.table)) {
      case Table::segments:
        read_segments(section, state.segments, &state.unaddressed);
        return true;
      case Table::host_segments:
        read_segments(section, state.host_segments, nullptr);
        return true;
      case Table::blocks:
        read_blocks(section, state.blocks);
        return true;
      case Table::host_blocks:
        read_blocks(section, state.host_blocks);
        return true;
      case Table::peak_capacity:
        read_blocks(section, state.peak_set[0]);
        return true;
      case Table::peak_requested:
        read_blocks(section, state.peak_set[1]);
        return true;
      case Table::annotations:
        each<Annotation>(section, [&](const Annotation& row) { state.annotations.push_back(row); });
        return true;
      case Table::traces:
        each<RowRange>(section, [&](const RowRange& row) { state.traces.push_back(row); });
        return true;
      case Table::unknown_keys:
        each<UnknownKeyRow>(section, [&](const UnknownKeyRow& row) {
          state.unknown_keys.emplace_back(row.key, row.count);
        });
        return true;
      case Table::facts:
        each<FactRow>(section, [&](const FactRow& row) { state.facts[row.number] = row.value; });
        return true;
      case Table::counters:
        each<CounterRow>(section, [&](const CounterRow& row) {
          state.counters.events[static_cast<std::size_t>(row.action)] = row.events;
          state.counters.bytes[static_cast<std::size_t>(row.action)] = row.bytes;
        });
        return true;
      case Table::texts:
        read_texts(section, state);
        return true;
      default:
        return false;
    }
  }

  template <typename Row, typename Use>
  void each(const SectionView& section, Use&& use) {
    note_newer_columns(section, last_field<Row>());
    const CellReader cells(section, ids_);
    for (std::size_t i = 0; i < cells.rows(); ++i) use(cells.template row<Row>(i));
  }

  void note_newer_columns(const SectionView& section, std::uint8_t last_known) {
    for (const ColumnView& column : section.columns) {
      if (column.field <= last_known) continue;
      skip_newer((column.flags & kRequired) != 0,
                 fmt::format("table {}, field {}", section.table, column.field));
    }
  }

  static const ColumnView& need(const SectionView& section, std::uint8_t field) {
    const ColumnView* const column = section.find(field);
    if (column != nullptr) return *column;
    throw PayloadError{fmt::format("table {}", section.table), "a column missing",
                       fmt::format("field {}", field)};
  }

  /// Texts of the lengths in one column, from the bytes of another.
  template <typename Use>
  static void each_text(const SectionView& section, std::uint8_t lengths_field,
                        std::uint8_t bytes_field, Use&& use) {
    std::vector<std::uint64_t> lengths;
    decode(need(section, lengths_field), section.rows, lengths);
    std::string_view bytes = need(section, bytes_field).data;
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      if (lengths[i] > bytes.size()) {
        throw PayloadError{"a text", fmt::format("{} bytes", lengths[i]),
                           fmt::format("{} that are left", bytes.size())};
      }
      use(i, bytes.substr(0, static_cast<std::size_t>(lengths[i])));
      bytes.remove_prefix(static_cast<std::size_t>(lengths[i]));
    }
  }

  void read_strings(const SectionView& section) {
    note_newer_columns(section, 2);
    each_text(section, 1, 2, [&](std::size_t, std::string_view text) {
      ids_.strings.push_back(snapshot_.strings.intern(text));
    });
  }

  void read_texts(const SectionView& section, StateParts& state) {
    note_newer_columns(section, 3);
    std::vector<std::uint64_t> numbers;
    decode(need(section, 1), section.rows, numbers);
    each_text(section, 2, 3, [&](std::size_t i, std::string_view text) {
      if (numbers[i] == static_cast<std::uint64_t>(Text::fault)) state.fault = text;
      if (numbers[i] == static_cast<std::uint64_t>(Text::settings)) {
        if (!nlohmann::json::accept(text)) {
          throw PayloadError{"the settings", "other text", "JSON"};
        }
        state.settings = text;
      }
      if (numbers[i] == static_cast<std::uint64_t>(Text::key)) state.keys.emplace_back(text);
    });
  }

  void read_layouts(const SectionView& section) {
    std::size_t at = 0;
    each<LayoutRow>(section, [&](const LayoutRow& row) {
      if (row.rank > dimensions_.size() - at) {
        throw PayloadError{"a layout", fmt::format("rank {}", row.rank),
                           fmt::format("{} dimensions that are left", dimensions_.size() - at)};
      }
      const auto first = dimensions_.begin() + static_cast<std::ptrdiff_t>(at);
      snapshot_.layouts.push_back({{first, first + row.rank}, row.dtype});
      at += row.rank;
      ++ids_.layouts;
    });
    dimensions_.clear();
  }

  void read_handles(const SectionView& section,
                    std::vector<std::pair<std::uint64_t, std::uint64_t>>& handles,
                    std::size_t& count) {
    each<HandleRow>(section, [&](const HandleRow& row) {
      handles.emplace_back(row.first, row.second);
      ++count;
    });
  }

  void read_extras(const SectionView& section) {
    std::vector<EventExtra>& extras = parts_.native.file.extras;
    each<EventExtra>(section, [&](const EventExtra& row) {
      const std::uint64_t least = extras.empty() ? 0 : extras.back().event;
      if (row.event < least || row.event >= snapshot_.events.count()) {
        throw PayloadError{"the event of an extra value", fmt::format("{}", row.event),
                           fmt::format("{} to {}", least, snapshot_.events.count())};
      }
      extras.push_back(row);
    });
  }

  void read_segments(const SectionView& section, SegmentColumns& segments,
                     std::vector<std::uint8_t>* unaddressed) {
    std::uint64_t next = segments.count() == 0
                             ? 0
                             : std::uint64_t{segments.first_block[segments.count() - 1]} +
                                   segments.block_count[segments.count() - 1];
    each<StoredSegment>(section, [&](const StoredSegment& stored) {
      SegmentRow row = stored.row;
      row.first_block = static_cast<std::uint32_t>(next);
      next += row.block_count;
      if (next > UINT32_MAX) throw PayloadError{"blocks of segments", "too many", "up to 2^32"};
      segments.push_back(row);
      if (unaddressed != nullptr) unaddressed->push_back(stored.unaddressed ? 1 : 0);
    });
  }

  void read_blocks(const SectionView& section, BlockColumns& blocks) {
    each<BlockRow>(section, [&](const BlockRow& row) { blocks.push_back(row); });
  }

  ChunkScanner scanner_;
  FileParts parts_;
  Snapshot& snapshot_;
  IdMaps ids_;
  std::vector<std::int64_t> dimensions_;
  StateParts pending_;
  bool in_state_ = false;
};

}  // namespace

FileParts read_parts(std::string_view bytes) {
  return PartsReader(bytes).read();
}

}  // namespace strandline::snapshot::native
