// SPDX-License-Identifier: Apache-2.0
// Joining and choosing.
#include "snapshot/pickle_feed.h"

#include <algorithm>

namespace strandline::snapshot {
namespace {

constexpr std::size_t kJoined = 4096;
constexpr std::string_view kGzip = "\x1f\x8b";
constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd";

}  // namespace

void PickleFeed::write(std::string_view bytes) {
  while (!machine_.stopped() && !bytes.empty()) {
    if (cut_.empty()) {
      bytes.remove_prefix(machine_.feed(bytes));
      if (!machine_.stopped()) cut_.assign(bytes);
      return;
    }
    // Only the opcode that was cut is joined; what follows it is read where it stands.
    const std::size_t before = cut_.size();
    const std::string_view more = bytes.substr(0, std::max(kJoined, before));
    cut_.append(more);
    const std::size_t taken = machine_.feed(cut_);
    if (taken >= before) {
      bytes.remove_prefix(taken - before);
      cut_.clear();
    } else {
      bytes.remove_prefix(more.size());
      cut_.erase(0, taken);
    }
  }
}

void PickleFeed::finish() {
  machine_.finish();
}

void Unpacker::write(std::string_view bytes) {
  if (!chosen_) {
    const std::string_view taken = bytes.substr(0, kZstd.size() - head_.size());
    head_.append(taken);
    bytes.remove_prefix(taken.size());
    if (head_.size() < kZstd.size()) return;
    choose();
  }
  ByteSink& sink = packed_ ? *packed_ : target_;
  if (!bytes.empty()) sink.write(bytes);
}

void Unpacker::choose() {
  chosen_ = true;
  if (head_.starts_with(kGzip)) packed_ = gzip_reader(target_);
  if (head_ == kZstd) packed_ = zstd_reader(target_);
  ByteSink& sink = packed_ ? *packed_ : target_;
  sink.write(head_);
}

void Unpacker::finish() {
  if (!chosen_) choose();
  if (packed_) packed_->finish();
  target_.finish();
}

}  // namespace strandline::snapshot
