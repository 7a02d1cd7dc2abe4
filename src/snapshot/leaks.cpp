// SPDX-License-Identifier: Apache-2.0
// One walk over the events: what is open by address, what each stack holds at the end of each
// phase.
#include "strandline/snapshot/leaks.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "snapshot/file_links.h"
#include "snapshot/lifetimes.h"
#include "snapshot/phase_index.h"
#include "snapshot/stack_texts.h"
#include "snapshot/wrapping.h"

namespace strandline::snapshot {
namespace {

/// What is followed of one stack.
struct Followed {
  Leak leak;
  std::int64_t live = 0;          // bytes now
  std::int64_t at_first_end = 0;  // of a phase
  std::int64_t at_last_end = 0;
  std::size_t ends = 0;  // of phases, counted so far
  std::uint64_t lived_us = 0;
};

class LeakFinder {
 public:
  LeakFinder(const SnapshotFile& file, std::uint8_t device, const AnswerOptions& options)
      : file_(file),
        events_(file.snapshot.events),
        options_(options),
        device_(device),
        trace_(file.traces[device]) {}

  Leaks run() {
    find_phases();
    for (std::uint64_t i = trace_.first; i < trace_.end(); ++i) step(static_cast<std::size_t>(i));
    open_.for_each([&](std::uint64_t, std::uint64_t number) {
      add_live(static_cast<std::size_t>(number - 1));
    });
    sort_stacks();
    return std::move(leaks_);
  }

 private:
  /// The name that ended most often, and the events before each end.
  void find_phases() {
    std::map<std::string, std::vector<std::uint64_t>> ended;
    for (const PhaseRow& phase : phases_of(file_, device_, {})) {
      if (phase.open) continue;
      ended[phase_kind(file_.snapshot.text(phase.name))].push_back(phase.end_sequence - 1);
    }
    const auto most = std::max_element(
        ended.begin(), ended.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (most == ended.end() || most->second.size() < 2) return;
    leaks_.phase = most->first;
    leaks_.phases = most->second.size();
    ends_ = most->second;
    std::sort(ends_.begin(), ends_.end());
  }

  void step(std::size_t row) {
    while (passed_ < ends_.size() && ends_[passed_] <= row) ++passed_;
    const record::Action action = events_.action[row];
    const bool begins = record::begins_block(action);
    if (!begins && !record::ends_block(action)) return;
    const std::uint64_t key = place_key(device_, events_.address[row]);
    if (const std::uint64_t* const alloc = open_.find(key)) {
      end_block(static_cast<std::size_t>(*alloc - 1), row, begins);
      if (!begins) open_.erase_found(alloc);
    }
    if (!begins) return;
    Followed& stack = at(row);
    ++stack.leak.allocs;
    if (!counts(row)) {
      open_.erase(key);
      return;
    }
    stack.live = wrapping_add(stack.live, bytes_of(row));
    open_[key] = row + 1;
  }

  bool counts(std::size_t row) const {
    return !options_.matches || options_.matches(block_of(events_.row(row), row + 1));
  }

  std::int64_t bytes_of(std::size_t row) const {
    return static_cast<std::int64_t>(events_.requested[row]);
  }

  /// The stack of an event, with its books closed for the phases that have ended.
  Followed& at(std::size_t row) {
    Followed& stack = stacks_[events_.stack[row].value];
    close_phases(stack);
    return stack;
  }

  void close_phases(Followed& stack) const {
    if (stack.ends == passed_) return;
    if (stack.ends == 0) stack.at_first_end = stack.live;
    if (stack.ends > 0 && stack.live > stack.at_last_end) ++stack.leak.grew_in;
    if (stack.ends > 0 && stack.live < stack.at_last_end) ++stack.leak.fell_in;
    stack.at_last_end = stack.live;
    stack.ends = passed_;
  }

  /// A block whose address is handed out again has lost its free: when it ended nobody knows.
  void end_block(std::size_t alloc, std::size_t row, bool is_lost) {
    Followed& stack = at(alloc);
    stack.live = wrapping_subtract(stack.live, bytes_of(alloc));
    if (is_lost) return;
    const std::int64_t lived = wrapping_subtract(events_.time_us[row], events_.time_us[alloc]);
    ++stack.leak.freed;
    if (lived <= 0) return;
    stack.lived_us += static_cast<std::uint64_t>(lived);
    stack.leak.longest_lifetime_us = std::max(stack.leak.longest_lifetime_us, lived);
  }

  void add_live(std::size_t row) {
    Leak& leak = stacks_[events_.stack[row].value].leak;
    const std::int64_t time_us = events_.time_us[row];
    const std::uint64_t bytes = events_.requested[row];
    leak.held += {.bytes = bytes, .requested = bytes, .blocks = 1};
    leak.oldest_us = leak.held.blocks == 1 ? time_us : std::min(leak.oldest_us, time_us);
    leak.newest_us = leak.held.blocks == 1 ? time_us : std::max(leak.newest_us, time_us);
  }

  void sort_stacks() {
    passed_ = ends_.size();
    StackTexts texts(file_, options_.own);
    std::map<std::pair<std::uint64_t, std::string>, Leak> sorted;
    for (auto& [id, stack] : stacks_) {
      close_phases(stack);
      Leak& leak = stack.leak;
      leak.growth_bytes = wrapping_subtract(stack.at_last_end, stack.at_first_end);
      if (leak.freed > 0) {
        leak.mean_lifetime_us = static_cast<std::int64_t>(stack.lived_us / leak.freed);
      }
      std::uint64_t weight = leak.held.bytes;
      if (leak.is_growing()) {
        weight = std::max(weight, static_cast<std::uint64_t>(leak.growth_bytes));
      }
      if (leak.held.blocks == 0 && !leak.is_growing()) continue;
      leak.line = texts.line(StackId{id});
      leak.stack = texts.locations(StackId{id});
      sorted.emplace(std::pair(UINT64_MAX - weight, texts.key(StackId{id})), std::move(leak));
    }
    for (auto& [key, leak] : sorted) leaks_.stacks.push_back(std::move(leak));
  }

  const SnapshotFile& file_;
  const EventColumns& events_;
  const AnswerOptions& options_;
  std::uint8_t device_;
  RowRange trace_;
  Leaks leaks_;
  std::vector<std::uint64_t> ends_;  // of phases: the first row after each
  std::size_t passed_ = 0;           // of them
  FlatMap<std::uint64_t> open_;      // row of the alloc, plus one
  std::unordered_map<std::uint32_t, Followed> stacks_;
};

}  // namespace

Leaks find_leaks(const SnapshotFile& file, std::uint8_t device, const AnswerOptions& options) {
  if (device >= file.traces.size()) return {};
  return LeakFinder(file, device, options).run();
}

}  // namespace strandline::snapshot
