// SPDX-License-Identifier: Apache-2.0
// Parts of the text report: the table of lines, the call tree, rows of shares, wrapped text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "strandline/snapshot/report_text.h"

namespace strandline::snapshot {

/// Escape codes, or none.
class Style {
 public:
  explicit Style(bool color) : color_(color) {}

  std::string bold(const std::string& text) const { return wrap("\x1b[1m", text); }
  std::string dim(const std::string& text) const { return wrap("\x1b[2m", text); }

 private:
  std::string wrap(std::string_view code, const std::string& text) const {
    return color_ && !text.empty() ? std::string(code) + text + "\x1b[0m" : text;
  }

  bool color_;
};

/// Words in lines of at most `width` columns, all indented by `indent`; ends with a newline.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width);

/// Lines with their sizes, what they made below each, the rest as a row, the sum.
std::string lines_table(const PeakReport& report, const ReportTextOptions& options,
                        const Style& style);
/// The user's frames of the call tree, outermost first.
std::string tree_table(const PeakReport& report, const ReportTextOptions& options,
                       const Style& style);
/// "by label   (none) 61 %   data 3 %   … 14 more 36 %": as many as fit. Empty for only "none".
std::string share_row(std::string_view name, const std::vector<HeldName>& names,
                      std::uint64_t whole, std::size_t width);

}  // namespace strandline::snapshot
