// SPDX-License-Identifier: Apache-2.0
// OutOfMemory, with all that explains it: what was asked, what is active and cached, the limit, and
// who holds the most.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "alloc/core.h"
#include "strandline/core/error.h"
#include "strandline/record/capture.h"

namespace strandline::alloc {
namespace {

constexpr std::size_t kHoldersNamed = 3;

struct Held {
  device::Address address = 0;
  std::uint64_t size = 0;
};

// Blocks of one holder: of one line and op where the recorder knows them, else of one size.
struct Holder {
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
};
using HolderKey = std::tuple<OpId, TracebackId, std::uint64_t>;

std::string holder_name(const HolderKey& key) {
  const auto [op, traceback, size] = key;
  record::Tables& tables = record::recorder().tables();
  std::string text = op ? tables.ops.text(op) : std::string();
  const std::vector<record::RawFrame> frames = tables.tracebacks.frames(traceback);
  if (!frames.empty()) {
    const record::Frame frame = record::resolve_frame(frames.front());
    text += fmt::format("{}{}:{}", text.empty() ? "" : " at ", frame.file, frame.line);
  }
  return text.empty() ? fmt::format("{} bytes", size) : text;
}

std::map<HolderKey, Holder> holders_of(const std::vector<Held>& blocks) {
  const record::Cut cut = record::recorder().cut(record::Recorder::Events::none);
  std::map<HolderKey, Holder> holders;
  for (const Held& block : blocks) {
    const auto live = std::lower_bound(
        cut.live.begin(), cut.live.end(), block.address,
        [](const record::LiveBlock& one, device::Address at) { return one.address < at; });
    HolderKey key{{}, {}, block.size};
    if (live != cut.live.end() && live->address == block.address &&
        (live->holder.op || live->holder.traceback)) {
      key = {live->holder.op, live->holder.traceback, 0};
    }
    Holder& holder = holders[key];
    holder.bytes += block.size;
    ++holder.count;
  }
  return holders;
}

}  // namespace

std::string Core::largest_holders() const noexcept try {
  std::vector<Held> blocks;
  {
    const StateGuard guard(lock_);
    table_.for_each([&](const Block& block) {
      if (block.use == BlockUse::allocated && block.kind != BlockKind::region) {
        blocks.push_back({block.address, block.size});
      }
    });
  }
  const std::map<HolderKey, Holder> holders = holders_of(blocks);
  std::vector<std::pair<HolderKey, Holder>> largest(holders.begin(), holders.end());
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  if (largest.empty()) return "none";
  std::string text;
  for (std::size_t i = 0; i < std::min(kHoldersNamed, largest.size()); ++i) {
    const auto& [key, holder] = largest[i];
    text += fmt::format("{}{} bytes in {} block{} of {}", text.empty() ? "" : ", ", holder.bytes,
                        holder.count, holder.count == 1 ? "" : "s", holder_name(key));
  }
  return text;
} catch (...) {  // where memory is short, a message without them is better than none
  return "unknown";
}

std::uint64_t Core::device_free_bytes() const noexcept try {
  return device_.memory().info().free_bytes;
} catch (...) {  // the device refuses to say
  return 0;
}

void Core::throw_out_of_memory(std::string_view why, const Request& request,
                               std::uint64_t available, std::uint64_t limit) {
  out_of_memory_.fetch_add(1, std::memory_order_relaxed);
  if (record::recording()) {
    record::recorder().note_oom(request.bytes, device_free_bytes(), {}, device_number());
  }
  const Statistics now = statistics();
  const std::string got = fmt::format(
      "a request of {} bytes with {} active, {} cached and a memory limit of {} (largest holders: "
      "{})",
      request.bytes, now.active_bytes, now.cached_bytes, limits().memory.bytes, largest_holders());
  throw OutOfMemory(
      error_message(describe("malloc"), why, got, fmt::format("at most {} bytes", available)),
      request.bytes, available, limit);
}

void Core::throw_buffer_limit(const Request& request) {
  const Statistics now = statistics();
  const std::uint64_t limit = limits().buffers;
  throw_out_of_memory(fmt::format("resource limit ({} buffers) exceeded: {} buffers of the device "
                                  "are held, {} of them cached",
                                  limit, now.buffer_count, now.cached_count),
                      request, 0, limit);
}

}  // namespace strandline::alloc
