// SPDX-License-Identifier: Apache-2.0
// Files are read once, and only regular ones of a size that a person would write.
#include "snapshot/source_lines.h"

#include <fstream>

#include <sys/stat.h>

#include "snapshot/utf8.h"

namespace strandline::snapshot {
namespace {

constexpr std::int64_t kLargestSourceBytes = 16 << 20;

}  // namespace

std::optional<std::string> SourceLines::line(const std::string& file, std::uint32_t number) {
  auto known = files_.find(file);
  if (known == files_.end()) known = files_.emplace(file, read(file)).first;
  if (number == 0 || number > known->second.size()) return std::nullopt;
  const std::string& text = known->second[number - 1];
  const std::size_t begin = text.find_first_not_of(" \t\f\v");
  if (begin == std::string::npos) return std::nullopt;
  return repaired_utf8(
      std::string_view(text).substr(begin, text.find_last_not_of(" \t\r\f\v") - begin + 1));
}

std::vector<std::string> SourceLines::read(const std::string& file) const {
  struct stat facts {};
  if (stat(file.c_str(), &facts) != 0 || !S_ISREG(facts.st_mode)) return {};
  const std::int64_t changed_us =
      static_cast<std::int64_t>(facts.st_mtim.tv_sec) * 1'000'000 + facts.st_mtim.tv_nsec / 1000;
  if (changed_us > record_start_us_ || facts.st_size > kLargestSourceBytes) return {};
  std::ifstream stream(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  return lines;
}

}  // namespace strandline::snapshot
