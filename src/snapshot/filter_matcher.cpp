// SPDX-License-Identifier: Apache-2.0
// Filters on the rows of a file: what many rows share (stacks, phases) is looked at once.
#include <algorithm>

#include <fmt/format.h>

#include "strandline/snapshot/file_report.h"
#include "strandline/snapshot/row_filter.h"

namespace strandline::snapshot {
namespace {

bool is_negative(FilterCompare compare) noexcept {
  return compare == FilterCompare::unequal || compare == FilterCompare::lacks;
}

/// The comparison without its negation.
bool text_matches(const FilterTest& test, std::string_view text) {
  const bool looks_into =
      test.compare == FilterCompare::contains || test.compare == FilterCompare::lacks;
  return looks_into ? text.find(test.text) != std::string_view::npos : text == test.text;
}

bool number_matches(FilterCompare compare, std::uint64_t number, std::uint64_t value) noexcept {
  switch (compare) {
    case FilterCompare::unequal:
      return number != value;
    case FilterCompare::less:
      return number < value;
    case FilterCompare::at_most:
      return number <= value;
    case FilterCompare::more:
      return number > value;
    case FilterCompare::at_least:
      return number >= value;
    default:
      return number == value;
  }
}

/// "train.py:88" of ".../train.py", line 88.
bool is_place(std::string_view text, std::string_view file, std::uint32_t line) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.substr(colon + 1) != std::to_string(line)) {
    return false;
  }
  const std::string_view name = text.substr(0, colon);
  return file.ends_with(name) &&
         (file.size() == name.size() || file[file.size() - name.size() - 1] == '/');
}

}  // namespace

FilterMatcher::FilterMatcher(RowFilter filter, const SnapshotFile& file)
    : filter_(std::move(filter)),
      file_(file),
      stacks_(filter_.tests().size()),
      phases_(filter_.tests().size()),
      results_(filter_.nodes().size()) {
  for (std::size_t i = 0; i < filter_.tests().size(); ++i) {
    const FilterTest& test = filter_.tests()[i];
    if (test.field == FilterField::frame) stacks_[i] = stacks_with(test);
    if (test.field == FilterField::phase) phases_[i] = phases_with(test);
  }
}

/// Parents come before their children.
std::vector<bool> FilterMatcher::stacks_with(const FilterTest& test) const {
  const Snapshot& snapshot = file_.snapshot;
  const bool looks_into =
      test.compare == FilterCompare::contains || test.compare == FilterCompare::lacks;
  std::vector<bool> frames(snapshot.frames.size() + 1);
  for (std::uint32_t id = 1; id < frames.size(); ++id) {
    const FrameId frame{id};
    const std::string_view path = snapshot.text(snapshot.frames.file(frame));
    frames[id] = text_matches(test, path) ||
                 text_matches(test, snapshot.text(snapshot.frames.function(frame))) ||
                 (!looks_into && is_place(test.text, path, snapshot.frames.line(frame)));
  }
  std::vector<bool> stacks(snapshot.stacks.size() + 1);
  for (std::uint32_t id = 1; id < stacks.size(); ++id) {
    const StackId stack{id};
    stacks[id] =
        stacks[snapshot.stacks.parent(stack).value] || frames[snapshot.stacks.frame(stack).value];
  }
  return stacks;
}

std::vector<FilterMatcher::Spans> FilterMatcher::phases_with(const FilterTest& test) const {
  std::vector<Spans> by_device(file_.traces.size());
  for (std::size_t device = 0; device < by_device.size(); ++device) {
    const std::size_t count = static_cast<std::size_t>(file_.traces[device].count);
    const std::vector<std::int64_t> levels(count + 1);  // nobody asks for them here
    Spans spans;
    for (const PhaseRow& phase : phases_of(file_, static_cast<std::uint8_t>(device), levels)) {
      if (text_matches(test, file_.snapshot.text(phase.name))) {
        spans.emplace_back(phase.start_sequence, phase.end_sequence);
      }
    }
    std::sort(spans.begin(), spans.end());
    for (const auto& span : spans) {
      Spans& joined = by_device[device];
      if (!joined.empty() && span.first <= joined.back().second) {
        joined.back().second = std::max(joined.back().second, span.second);
      } else {
        joined.push_back(span);
      }
    }
  }
  return by_device;
}

