// SPDX-License-Identifier: Apache-2.0
// Containers of the pickle machine: opened, filled, closed, named by the memo.
#include <algorithm>

#include <fmt/format.h>

#include "snapshot/pickle_machine.h"
#include "snapshot/pickle_opcode.h"

namespace strandline::snapshot {

void PickleMachine::grow_check(std::size_t count, std::string_view what) const {
  if (count <= (std::size_t{1} << 20) + offset() / 16) return;
  fail(fmt::format("{} on the stack", what), fmt::format("{}", count),
       "what so many bytes can be about");
}

void PickleMachine::push(Value value) {
  if (stack_.size() == stack_.capacity()) grow_check(stack_.size(), "values");
  stack_.push_back(value);
}

void PickleMachine::need(std::size_t values) const {
  if (stack_.size() >= floor() + values) return;
  fail("the stack", fmt::format("{} values above the mark", stack_.size() - floor()),
       fmt::format("{}", values));
}

/// What stands above the mark is complete: it becomes a part of something.
std::size_t PickleMachine::pop_mark() {
  if (marks_.empty()) fail("the stack", "no mark", "one");
  const std::size_t mark = marks_.back();
  close_from(mark);  // while the mark still tells in which list they are
  marks_.pop_back();
  return mark;
}

/// A container begins, and what stands right above a filled dictionary, it or a record, is no key:
/// that dictionary is complete. So records come in the order of the file.
void PickleMachine::close_below() {
  if (open_.empty()) return;
  const Open& below = open_.back();
  const std::size_t above = below.position + 1;
  const bool is_no_key = above == stack_.size() || stack_[above].kind() >= ValueKind::frame;
  if (below.is_dict && below.items > 0 && is_no_key) close_from(below.position);
}

/// A dictionary of the plain shape, in one go; false, and nothing has happened, for any other.
bool PickleMachine::whole_dict(Cursor& in) {
  close_below();
  std::uint64_t slot = kNoMemo;
  if (!run_.read(in, slot, offset())) return false;
  at_ = in.at - 1;
  if (records_.is_ranged()) locate_trace(stack_.size());
  const Value value = records_.record();
  if (slot != kNoMemo) memo_.replace(slot, value);
  push(value);
  return true;
}

Value PickleMachine::dict_value(std::span<const Value> pairs, std::size_t position) {
  if (records_.is_ranged()) locate_trace(position);
  return records_.dict(pairs, offset());
}

/// The open list at that place of the stack; null for anything else.
const PickleMachine::Open* PickleMachine::list_at(std::size_t position) const noexcept {
  for (auto open = open_.rbegin(); open != open_.rend() && open->position >= position; ++open) {
    if (open->position == position) return open->is_dict ? nullptr : &*open;
  }
  return nullptr;
}

/// The list that holds what stands at `position`: the one below the last mark before it, or, where
/// items come one by one, the one right below it.
const PickleMachine::Open* PickleMachine::list_around(std::size_t position,
                                                      std::size_t& index) const noexcept {
  const auto above = std::upper_bound(marks_.begin(), marks_.end(), position);
  const std::size_t mark = above == marks_.begin() ? 0 : *std::prev(above);
  const Open* list = mark == 0 ? nullptr : list_at(mark - 1);
  index = position - mark;
  if (list == nullptr && position > 0) {
    list = list_at(position - 1);
    index = 0;
  }
  if (list != nullptr) index += list->list.count;
  return list;
}

/// Tells the records in which list of which device what stands at `position` is.
void PickleMachine::locate_trace(std::size_t position) {
  std::size_t index = 0;
  const Open* const list = list_around(position, index);
  if (list == nullptr) return records_.set_place({});
  const auto is_under = [&](const Open& open) {
    return open.position > 0 &&
           stack_[open.position - 1] == Value{ValueKind::text, string_of(Key::host_traces).value};
  };
  TracePlace place{.list = list->serial, .device = 0, .is_host = is_under(*list)};
  if (const Open* const outer = list_around(list->position, index)) {
    place.device = index;
    place.is_host = place.is_host || is_under(*outer);
  }
  records_.set_place(place);
}

void PickleMachine::open(bool is_dict) {
  close_below();
  if (open_.size() == open_.capacity()) grow_check(open_.size(), "containers");
  push({ValueKind::open, open_.size()});
  open_.push_back({.position = stack_.size() - 1,
                   .begin = arena_.size(),
                   .serial = ++lists_opened_,
                   .is_dict = is_dict,
                   .list = {}});
}

/// The value takes the container's place on the stack and in the memo; its items stay in the arena
/// until the container leaves `open_`.
void PickleMachine::close(Open& open) {
  const std::span<const Value> items(arena_.data() + open.begin, open.items);
  const Value value =
      open.is_dict ? dict_value(items, open.position) : records_.list(open.list, items, offset());
  stack_[open.position] = value;
  if (open.memo != kNoMemo) memo_.set(open.memo, value, offset());
  open.closed = true;
}

/// Closes the containers from `position` on, lowest first, as their records come in that order.
void PickleMachine::close_from(std::size_t position) {
  auto first = open_.end();
  while (first != open_.begin() && std::prev(first)->position >= position) --first;
  if (first == open_.end()) return;
  for (auto open = first; open != open_.end(); ++open) {
    if (!open->closed) close(*open);
  }
  arena_.resize(first->begin);
  open_.erase(first, open_.end());
}

void PickleMachine::cut_stack(std::size_t position) {
  close_from(position);
  stack_.resize(position);
}

/// The container at `position`, the topmost open one, to be filled. One that was named by the memo
/// while it was empty opens again.
PickleMachine::Open& PickleMachine::target(std::size_t position, bool is_dict) {
  if (!open_.empty() && open_.back().position == position) {
    Open& open = open_.back();
    if (open.is_dict != is_dict) {
      fail("items", is_dict ? "a list" : "a dictionary", is_dict ? "a dictionary" : "a list");
    }
    if (!open.closed) return open;
    if (open.items == 0) {
      open = {.position = position,
              .begin = arena_.size(),
              .serial = ++lists_opened_,
              .is_dict = is_dict,
              .list = {}};
      stack_[position] = {ValueKind::open, open_.size() - 1};
      return open;
    }
  }
  const ValueKind empty = is_dict ? ValueKind::empty_dict : ValueKind::empty_list;
  if (!stack_[position].is(empty)) {
    fail("items", "no container that is still open", is_dict ? "a dictionary" : "a list");
  }
  stack_[position] = {ValueKind::open, open_.size()};
  open_.push_back({.position = position,
                   .begin = arena_.size(),
                   .serial = ++lists_opened_,
                   .is_dict = is_dict,
                   .list = {}});
  return open_.back();
}

void PickleMachine::set_items(std::size_t from) {
  if (from <= floor()) fail("the stack", "no dictionary below the items", "one");
  const std::size_t count = stack_.size() - from;
  if (count % 2 != 0) fail("items", "a key without a value", "pairs");
  close_from(from);
  Open& dict = target(from - 1, true);
  arena_.insert(arena_.end(), stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
  dict.items = arena_.size() - dict.begin;
  stack_.resize(from);
}

void PickleMachine::append_items(std::size_t from) {
  if (from <= floor()) fail("the stack", "no list below the items", "one");
  close_from(from);
  Open& list = target(from - 1, false);
  for (std::size_t i = from; i < stack_.size(); ++i) {
    records_.append(list.list, stack_[i], arena_);
  }
  list.items = arena_.size() - list.begin;
  stack_.resize(from);
}

void PickleMachine::make_tuple(std::size_t from) {
  close_from(from);
  const std::size_t count = stack_.size() - from;
  const Value value = count == 0 ? Value{ValueKind::empty_list, 0}
                                 : records_.tuple({stack_.data() + from, count}, offset());
  stack_.resize(from);
  push(value);
}

/// LIST and DICT: the items come before the container.
void PickleMachine::make_container(std::size_t from, bool is_dict) {
  close_from(from);
  const std::vector<Value> items(stack_.begin() + static_cast<std::ptrdiff_t>(from), stack_.end());
  stack_.resize(from);
  open(is_dict);
  if (items.empty()) return;
  stack_.insert(stack_.end(), items.begin(), items.end());
  marks_.push_back(from);
  if (is_dict) {
    set_items(from + 1);
  } else {
    append_items(from + 1);
  }
  marks_.pop_back();
}

void PickleMachine::memoize(std::uint64_t number) {
  need(1);
  if (stack_.back().is(ValueKind::open)) {
    Open& open = open_.back();
    if (open.memo == kNoMemo) {
      open.memo = number;
    } else {
      close(open);
    }
  }
  memo_.set(number, stack_.back(), offset());
}

void PickleMachine::fetch(std::uint64_t number) {
  Value value = memo_.get(number);
  if (STRANDLINE_UNLIKELY(value.is(ValueKind::unset))) {
    fail("the memo", fmt::format("{}", number), "a number it has");
  }
  if (STRANDLINE_UNLIKELY(value.is(ValueKind::open))) {
    Open& open = open_[value.id()];
    if (!open.closed) close(open);
    value = stack_[open.position];
  }
  push(value);
}

}  // namespace strandline::snapshot
