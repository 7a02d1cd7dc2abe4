// SPDX-License-Identifier: Apache-2.0
// Tables of the text report. Right of the text stand three columns:
//
//   text …                                    MiB   share  blocks
#include "snapshot/report_tables.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "snapshot/numbers.h"
#include "snapshot/utf8.h"

namespace strandline::snapshot {
namespace {

constexpr std::size_t kColumns = 10 + 8 + 8;  // size, share, blocks
constexpr std::size_t kWidestPlace = 28;

std::string padded(std::string_view text, std::size_t width) {
  std::string cut = cut_to_width(text, width);
  cut.append(width - width_of(cut), ' ');
  return cut;
}

std::string columns(std::string_view size, std::string_view share, std::string_view blocks) {
  return fmt::format("{:>10}{:>8}{:>8}", size, share, blocks);
}

std::string_view file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// Names of files as short as they can be without two of them looking alike.
class ShortNames {
 public:
  explicit ShortNames(const PeakReport& report) {
    for (const HeldLine& line : report.by_line) {
      note(line.line);
      note(line.innermost);
      for (const HeldItem& item : line.items) note(item.called_at);
    }
  }

  std::string text(const Location& place) const {
    std::string_view name = file_name(place.file);
    const auto known = paths_.find(name);
    if (known != paths_.end() && known->second.size() > 1) {
      const std::string_view folder =
          std::string_view(place.file).substr(0, place.file.size() - name.size());
      const std::string_view parent =
          file_name(folder.substr(0, folder.empty() ? 0 : folder.size() - 1));
      name = std::string_view(place.file)
                 .substr(folder.size() - parent.size() - (folder.empty() ? 0 : 1));
    }
    return fmt::format("{}:{}", name, place.line);
  }

 private:
  void note(const std::optional<Location>& place) {
    if (!place) return;
    std::vector<std::string_view>& paths = paths_[file_name(place->file)];
    if (std::find(paths.begin(), paths.end(), place->file) == paths.end())
      paths.push_back(place->file);
  }

  std::map<std::string_view, std::vector<std::string_view>> paths_;
};

/// As many parts as fit into `rows` rows of `width`, then how many more there are.
std::vector<std::string> fitting(const std::vector<std::string>& parts, std::string_view separator,
                                 std::size_t width, std::size_t rows) {
  std::vector<std::string> text(1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string more = fmt::format("{}… {} more", separator, parts.size() - i);
    const std::size_t reserve = text.size() == rows && i + 1 < parts.size() ? width_of(more) : 0;
    const std::size_t needed =
        width_of(parts[i]) +
        (text.back().empty() ? 0 : width_of(text.back()) + width_of(separator));
    const bool fits = needed + reserve <= width;
    if (!fits && !text.back().empty()) {
      if (text.size() == rows) {
        text.back() += more;
        return text;
      }
      text.emplace_back();
    }
    if (!text.back().empty()) text.back() += separator;
    text.back() += cut_to_width(parts[i], width);
  }
  return text;
}

/// "layers.3.w" -> "layers.*.w": labels that differ in an index only are one.
std::string without_indexes(std::string_view label) {
  std::string text;
  while (!label.empty()) {
    const std::size_t dot = std::min(label.find('.'), label.size());
    const std::string_view part = label.substr(0, dot);
    const bool index = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
    if (!text.empty()) text += '.';
    text += index ? std::string_view("*") : part;
    label.remove_prefix(std::min(dot + 1, label.size()));
  }
  return text;
}

class LinesTable {
 public:
  LinesTable(const PeakReport& report, const ReportTextOptions& options, const Style& style)
      : report_(report), options_(options), style_(style), names_(report) {
    shown_ = std::min(options.top, report.by_line.size());
    // A rest of one line takes as much room as the line.
    if (shown_ + 1 == report.by_line.size()) ++shown_;
    for (std::size_t i = 0; i < shown_; ++i) {
      place_width_ = std::max(place_width_, width_of(place(report.by_line[i])));
    }
    place_width_ = std::min(place_width_, kWidestPlace);
  }

