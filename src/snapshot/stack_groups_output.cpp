// SPDX-License-Identifier: Apache-2.0
// Differences as JSON and as text.
#include <algorithm>

#include <fmt/format.h>

#include "snapshot/answer_parts.h"
#include "snapshot/json.h"
#include "snapshot/numbers.h"
#include "strandline/snapshot/printable.h"
#include "strandline/snapshot/stack_groups.h"

namespace strandline::snapshot {
namespace {

std::string_view where_text(const StackDifference& entry) {
  if (entry.a.blocks == 0) return "   only in B";
  return entry.b.blocks == 0 ? "   only in A" : "";
}

std::string moment_name(const std::string& file, std::int64_t after_event) {
  return after_event < 0 ? fmt::format("{}, before the first event", printable(file))
                         : fmt::format("{}, after event {}", printable(file), after_event);
}

}  // namespace

std::string difference_json(const Difference& difference, const DifferenceNames& names,
                            std::size_t top) {
  Json stacks = Json::array();
  for (std::size_t i = 0; i < std::min(top, difference.stacks.size()); ++i) {
    const StackDifference& entry = difference.stacks[i];
    stacks.push_back({{"growth_bytes", entry.growth()},
                      {"a", held_json(entry.a)},
                      {"b", held_json(entry.b)},
                      {"line", location_json(entry.line)},
                      {"stack", stack_json(entry.stack)}});
  }
  return document_text({{"format", "strandline.diff"},
                        {"version", 1},
                        {"a", names.a},
                        {"b", names.b},
                        {"device", names.device},
                        {"a_after_event", names.a_after_event},
                        {"b_after_event", names.b_after_event},
                        {"a_peak", held_json(difference.a)},
                        {"b_peak", held_json(difference.b)},
                        {"stacks_in_all", difference.stacks.size()},
                        {"stacks", std::move(stacks)}});
}

std::string difference_text(const Difference& difference, const DifferenceNames& names,
                            std::size_t top) {
  std::string out = fmt::format("device {}, requested bytes\n", names.device);
  out += fmt::format("  A {:>16}  {}\n", size_text(difference.a.bytes),
                     moment_name(names.a, names.a_after_event));
  out += fmt::format("  B {:>16}  {}\n\n", size_text(difference.b.bytes),
                     moment_name(names.b, names.b_after_event));
  out += fmt::format("{:>16} {:>16} {:>16}  line\n", "growth", "A", "B");
  std::size_t shown = 0;
  std::size_t same = 0;
  std::int64_t rest = 0;
  for (const StackDifference& entry : difference.stacks) {
    if (entry.growth() == 0) {
      ++same;
    } else if (shown < top) {
      ++shown;
      out += fmt::format("{:>16} {:>16} {:>16}  {}{}\n", signed_size_text(entry.growth()),
                         size_text(entry.a.bytes), size_text(entry.b.bytes), line_text(entry.line),
                         where_text(entry));
    } else {
      rest += entry.growth();
    }
  }
  const std::size_t more = difference.stacks.size() - same - shown;
  if (more > 0) {
    out += fmt::format("{:>16} {:>16} {:>16}  … {} more stacks (--top)\n", signed_size_text(rest),
                       "", "", more);
  }
  if (same > 0) out += fmt::format("{} stacks hold the same in both\n", same);
  return out;
}

}  // namespace strandline::snapshot
