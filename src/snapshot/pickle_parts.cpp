// SPDX-License-Identifier: Apache-2.0
// Shared parts of the pickle, each written once.
#include "snapshot/pickle_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace strandline::snapshot {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(Word::count_)> kWords{
    "action",
    "addr",
    "address",
    "active_allocated",
    "active_pending_free",
    "active_size",
    "alloc",
    "allocated_size",
    "allocator_settings",
    "annotate",
    "blocks",
    "category",
    "compile_context",
    "device",
    "device_free",
    "device_traces",
    "dtype",
    "",
    "END",
    "external_annotations",
    "filename",
    "forward_frames",
    "frames",
    "free_completed",
    "free_requested",
    "host_segments",
    "host_traces",
    "inactive",
    "is_expandable",
    "label",
    "large",
    "line",
    "name",
    "oom",
    "op",
    "owner",
    "pool_id",
    "requested_size",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_pool_id",
    "segment_type",
    "segment_unmap",
    "segments",
    "shape",
    "size",
    "small",
    "snapshot",
    "stage",
    "START",
    "state",
    "stream",
    "time_us",
    "total_size",
    "unknown",
    "user_metadata"};
static_assert(kWords.back() == "user_metadata");

/// "(16, 512)", as layout_text has it, without the type.
std::string shape_text(const record::Layout& layout) {
  return fmt::format("({}{})", fmt::join(layout.shape, ", "), layout.shape.size() == 1 ? "," : "");
}

}  // namespace

PickleParts::PickleParts(PickleEncoder& encoder, const Snapshot& snapshot)
    : encoder_(encoder),
      snapshot_(snapshot),
      texts_(snapshot.strings.size() + 1),
      frames_(snapshot.frames.size() + 1),
      stacks_(snapshot.stacks.size() + 1),
      pools_(snapshot.pools.size() + 1) {}

void PickleParts::word(Word word) {
  const auto index = static_cast<std::size_t>(word);
  Memo& memo = words_[index];
  if (memo) return encoder_.get(memo);
  encoder_.text(kWords[index]);
  memo = encoder_.memoize();
}

void PickleParts::text(StringId id) {
  if (!id) return word(Word::empty);
  Memo& memo = texts_[id.value];
  if (memo) return encoder_.get(memo);
  encoder_.text(snapshot_.text(id));
  memo = encoder_.memoize();
}

void PickleParts::known_text(std::string_view utf8) {
  const auto known = known_texts_.find(utf8);
  if (known != known_texts_.end()) return encoder_.get(known->second);
  encoder_.text(utf8);
  known_texts_.emplace(utf8, encoder_.memoize());
}

void PickleParts::frame(FrameId id) {
  Memo& memo = frames_[id.value];
  if (memo) return encoder_.get(memo);
  encoder_.empty_dict();
  encoder_.mark();
  word(Word::filename);
  text(snapshot_.frames.file(id));
  word(Word::line);
  encoder_.integer(snapshot_.frames.line(id));
  word(Word::name);
  text(snapshot_.frames.function(id));
  encoder_.set_items();
  memo = encoder_.memoize();
}

void PickleParts::stack(StackId id) {
  Memo& memo = stacks_[id.value];
  if (memo) return encoder_.get(memo);
  PickleList list(encoder_);
  for (StackId node = id; node; node = snapshot_.stacks.parent(node)) {
    list.next();
    frame(snapshot_.stacks.frame(node));
  }
  list.end();
  memo = encoder_.memoize();
}

void PickleParts::pool(PoolId id) {
  Memo& memo = pools_[id.value];
  if (memo) return encoder_.get(memo);
  const auto [first, second] = snapshot_.pool(id);
  encoder_.integer(first);
  encoder_.integer(second);
  encoder_.tuple2();
  memo = encoder_.memoize();
}

void PickleParts::metadata(const Metadata& metadata) {
  if (!metadata.op && !metadata.owner && !metadata.layout) return text(metadata.label);
  Recent& recent = recent_[MetadataHash{}(metadata) % kRecent];
  if (recent.memo && recent.metadata == metadata) return encoder_.get(recent.memo);
  Memo& memo = metadata_[metadata];
  if (memo) {
    encoder_.get(memo);
  } else {
    encoder_.empty_dict();
    encoder_.mark();
    metadata_fields(metadata);
    encoder_.set_items();
    memo = encoder_.memoize();
  }
  recent = {metadata, memo};
}

void PickleParts::metadata_fields(const Metadata& metadata) {
  const auto field = [&](Word key, StringId value) {
    if (!value) return;
    word(key);
    text(value);
  };
  field(Word::label, metadata.label);
  field(Word::op, metadata.op);
  if (metadata.layout) {
    const record::Layout& layout = snapshot_.layout(metadata.layout);
    word(Word::shape);
    encoder_.text(shape_text(layout));
    word(Word::dtype);
    encoder_.text(record::dtype_name(layout.dtype));
  }
  field(Word::owner, metadata.owner);
}

}  // namespace strandline::snapshot
