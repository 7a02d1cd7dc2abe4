// SPDX-License-Identifier: Apache-2.0
// What many places of the pickle share: texts, stacks, ids of pools and the dictionaries about a
// block. Each is written where it is first needed, memoised, and named from then on.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "snapshot/pickle_encoder.h"
#include "strandline/snapshot/snapshot.h"

namespace strandline::snapshot {

/// Texts of the format itself.
enum class Word : std::uint8_t {
  action,
  addr,
  address,
  active_allocated,
  active_pending_free,
  active_size,
  alloc,
  allocated_size,
  allocator_settings,
  annotate,
  blocks,
  category,
  compile_context,
  device,
  device_free,
  device_traces,
  dtype,
  empty,
  end,
  external_annotations,
  filename,
  forward_frames,
  frames,
  free_completed,
  free_requested,
  host_segments,
  host_traces,
  inactive,
  is_expandable,
  label,
  large,
  line,
  name,
  oom,
  op,
  owner,
  pool_id,
  requested_size,
  segment_alloc,
  segment_free,
  segment_map,
  segment_pool_id,
  segment_type,
  segment_unmap,
  segments,
  shape,
  size,
  small,
  snapshot,
  stage,
  start,
  state,
  stream,
  time_us,
  total_size,
  unknown,
  user_metadata,
  count_
};

/// What is said about a block beside its stack.
struct Metadata {
  StringId op{};
  StringId label{};
  StringId owner{};
  LayoutId layout{};

  bool operator==(const Metadata&) const = default;
};

class PickleParts {
 public:
  PickleParts(PickleEncoder& encoder, const Snapshot& snapshot);

  void word(Word word);
  void text(StringId id);
  /// A text that is no column's; written where it stands.
  void text(std::string_view utf8) { encoder_.text(utf8); }
  /// A text of which there are few kinds, of the format or not: written once.
  void known_text(std::string_view utf8);
  /// The frames, innermost first, as a list of dictionaries.
  void stack(StackId id);
  void pool(PoolId id);

  // -- what has been written already and is named again; none where it has not ------------------

  Memo memo_of(Word word) const noexcept { return words_[static_cast<std::size_t>(word)]; }
  Memo memo_of(StringId id) const noexcept { return id ? texts_[id.value] : memo_of(Word::empty); }
  Memo memo_of(StackId id) const noexcept { return stacks_[id.value]; }
  Memo memo_of(PoolId id) const noexcept { return pools_[id.value]; }
  Memo memo_of(const Metadata& metadata) const noexcept {
    if (!metadata.op && !metadata.owner && !metadata.layout) return memo_of(metadata.label);
    const Recent& recent = recent_[MetadataHash{}(metadata) % kRecent];
    return recent.metadata == metadata ? recent.memo : Memo{};
  }

  /// The plain label where nothing else is known, else a dictionary; "" without anything.
  void metadata(const Metadata& metadata);

 private:
  void frame(FrameId id);
  void metadata_fields(const Metadata& metadata);

  struct MetadataHash {
    std::size_t operator()(const Metadata& m) const noexcept {
      const auto high = (static_cast<std::uint64_t>(m.op.value) << 32) | m.label.value;
      const auto low = (static_cast<std::uint64_t>(m.owner.value) << 32) | m.layout.value;
      return static_cast<std::size_t>(mix_bits(mix_bits(high) + low));
    }
  };

  PickleEncoder& encoder_;
  const Snapshot& snapshot_;
  std::array<Memo, static_cast<std::size_t>(Word::count_)> words_{};
  std::map<std::string, Memo, std::less<>> known_texts_;
  std::vector<Memo> texts_;
  std::vector<Memo> frames_;
  std::vector<Memo> stacks_;
  std::vector<Memo> pools_;
  std::unordered_map<Metadata, Memo, MetadataHash> metadata_;
  // The dictionaries that were used last, by their hash: events are about few blocks in turn.
  struct Recent {
    Metadata metadata;
    Memo memo;
  };
  static constexpr std::size_t kRecent = 512;
  std::vector<Recent> recent_{kRecent};
};

}  // namespace strandline::snapshot
