// SPDX-License-Identifier: Apache-2.0
// Paths of libraries.
#include "snapshot/user_frames.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace strandline::snapshot {
namespace {

/// ".../lib/python3.11/..." with any version.
bool is_in_python_folder(std::string_view file, std::string_view prefix) noexcept {
  for (std::size_t at = file.find(prefix); at != std::string_view::npos;
       at = file.find(prefix, at + 1)) {
    std::string_view rest = file.substr(at + prefix.size());
    const std::size_t digits = rest.find_first_not_of("0123456789");
    if (digits > 0 && digits != std::string_view::npos &&
        (rest[digits] == '/' || rest[digits] == 't')) {
      return true;
    }
  }
  return false;
}

bool is_under(std::string_view file, std::string_view folder) noexcept {
  while (folder.ends_with('/')) folder.remove_suffix(1);
  return !folder.empty() && file.size() > folder.size() && file.starts_with(folder) &&
         file[folder.size()] == '/';
}

}  // namespace

bool is_library_file(std::string_view file) noexcept {
  if (file.empty() || file.front() == '<' || file == "??") return true;
  constexpr std::array<std::string_view, 2> kPackages{"/site-packages/", "/dist-packages/"};
  constexpr std::array<std::string_view, 2> kLibraries{"/lib/python3.", "/lib64/python3."};
  return std::any_of(kPackages.begin(), kPackages.end(),
                     [&](std::string_view part) { return file.find(part) != file.npos; }) ||
         std::any_of(kLibraries.begin(), kLibraries.end(),
                     [&](std::string_view part) { return is_in_python_folder(file, part); });
}

bool is_typed_code(std::string_view file) noexcept {
  constexpr std::array<std::string_view, 3> kBeginnings{"<ipython-input-", "<python-input-",
                                                        "<doctest "};
  return file == "<string>" || file == "<stdin>" ||
         std::any_of(kBeginnings.begin(), kBeginnings.end(),
                     [&](std::string_view beginning) { return file.starts_with(beginning); });
}

bool matches_path(std::string_view pattern, std::string_view path) noexcept {
  if (pattern.find_first_of("*?") == std::string_view::npos) {
    return path.find(pattern) != std::string_view::npos;
  }
  // The last star is the only place to come back to: what it takes grows by one.
  std::size_t p = 0;
  std::size_t at = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_at = 0;
  while (at < path.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_at = at;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == path[at])) {
      ++p;
      ++at;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      at = ++star_at;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool UserFrames::is_users(FrameId frame) {
  std::optional<bool>& known = known_[frame.value];
  if (!known) {
    const std::string_view file = snapshot_.text(snapshot_.frames.file(frame));
    const auto matches = [&](const std::string& pattern) { return matches_path(pattern, file); };
    const auto lies_under = [&](const std::string& folder) { return is_under(file, folder); };
    known = own_.empty() ? !is_library_file(file) &&
                               std::none_of(folders_.begin(), folders_.end(), lies_under)
                         : std::any_of(own_.begin(), own_.end(), matches);
  }
  return *known;
}

FrameId UserFrames::line_of(StackId stack) {
  std::uint32_t& line = lines_[stack.value];
  if (line == kUnknown) line = find_line(stack).value;
  return FrameId{line};
}

bool UserFrames::is_typed(FrameId frame) const {
  return own_.empty() && is_typed_code(snapshot_.text(snapshot_.frames.file(frame)));
}

FrameId UserFrames::find_line(StackId stack) {
  FrameId typed;
  FrameId native;
  for (; stack; stack = snapshot_.stacks.parent(stack)) {
    const FrameId frame = snapshot_.stacks.frame(stack);
    if (is_typed(frame)) {
      if (!typed) typed = frame;
    } else if (is_users(frame)) {
      if (snapshot_.text(snapshot_.frames.file(frame)).ends_with(".py")) return frame;
      if (!native) native = frame;
    }
  }
  return typed ? typed : native;
}

Location UserFrames::location(FrameId frame) const {
  return {.file = std::string(snapshot_.text(snapshot_.frames.file(frame))),
          .function = std::string(snapshot_.text(snapshot_.frames.function(frame))),
          .line = snapshot_.frames.line(frame)};
}

}  // namespace strandline::snapshot
