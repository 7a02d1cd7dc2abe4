// SPDX-License-Identifier: Apache-2.0
// The state of a snapshot as chunks: segments with their blocks, peak sets, phases, facts.
#include "snapshot/native_state.h"

#include "snapshot/native_tables.h"

namespace strandline::snapshot::native {
namespace {

std::vector<FactRow> facts_of(const Snapshot& snapshot, const SnapshotFile* file,
                              std::uint64_t next_sequence) {
  std::vector<FactRow> facts;
  const auto add = [&](Fact number, std::uint64_t value) {
    facts.push_back({static_cast<std::uint16_t>(number), value});
  };
  add(Fact::form, static_cast<std::uint64_t>(file != nullptr ? Form::file : Form::recorded));
  add(Fact::first_sequence, snapshot.first_sequence);
  add(Fact::next_sequence, next_sequence);
  add(Fact::taken_us, bits_of(snapshot.taken_us));
  add(Fact::start_us, bits_of(snapshot.start_us));
  add(Fact::max_entries, snapshot.options.max_entries);
  add(Fact::min_size, snapshot.options.min_size);
  add(Fact::stacks, bits_of(snapshot.options.stacks));
  if (file != nullptr) add(Fact::skipped_values, file->skipped_values);
  for (std::size_t m = 0; m < record::kMeasureCount; ++m) {
    const PeakFacts& peak = snapshot.peak[m];
    add(peak_fact(Fact::peak_bytes, m), peak.bytes);
    add(peak_fact(Fact::peak_sequence, m), peak.sequence);
    add(peak_fact(Fact::peak_time_us, m), bits_of(peak.time_us));
    if (peak.cached) add(peak_fact(Fact::peak_cached, m), *peak.cached);
  }
  visit_counters(snapshot.counters, add);
  return facts;
}

/// Blocks go with their segments, in the order of these.
void write_segments(StateWriter& state, const SegmentColumns& segments, const BlockColumns& blocks,
                    const std::vector<std::uint8_t>& unaddressed, Table segment_table,
                    Table block_table) {
  state.rows<StoredSegment>(segment_table, segments.count(), [&](std::size_t s) {
    return StoredSegment{.row = segments.row(s),
                         .unaddressed = s < unaddressed.size() && unaddressed[s] != 0};
  });
  std::vector<std::size_t> order;
  for (std::size_t s = 0; s < segments.count(); ++s) {
    const std::size_t first = segments.first_block[s];
    for (std::size_t b = first; b < first + segments.block_count[s]; ++b) order.push_back(b);
  }
  state.rows<BlockRow>(block_table, order.size(),
                       [&](std::size_t i) { return blocks.row(order[i]); });
}

void write_counters(StateWriter& state, const record::Counters& counters) {
  std::vector<CounterRow> rows;
  for (std::size_t a = 1; a < record::kActionCount; ++a) {
    if (counters.events[a] == 0) continue;
    rows.push_back({static_cast<record::Action>(a), counters.events[a], counters.bytes[a]});
  }
  state.rows<CounterRow>(Table::counters, rows.size(), [&](std::size_t i) { return rows[i]; });
}

void write_file_parts(StateWriter& state, const SnapshotFile& file) {
  write_segments(state, file.host_segments, file.host_blocks, {}, Table::host_segments,
                 Table::host_blocks);
  state.rows<Annotation>(Table::annotations, file.annotations.size(),
                         [&](std::size_t i) { return file.annotations[i]; });
  state.rows<RowRange>(Table::traces, file.traces.size(),
                       [&](std::size_t i) { return file.traces[i]; });
  state.rows<UnknownKeyRow>(Table::unknown_keys, file.unknown_keys.size(), [&](std::size_t i) {
    return UnknownKeyRow{file.unknown_keys[i].first, file.unknown_keys[i].second};
  });
}

std::vector<std::pair<std::uint16_t, std::string_view>> texts_of(const Snapshot& snapshot,
                                                                 const SnapshotFile* file) {
  std::vector<std::pair<std::uint16_t, std::string_view>> texts;
  const auto add = [&](Text number, std::string_view text) {
    texts.emplace_back(static_cast<std::uint16_t>(number), text);
  };
  if (!snapshot.fault.empty()) add(Text::fault, snapshot.fault);
  if (file == nullptr) return texts;
  add(Text::settings, file->settings);
  for (const std::string& key : file->keys) add(Text::key, key);
  return texts;
}

}  // namespace

void write_state(ChunkWriter& chunks, TableCursor& cursor, const Snapshot& snapshot,
                 const SnapshotFile* file, std::uint64_t next_sequence) {
  StateWriter state(chunks, cursor, snapshot);
  const std::vector<FactRow> facts = facts_of(snapshot, file, next_sequence);
  state.rows<FactRow>(Table::facts, facts.size(), [&](std::size_t i) { return facts[i]; });
  state.texts(texts_of(snapshot, file));
  write_counters(state, snapshot.counters);
  static const std::vector<std::uint8_t> kNone;
  write_segments(state, snapshot.segments, snapshot.blocks,
                 file != nullptr ? file->unaddressed : kNone, Table::segments, Table::blocks);
  constexpr std::array kPeakTables{Table::peak_capacity, Table::peak_requested};
  for (std::size_t m = 0; m < record::kMeasureCount; ++m) {
    const BlockColumns& set = snapshot.peak_set[m];
    state.rows<BlockRow>(kPeakTables[m], set.count(), [&](std::size_t i) { return set.row(i); });
  }
  if (file != nullptr) {
    write_file_parts(state, *file);  // its phases are annotations
  } else {
    state.rows<PhaseRow>(Table::phases, snapshot.phases.size(),
                         [&](std::size_t i) { return snapshot.phases[i]; });
  }
  state.finish();
}

}  // namespace strandline::snapshot::native
