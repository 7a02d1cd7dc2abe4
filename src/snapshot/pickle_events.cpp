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
  const std::uint64_t size = events_.size[i];
  const std::uint64_t requested = events_.requested[i];
  switch (const Action action = events_.action[i]; action) {
    case Action::none:
      return;
    case Action::alloc_new:
    case Action::alloc_external:
      write_one(list, i, Word::segment_alloc, size, About::segment);
      return write_one(list, i, Word::alloc, requested, About::block);
    case Action::free_to_cache:
    case Action::free_to_device:
    case Action::release_external:
      write_one(list, i, Word::free_requested, requested, About::block);
      write_one(list, i, Word::free_completed, requested, About::block);
      if (action == Action::free_to_cache) return;
      return write_one(list, i, Word::segment_free, size, About::segment);
    case Action::cache_to_device:
      return write_one(list, i, Word::segment_free, size, About::segment);
    case Action::segment_alloc:
    case Action::segment_free:
    case Action::segment_map:
    case Action::segment_unmap:
    case Action::snapshot:
      return write_one(list, i, word_of(action), size, About::segment);
    case Action::oom:
      return write_one(list, i, Word::oom, requested, About::segment);
    case Action::holder:
      return write_one(list, i, Word::annotate, holder_sizes_.empty() ? 0 : holder_sizes_[i],
                       About::block);
    default:
      return write_one(list, i, word_of(action), requested, About::block);
  }
}

void PickleEvents::write_one(PickleList& list, std::size_t i, Word action, std::uint64_t size,
                             About about) {
  list.next();
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