bool FilterMatcher::event(std::size_t row) const {
  const EventColumns& events = file_.snapshot.events;
  const record::Action action = events.action[row];
  const bool is_block = record::begins_block(action) || record::ends_block(action) ||
                        action == record::Action::free_requested;
  return matches({.stack = events.stack[row],
                  .op = events.op[row],
                  .label = events.label[row],
                  .owner = events.owner[row],
                  .action = file_.action_text(row),
                  .sequence = row + 1,
                  .size = is_block ? events.requested[row] : events.size[row],
                  .address = events.address[row],
                  .stream = events.stream[row],
                  .pool = events.pool[row],
                  .device = events.device[row]});
}

bool FilterMatcher::block(const BlockRow& block) const {
  return matches({.stack = block.stack,
                  .op = block.op,
                  .label = block.label,
                  .owner = block.owner,
                  .action = record::action_name(block.action),
                  .sequence = block.alloc_sequence,
                  .size = block.requested,
                  .address = block.address,
                  .stream = block.stream,
                  .pool = block.pool,
                  .device = block.device});
}

bool FilterMatcher::matches(const Subject& subject) const {
  const std::vector<RowFilter::Node>& nodes = filter_.nodes();
  if (nodes.empty()) return true;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const RowFilter::Node& node = nodes[i];
    bool result = false;
    switch (node.kind) {
      case RowFilter::Kind::test:
        result = test(node.left, subject);
        break;
      case RowFilter::Kind::both:
        result = results_[node.left] != 0 && results_[node.right] != 0;
        break;
      case RowFilter::Kind::either:
        result = results_[node.left] != 0 || results_[node.right] != 0;
        break;
      case RowFilter::Kind::negation:
        result = results_[node.left] == 0;
        break;
    }
    results_[i] = result ? 1 : 0;
  }
  return results_.back() != 0;
}

bool FilterMatcher::test(std::size_t number, const Subject& subject) const {
  const FilterTest& test = filter_.tests()[number];
  const auto text = [&](std::string_view value) {
    return text_matches(test, value) != is_negative(test.compare);
  };
  const auto count = [&](std::uint64_t value) {
    return number_matches(test.compare, value, test.number.first);
  };
  switch (test.field) {
    case FilterField::frame:
      return stacks_[number][subject.stack.value] != is_negative(test.compare);
    case FilterField::op:
      return text(file_.snapshot.text(subject.op));
    case FilterField::label:
      return text(file_.snapshot.text(subject.label));
    case FilterField::owner:
      return text(file_.snapshot.text(subject.owner));
    case FilterField::action:
      return text(subject.action);
    case FilterField::size:
      return count(subject.size);
    case FilterField::stream:
      return count(file_.snapshot.stream(subject.stream).first);
    case FilterField::device:
      return count(subject.device);
    case FilterField::address:
      return count(subject.address);
    case FilterField::pool:
      return (file_.snapshot.pool(subject.pool) == test.number) != is_negative(test.compare);
    case FilterField::phase:
      break;
  }
  bool inside = false;
  if (subject.sequence != 0 && subject.device < phases_[number].size()) {
    const Spans& spans = phases_[number][subject.device];
    auto span = std::upper_bound(spans.begin(), spans.end(),
                                 std::pair(subject.sequence, std::uint64_t{UINT64_MAX}));
    inside = span != spans.begin() && subject.sequence < (--span)->second;
  }
  return inside != is_negative(test.compare);
}

}  // namespace strandline::snapshot
