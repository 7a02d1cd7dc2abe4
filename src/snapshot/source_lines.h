// SPDX-License-Identifier: Apache-2.0
// Source text of a line, of files that are readable and have not changed since the record began.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace strandline::snapshot {

class SourceLines {
 public:
  explicit SourceLines(std::int64_t record_start_us) : record_start_us_(record_start_us) {}

  /// Without the white space around it; none when the file cannot tell.
  std::optional<std::string> line(const std::string& file, std::uint32_t number);

 private:
  std::vector<std::string> read(const std::string& file) const;

  std::int64_t record_start_us_;
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace strandline::snapshot
