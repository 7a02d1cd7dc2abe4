// SPDX-License-Identifier: Apache-2.0
// Turns the recorder's ids into numbers of a snapshot's own tables, each id once.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "strandline/record/tables.h"
#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot {

/// A traceback as read: the stack, and that of the operation a gradient belongs to.
struct ResolvedStack {
  StackId calling;
  StackId forward;
};

class Resolver {
 public:
  Resolver(const record::Tables& tables, Snapshot& snapshot)
      : tables_(tables), snapshot_(snapshot) {}

  /// Has the frames told that these events name and that nobody asked for yet, all at once: what
  /// tells them may have to wait for a lock.
  void prepare(std::span<const record::Event> events);

  ResolvedStack stack(TracebackId id);
  StringId op(OpId id) { return text(ops_, tables_.ops, id); }
  StringId label(LabelId id) { return text(labels_, tables_.labels, id); }
  StringId owner(OwnerId id) { return text(owners_, tables_.owners, id); }
  LayoutId layout(LayoutId id);
  StreamId stream(StreamId id) { return handle(streams_, tables_.streams, snapshot_.streams, id); }
  PoolId pool(PoolId id) { return handle(pools_, tables_.pools, snapshot_.pools, id); }

  BlockRow block(const record::LiveBlock& live, const ClockConversion& clock);
  EventRow event(const record::Event& event, std::int64_t time_us);

 private:
  /// id -> what it became; ids are dense, so a vector does. Numbers are kept plus one.
  using Known = std::vector<std::uint32_t>;
  static std::uint32_t& slot(Known& known, std::uint32_t id) {
    if (known.size() <= id) known.resize(id + 1, 0);
    return known[id];
  }

  template <typename IdType>
  StringId text(Known& known, const NameTable<IdType>& table, IdType id) {
    if (!id) return {};
    std::uint32_t& number = slot(known, id.value);
    if (number == 0) number = snapshot_.strings.intern(table.text(id)).value + 1;
    return StringId{number - 1};
  }

  template <typename IdType>
  IdType handle(Known& known, const record::HandleTable<IdType>& table,
                std::vector<std::pair<std::uint64_t, std::uint64_t>>& column, IdType id) {
    if (!id) return {};
    std::uint32_t& number = slot(known, id.value);
    if (number == 0) {
      column.push_back(table.handle(id));
      number = static_cast<std::uint32_t>(column.size());
    }
    return IdType{number};
  }

  StackId resolve_stack(TracebackId id);
  FrameId enter(const record::Frame& frame);
  FrameId frame(const record::RawFrame& raw);

  struct RawFrameHash {
    std::size_t operator()(const record::RawFrame& raw) const noexcept {
      return static_cast<std::size_t>(
          mix_bits(raw.code ^ (static_cast<std::uint64_t>(raw.offset) << 32) ^ raw.source));
    }
  };

  const record::Tables& tables_;
  Snapshot& snapshot_;
  Known ops_, labels_, owners_, layouts_, streams_, pools_;
  std::vector<std::optional<ResolvedStack>> stacks_;  // by id
  std::unordered_map<record::RawFrame, FrameId, RawFrameHash> frames_;
};

}  // namespace strandline::snapshot
