// SPDX-License-Identifier: Apache-2.0
// The recorder's actions as PyTorch's format has them; the table stands in pickle_writer.h.
#pragma once

#include <cstdint>

#include "strandline/record/event.h"

namespace strandline::snapshot {

/// Whether an expanded event is about a block, with all that is known of it, or about memory.
enum class About : std::uint8_t { block, segment };

/// Calls `emit(action, size, about)` for each event of the format that one of ours becomes.
/// `holder_size` is the requested size of the block that a `holder` event is about.
template <typename Emit>
void expand_action(record::Action action, std::uint64_t size, std::uint64_t requested,
                   std::uint64_t holder_size, Emit&& emit) {
  using record::Action;
  switch (action) {
    case Action::none:
      return;
    case Action::alloc_new:
    case Action::alloc_external:
      emit(Action::segment_alloc, size, About::segment);
      emit(Action::alloc, requested, About::block);
      return;
    case Action::alloc_reuse:
      emit(Action::alloc, requested, About::block);
      return;
    case Action::free_to_cache:
    case Action::free_to_device:
    case Action::release_external:
      emit(Action::free_requested, requested, About::block);
      emit(Action::free_completed, requested, About::block);
      if (action != Action::free_to_cache) emit(Action::segment_free, size, About::segment);
      return;
    case Action::cache_to_device:
      emit(Action::segment_free, size, About::segment);
      return;
    case Action::segment_alloc:
    case Action::segment_free:
    case Action::segment_map:
    case Action::segment_unmap:
    case Action::snapshot:
      emit(action, size, About::segment);
      return;
    case Action::oom:
      emit(action, requested, About::segment);
      return;
    case Action::holder:
      emit(Action::annotate, holder_size, About::block);
      return;
    case Action::alloc:
    case Action::free_requested:
    case Action::free_completed:
    case Action::annotate:
      emit(action, requested, About::block);
      return;
  }
}

}  // namespace strandline::snapshot
