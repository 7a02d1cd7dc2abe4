// SPDX-License-Identifier: Apache-2.0
// Strings, frames, stacks, layouts, streams and pools as sections.
#include "snapshot/native_tables.h"

namespace strandline::snapshot::native {

void TableCursor::write(std::string& payload, const Snapshot& tables) {
  // What a stack is made of, and what its frames are called. Parents come before their children.
  for (std::uint32_t n = stacks_.written + 1; n <= stacks_.needed; ++n) {
    note(tables.stacks.frame(StackId{n}));
  }
  for (std::uint32_t n = frames_.written + 1; n <= frames_.needed; ++n) {
    note(tables.frames.file(FrameId{n}));
    note(tables.frames.function(FrameId{n}));
  }
  write_strings(payload, tables);
  RowBuffer<FrameRow> frames;
  for (; !frames_.empty(); ++frames_.written) {
    const FrameId id{frames_.written + 1};
    frames.add({tables.frames.file(id), tables.frames.function(id), tables.frames.line(id)});
  }
  frames.write(payload, Table::frames);
  RowBuffer<StackRow> stacks;
  for (; !stacks_.empty(); ++stacks_.written) {
    const StackId id{stacks_.written + 1};
    stacks.add({tables.stacks.frame(id), tables.stacks.parent(id)});
  }
  stacks.write(payload, Table::stacks);
  write_layouts(payload, tables);
  write_handles(payload, Table::streams, streams_, tables.streams);
  write_handles(payload, Table::pools, pools_, tables.pools);
}

void TableCursor::write_strings(std::string& payload, const Snapshot& tables) {
  if (strings_.empty()) return;
  std::vector<std::uint64_t> lengths;
  std::string bytes;
  for (; !strings_.empty(); ++strings_.written) {
    const std::string_view text = tables.text(StringId{strings_.written + 1});
    lengths.push_back(text.size());
    bytes += text;
  }
  SectionWriter section(payload, Table::strings, lengths.size());
  section.numbers(1, lengths);
  section.bytes(2, bytes);
  section.finish();
}

void TableCursor::write_layouts(std::string& payload, const Snapshot& tables) {
  RowBuffer<LayoutRow> layouts;
  RowBuffer<DimensionRow> dimensions;
  for (; !layouts_.empty(); ++layouts_.written) {
    const record::Layout& layout = tables.layout(LayoutId{layouts_.written + 1});
    layouts.add({layout.dtype, static_cast<std::uint16_t>(layout.shape.size())});
    for (const std::int64_t size : layout.shape) dimensions.add({size});
  }
  dimensions.write(payload, Table::dimensions);
  layouts.write(payload, Table::layouts);
}

void TableCursor::write_handles(std::string& payload, Table table, Range& range,
                                std::span<const std::pair<std::uint64_t, std::uint64_t>> handles) {
  RowBuffer<HandleRow> rows;
  for (; !range.empty(); ++range.written) {
    const auto& [first, second] = handles[range.written];
    rows.add({first, second});
  }
  rows.write(payload, table);
}

void write_texts(std::string& payload, Table table,
                 std::span<const std::pair<std::uint16_t, std::string_view>> texts) {
  if (texts.empty()) return;
  std::vector<std::uint64_t> numbers;
  std::vector<std::uint64_t> lengths;
  std::string bytes;
  for (const auto& [number, text] : texts) {
    numbers.push_back(number);
    lengths.push_back(text.size());
    bytes += text;
  }
  SectionWriter section(payload, table, numbers.size());
  section.numbers(1, numbers);
  section.numbers(2, lengths);
  section.bytes(3, bytes);
  section.finish();
}

void StateWriter::emit(std::uint16_t flags) {
  std::string payload;
  cursor_.write(payload, tables_);
  payload += pending_;
  pending_.clear();
  if (is_first_) flags |= chunk_flag::kFirst;
  is_first_ = false;
  chunks_.write(ChunkKind::state, flags, payload);
}

}  // namespace strandline::snapshot::native