  std::string text() const {
    const Held rest = rest_of();
    std::vector<std::uint64_t> bytes;
    for (std::size_t i = 0; i < shown_; ++i) bytes.push_back(report_.by_line[i].held.bytes);
    bytes.push_back(rest.bytes);
    const SizeUnit unit = unit_for(report_.peak.bytes);
    const std::uint64_t sum = tenths(report_.peak.bytes, unit);
    const std::vector<std::uint64_t> sizes = tenths_that_add_up(bytes, unit, sum);

    std::string text = style_.bold(padded("held at the peak, by line", text_width()) +
                                   columns(unit.name, "share", "blocks")) +
                       "\n";
    for (std::size_t i = 0; i < shown_; ++i) {
      const HeldLine& line = report_.by_line[i];
      text += row(first_row(line), tenths_text(sizes[i], unit), line.held);
      text += details(line);
    }
    if (rest.blocks != 0) {
      text += row(fmt::format("  … {} more lines", with_commas(report_.by_line.size() - shown_)),
                  tenths_text(sizes.back(), unit), rest);
    }
    return text + fmt::format("{:>{}}", "sum", text_width()) +
           columns(tenths_text(sum, unit), "", with_commas(report_.peak.blocks)) + "\n";
  }

 private:
  std::size_t text_width() const { return options_.width - kColumns; }

  std::string row(const std::string& text, const std::string& size, const Held& held) const {
    return padded(text, text_width()) +
           columns(size, share_text(held.bytes, report_.peak.bytes), with_commas(held.blocks)) +
           "\n";
  }

  Held rest_of() const {
    Held rest;
    for (std::size_t i = shown_; i < report_.by_line.size(); ++i) rest += report_.by_line[i].held;
    return rest;
  }

  std::string place(const HeldLine& line) const {
    if (line.line) return names_.text(*line.line);
    if (line.innermost) return "(no line of yours)";
    return "(no line)";
  }

  std::string first_row(const HeldLine& line) const {
    const std::string start = "  " + padded(place(line), place_width_);
    if (line.source) return start + "  " + *line.source;
    if (line.line && !line.line->function.empty()) return start + "  in " + line.line->function;
    return start;
  }

  /// What the line made, its labels, and where in a library it happened.
  std::string details(const HeldLine& line) const {
    const std::size_t indent = std::min<std::size_t>(place_width_ + 4, 19);
    std::vector<std::string> parts;
    for (const HeldItem& item : line.items) {
      std::string part = item_text(item);
      if (!part.empty()) parts.push_back(std::move(part));
    }
    const std::size_t width = options_.width - indent - 2;
    std::string text;
    for (const std::string& row : fitting(parts, " · ", width, 2)) text += detail_row(row, indent);
    for (const std::string& row : fitting(labels(line), ", ", width, 1)) {
      text += detail_row(row, indent);
    }
    if (line.innermost && line.innermost != line.line) {
      text +=
          detail_row("inside " + names_.text(*line.innermost) +
                         (line.innermost->function.empty() ? "" : " " + line.innermost->function),
                     indent);
    }
    return text;
  }

  std::string detail_row(const std::string& text, std::size_t indent) const {
    if (text.empty()) return {};
    return std::string(indent, ' ') + style_.dim(cut_to_width(text, options_.width - indent)) +
           "\n";
  }

  static std::string item_text(const HeldItem& item) {
    if (item.operation.empty() && item.layout.empty()) return {};
    std::string text = item.operation.empty() ? "(no operation)" : item.operation;
    if (!item.layout.empty()) text += " " + item.layout;
    text += " × " + with_commas(item.held.blocks);
    if (item.direction == Direction::backward) text += " (backward)";
    return text;
  }

  static std::vector<std::string> labels(const HeldLine& line) {
    std::vector<std::string> labels;
    for (const HeldName& label : line.labels) {
      std::string text = without_indexes(label.name);
      if (std::find(labels.begin(), labels.end(), text) == labels.end()) {
        labels.push_back(std::move(text));
      }
    }
    return labels;
  }

  const PeakReport& report_;
  const ReportTextOptions& options_;
  const Style& style_;
  ShortNames names_;
  std::size_t shown_ = 0;
  std::size_t place_width_ = 0;
};

/// A node of the call tree as shown: the user's frames only.
struct ShownCall {
  std::string place;
  Held held;
  std::vector<ShownCall> children;
};

Held operator-(Held whole, const Held& part) {
  whole.bytes -= part.bytes;
  whole.requested -= part.requested;
  whole.blocks -= part.blocks;
  return whole;
}

class TreeTable {
 public:
  TreeTable(const PeakReport& report, const ReportTextOptions& options, const Style& style)
      : report_(report), options_(options), style_(style), unit_(unit_for(report.peak.bytes)) {}

