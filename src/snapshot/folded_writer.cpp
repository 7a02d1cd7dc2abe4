// SPDX-License-Identifier: Apache-2.0
// Stacks of what is held, outermost first, as flame graph tools read them.
#include <map>

#include <fmt/format.h>

#include "snapshot/byte_output.h"
#include "snapshot/utf8.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/profile_export.h"

namespace strandline::snapshot {
namespace {

/// Semicolons part frames and ends of line part stacks.
std::string frame_text(const Snapshot& snapshot, FrameId frame) {
  std::string text =
      fmt::format("{} ({}:{})", snapshot.text(snapshot.frames.function(frame)),
                  snapshot.text(snapshot.frames.file(frame)), snapshot.frames.line(frame));
  for (char& c : text) {
    if (c == ';') c = ':';
    if (c == '\n' || c == '\r') c = ' ';
  }
  return is_valid_utf8(text) ? text : repaired_utf8(text);
}

std::string stack_text(const Snapshot& snapshot, StackId stack) {
  if (!stack) return "(no stack)";
  std::vector<FrameId> frames;
  for (; stack; stack = snapshot.stacks.parent(stack)) {
    frames.push_back(snapshot.stacks.frame(stack));
  }
  std::string text;
  for (std::size_t i = frames.size(); i-- > 0;) {
    text += frame_text(snapshot, frames[i]);
    if (i > 0) text += ';';
  }
  return text;
}

}  // namespace

std::string folded_text(const SnapshotFile& file, const ProfileOptions& options) {
  std::map<StackId, std::uint64_t> sums;
  for (const DeviceAccount& account : make_account(file, options.device).devices) {
    const auto moment = static_cast<std::int64_t>(events_before(options.moment, file, account));
    const BlockColumns held = blocks_held(file, account.device, moment - 1);
    for (std::size_t b = 0; b < held.count(); ++b) {
      const BlockRow block = held.row(b);
      if (options.answers.counts(block)) sums[block.stack] += block.requested;
    }
  }
  std::map<std::string, std::uint64_t> lines;  // different stacks may look alike
  for (const auto& [stack, bytes] : sums) lines[stack_text(file.snapshot, stack)] += bytes;
  std::string text;
  for (const auto& [line, bytes] : lines) text += fmt::format("{} {}\n", line, bytes);
  return text;
}

void write_folded(const SnapshotFile& file, const std::string& path,
                  const ProfileOptions& options) {
  const std::string text = folded_text(file, options);
  FileOutput output(path);
  output.write(text);
  output.commit();
}

}  // namespace strandline::snapshot
