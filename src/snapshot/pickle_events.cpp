// SPDX-License-Identifier: Apache-2.0
// Events of the pickle, and the expansion of actions.
#include "snapshot/pickle_events.h"

namespace strandline::snapshot {
namespace {

using record::Action;

bool is_block_event(Action action) {
  return record::begins_block(action) || record::ends_block(action) ||
         action == Action::free_requested;
}

/// A reader that finds a category must also find the category "unknown", else it fails. Events
/// that are not about a block have it; without any event that would, categories are left out.
bool can_have_categories(const EventColumns& events) {
  bool known = false;
  bool unknown = false;
  for (std::size_t i = 0; i < events.count(); ++i) {
    const Action action = events.action[i];
    const bool named = is_block_event(action) && events.op[i];
    known = known || named;
    unknown = unknown || !named || action == Action::alloc_new ||
              action == Action::alloc_external || action == Action::free_to_device ||
              action == Action::release_external;
  }
  return known && unknown;
}

Word word_of(Action action) {
  switch (action) {
    case Action::free_requested:
      return Word::free_requested;
    case Action::free_completed:
      return Word::free_completed;
    case Action::segment_alloc:
      return Word::segment_alloc;
    case Action::segment_free:
      return Word::segment_free;
    case Action::segment_map:
      return Word::segment_map;
    case Action::segment_unmap:
      return Word::segment_unmap;
    case Action::oom:
      return Word::oom;
    case Action::snapshot:
      return Word::snapshot;
    case Action::annotate:
      return Word::annotate;
    default:
      return Word::alloc;
  }
}

}  // namespace

PickleEvents::PickleEvents(PickleEncoder& encoder, PickleParts& parts, const Snapshot& snapshot)
    : encoder_(encoder),
      parts_(parts),
      snapshot_(snapshot),
      events_(snapshot.events),
      categories_(can_have_categories(snapshot.events)) {
  if (snapshot.holder_requested.empty()) return;
  holder_sizes_.resize(events_.count(), 0);
  std::size_t holders = 0;
  for (std::size_t i = 0; i < events_.count(); ++i) {
    if (events_.action[i] != Action::holder) continue;
    holder_sizes_[i] = snapshot.holder_requested[holders++];
  }
}

void PickleEvents::write() {
  PickleList list(encoder_);
  for (std::size_t device = 0; device < snapshot_.device_count(); ++device) {
    list.next();
    write_trace(static_cast<std::uint8_t>(device));
  }
  list.end();
}

void PickleEvents::write_trace(std::uint8_t device) {
  PickleList list(encoder_);
  for (std::size_t i = 0; i < events_.count(); ++i) {
    if (events_.device[i] == device) write_event(list, i);
  }
  list.end();
}

void PickleEvents::write_event(PickleList& list, std::size_t i) {
  expand_action(events_.action[i], events_.size[i], events_.requested[i],
                holder_sizes_.empty() ? 0 : holder_sizes_[i],
                [&](Action action, std::uint64_t size, About about) {
                  write_one(list, i, word_of(action), size, about);
                });
}

void PickleEvents::write_one(PickleList& list, std::size_t i, Word action, std::uint64_t size,
                             About about) {
  list.next();
  if (write_known(i, action, size, about)) return;
  encoder_.empty_dict();
  encoder_.mark();
  write_place(i, action, size);
  parts_.word(Word::stream);
  encoder_.integer(snapshot_.stream(events_.stream[i]).first);
  parts_.word(Word::time_us);
  encoder_.integer(events_.time_us[i]);
  parts_.word(Word::compile_context);
  if (events_.context[i]) {
    parts_.text(events_.context[i]);
  } else {
    encoder_.none();
  }
  parts_.word(Word::user_metadata);
  if (about == About::block) {
    parts_.metadata({.op = events_.op[i],
                     .label = events_.label[i],
                     .owner = events_.owner[i],
                     .layout = events_.layout[i]});
  } else {
    parts_.text(events_.label[i]);
  }
  parts_.word(Word::pool_id);
  parts_.pool(events_.pool[i]);
  if (categories_) write_category(i, about);
  // Stacks come last: the keys before them then keep numbers that fit into one byte.
  parts_.word(Word::frames);
  parts_.stack(events_.stack[i]);
  if (events_.forward[i]) {
    parts_.word(Word::forward_frames);
    parts_.stack(events_.forward[i]);
  }
  encoder_.set_items();
}

/// An event all of whose parts are in the file already, as nearly every one is: the same bytes as
/// one written part by part, in one go. False where a part is new.
bool PickleEvents::write_known(std::size_t i, Word action, std::uint64_t size, About about) {
  const bool is_block = about == About::block;
  const Memo name = parts_.memo_of(action);
  const Memo stack = parts_.memo_of(events_.stack[i]);
  const Memo pool = parts_.memo_of(events_.pool[i]);
  const Memo metadata = is_block ? parts_.memo_of(Metadata{.op = events_.op[i],
                                                           .label = events_.label[i],
                                                           .owner = events_.owner[i],
                                                           .layout = events_.layout[i]})
                                 : parts_.memo_of(events_.label[i]);
  const bool has_op = is_block && is_block_event(events_.action[i]) && events_.op[i];
  const Memo category = has_op ? parts_.memo_of(events_.op[i]) : parts_.memo_of(Word::unknown);
  const bool is_plain =
      action != Word::oom && !events_.forward[i] && !events_.context[i] && events_.time_us[i] >= 0;
  if (!name || !stack || !pool || !metadata || !is_plain) return false;
  if (!parts_.memo_of(Word::addr) || !parts_.memo_of(Word::frames)) return false;
  if (categories_ && (!category || !parts_.memo_of(Word::category))) return false;
  using E = PickleEncoder;
  const auto key = [&](char* to, Word word) { return E::put_get(to, parts_.memo_of(word)); };
  char* to = encoder_.begin_burst();
  to = E::put(E::put(to, '}'), '(');
  to = E::put_get(key(to, Word::action), name);
  to = E::put_integer(key(to, Word::addr), action == Word::snapshot ? 0 : events_.address[i]);
  to = E::put_integer(key(to, Word::size), size);
  to = E::put_integer(key(to, Word::stream), snapshot_.stream(events_.stream[i]).first);
  to = E::put_integer(key(to, Word::time_us), static_cast<std::uint64_t>(events_.time_us[i]));
  to = E::put(key(to, Word::compile_context), 'N');
  to = E::put_get(key(to, Word::user_metadata), metadata);
  to = E::put_get(key(to, Word::pool_id), pool);
  if (categories_) to = E::put_get(key(to, Word::category), category);
  to = E::put_get(key(to, Word::frames), stack);
  encoder_.end_burst(E::put(to, 'u'));
  return true;
}

void PickleEvents::write_place(std::size_t i, Word action, std::uint64_t size) {
  parts_.word(Word::action);
  parts_.word(action);
  parts_.word(action == Word::oom ? Word::device_free : Word::addr);
  encoder_.integer(action == Word::snapshot ? 0 : events_.address[i]);
  parts_.word(Word::size);
  encoder_.integer(size);
}

void PickleEvents::write_category(std::size_t i, About about) {
  parts_.word(Word::category);
  if (about == About::block && is_block_event(events_.action[i]) && events_.op[i]) {
    parts_.text(events_.op[i]);
  } else {
    parts_.word(Word::unknown);
  }
}

}  // namespace strandline::snapshot