  std::string text() {
    text_ = style_.bold(padded("held at the peak, by call", width()) +
                        columns(unit_.name, "share", "blocks")) +
            "\n";
    add_level(users_calls(report_.call_tree), report_.peak, tenths(report_.peak.bytes, unit_), 1);
    return text_;
  }

 private:
  static constexpr std::size_t kDeepest = 12;

  std::size_t width() const { return options_.width - kColumns; }

  /// Frames of libraries are passed through.
  static std::vector<ShownCall> users_calls(const std::vector<CallNode>& nodes) {
    std::vector<ShownCall> calls;
    for (const CallNode& node : nodes) {
      std::vector<ShownCall> inner = users_calls(node.children);
      if (node.is_users) {
        calls.push_back({.place = fmt::format("{}:{} {}", file_name(node.frame.file),
                                              node.frame.line, node.frame.function),
                         .held = node.held,
                         .children = std::move(inner)});
      } else {
        std::move(inner.begin(), inner.end(), std::back_inserter(calls));
      }
    }
    std::stable_sort(calls.begin(), calls.end(), [](const ShownCall& a, const ShownCall& b) {
      return a.held.bytes > b.held.bytes;
    });
    return calls;
  }

  /// Rows of one level, which add up to what their caller shows: calls that hold a hundredth of
  /// the peak, the others together, and what the caller holds by itself.
  void add_level(std::vector<ShownCall> calls, const Held& whole, std::uint64_t shown_whole,
                 std::size_t level) {
    if (calls.empty() || level > kDeepest) return;
    Held own = whole;
    for (const ShownCall& call : calls) own = own - call.held;
    const auto small = std::find_if(calls.begin(), calls.end(), [&](const ShownCall& call) {
      return call.held.bytes * 100 < report_.peak.bytes;
    });
    Held others;
    for (auto call = small; call != calls.end(); ++call) others += call->held;
    const auto count = calls.end() - small;
    calls.erase(small, calls.end());
    if (others.blocks != 0) {
      calls.push_back({fmt::format("… {} more calls", count), others, {}});
    }
    if (own.blocks != 0) {
      calls.push_back({level == 1 ? "(no frame of yours)" : "(itself)", own, {}});
    }
    std::vector<std::uint64_t> bytes;
    for (const ShownCall& call : calls) bytes.push_back(call.held.bytes);
    const std::vector<std::uint64_t> sizes = tenths_that_add_up(bytes, unit_, shown_whole);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      text_ +=
          padded(std::string(2 * level, ' ') + calls[i].place, width()) +
          columns(tenths_text(sizes[i], unit_), share_text(calls[i].held.bytes, report_.peak.bytes),
                  with_commas(calls[i].held.blocks)) +
          "\n";
      add_level(std::move(calls[i].children), calls[i].held, sizes[i], level + 1);
    }
  }

  const PeakReport& report_;
  const ReportTextOptions& options_;
  const Style& style_;
  SizeUnit unit_;
  std::string text_;
};

}  // namespace

std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  const std::size_t room = width - indent;
  std::string out;
  std::string line;
  const auto flush = [&] {
    out += std::string(indent, ' ') + line + "\n";
    line.clear();
  };
  while (!text.empty()) {
    const std::size_t space = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(std::min(space + 1, text.size()));
    if (!line.empty() && width_of(line) + 1 + width_of(word) > room) flush();
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) flush();
  return out;
}

std::string lines_table(const PeakReport& report, const ReportTextOptions& options,
                        const Style& style) {
  return LinesTable(report, options, style).text();
}

std::string tree_table(const PeakReport& report, const ReportTextOptions& options,
                       const Style& style) {
  return TreeTable(report, options, style).text();
}

std::string share_row(std::string_view name, const std::vector<HeldName>& names,
                      std::uint64_t whole, std::size_t width) {
  if (names.empty() || (names.size() == 1 && names[0].name.empty())) return {};
  std::string text = fmt::format("{:<12}", name);
  std::uint64_t shown_bytes = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const HeldName& entry = names[i];
    const std::string part = fmt::format("   {} {}", entry.name.empty() ? "(none)" : entry.name,
                                         share_text(entry.held.bytes, whole));
    const std::string rest =
        fmt::format("   … {} more {}", names.size() - i, share_text(whole - shown_bytes, whole));
    // The last one needs no room for a rest behind it.
    const std::size_t room = i + 1 == names.size() ? width : width - width_of(rest);
    if (width_of(text) + width_of(part) > room) return text + rest + "\n";
    text += part;
    shown_bytes += entry.held.bytes;
  }
  return text + "\n";
}

}  // namespace strandline::snapshot
