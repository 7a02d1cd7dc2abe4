// SPDX-License-Identifier: Apache-2.0
// Interning of strings, frames and stack nodes.
#include "strandline/snapshot/columns.h"

#include <functional>

#include "strandline/core/error.h"

namespace strandline::snapshot {

StringId StringColumn::intern(std::string_view text) {
  if (text.empty()) return {};
  const std::uint64_t hash = std::hash<std::string_view>{}(text);
  const std::uint32_t known =
      index_.find(hash, [&](std::uint32_t number) { return this->text(StringId{number}) == text; });
  if (known != 0) return StringId{known};
  bytes_.append(text);
  ends_.push_back(bytes_.size());
  return StringId{index_.add(hash)};
}

FrameId FrameColumn::intern(StringId file, StringId function, std::uint32_t line) {
  const std::uint64_t names = (static_cast<std::uint64_t>(file.value) << 32) | function.value;
  const std::uint64_t hash = mix_bits(mix_bits(names) + line);
  const std::uint32_t known = index_.find(hash, [&](std::uint32_t number) {
    const std::size_t at = number - 1;
    return files_[at] == file && functions_[at] == function && lines_[at] == line;
  });
  if (known != 0) return FrameId{known};
  files_.push_back(file);
  functions_.push_back(function);
  lines_.push_back(line);
  return FrameId{index_.add(hash)};
}

StackId StackTree::child(StackId parent, FrameId frame) {
  if (!frame) {
    throw InvalidArgument(error_message("StackTree::child", "no frame", "id 0", "a frame's id"));
  }
  std::uint32_t& number = children_[(static_cast<std::uint64_t>(parent.value) << 32) | frame.value];
  if (number == 0) {
    parents_.push_back(parent);
    frames_.push_back(frame);
    number = static_cast<std::uint32_t>(parents_.size());
  }
  return StackId{number};
}

std::size_t StackTree::depth(StackId id) const noexcept {
  std::size_t frames = 0;
  for (; id; id = parent(id)) ++frames;
  return frames;
}

}  // namespace strandline::snapshot
