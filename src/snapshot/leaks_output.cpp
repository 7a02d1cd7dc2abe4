// SPDX-License-Identifier: Apache-2.0
// Leaks as JSON and as text.
#include <algorithm>

#include <fmt/format.h>

#include "snapshot/answer_parts.h"
#include "snapshot/json.h"
#include "snapshot/numbers.h"
#include "strandline/snapshot/leaks.h"
#include "strandline/snapshot/printable.h"

namespace strandline::snapshot {
namespace {

Json lifetime_json(const Leak& leak, std::int64_t lifetime_us) {
  return leak.freed == 0 ? Json(nullptr) : Json(lifetime_us);
}

std::string seconds_text(std::int64_t us) {
  return fmt::format("{:.2f} s", static_cast<double>(us) / 1e6);
}

std::string growth_text(const Leak& leak, const Leaks& leaks) {
  return fmt::format("{:>12} grew by {} from phase \"{}\" to phase, in {} of {}\n", "",
                     size_text(static_cast<std::uint64_t>(leak.growth_bytes)),
                     printable(leaks.phase), leak.grew_in, leaks.phases - 1);
}

}  // namespace

std::string leaks_json(const Leaks& leaks, const std::string& file, std::uint8_t device,
                       std::size_t top) {
  Json list = Json::array();
  for (std::size_t i = 0; i < std::min(top, leaks.stacks.size()); ++i) {
    const Leak& leak = leaks.stacks[i];
    list.push_back({{"bytes", leak.held.bytes},
                    {"blocks", leak.held.blocks},
                    {"allocs", leak.allocs},
                    {"oldest_us", leak.oldest_us},
                    {"newest_us", leak.newest_us},
                    {"freed", leak.freed},
                    {"mean_lifetime_us", lifetime_json(leak, leak.mean_lifetime_us)},
                    {"longest_lifetime_us", lifetime_json(leak, leak.longest_lifetime_us)},
                    {"growth_bytes", leak.growth_bytes},
                    {"grew_in_phases", leak.grew_in},
                    {"fell_in_phases", leak.fell_in},
                    {"is_growing", leak.is_growing()},
                    {"line", location_json(leak.line)},
                    {"stack", stack_json(leak.stack)}});
  }
  return document_text({{"format", "strandline.leaks"},
                        {"version", 1},
                        {"file", file},
                        {"device", device},
                        {"phase", leaks.phases == 0 ? Json(nullptr) : Json(leaks.phase)},
                        {"phases", leaks.phases},
                        {"stacks_in_all", leaks.stacks.size()},
                        {"stacks", std::move(list)}});
}

std::string leaks_text(const Leaks& leaks, std::int64_t end_us, std::size_t top) {
  if (leaks.stacks.empty()) return "everything allocated in the trace was freed in it\n";
  std::string out = fmt::format("{:>12} {:>8} {:>10} {:>10} {:>10} {:>11}  line\n", "live at end",
                                "blocks", "of allocs", "oldest", "newest", "others live");
  Held rest;
  const auto age = [&](const Leak& leak, std::int64_t time_us) {
    return leak.held.blocks == 0 ? std::string("-") : seconds_text(end_us - time_us);
  };
  for (std::size_t i = 0; i < leaks.stacks.size(); ++i) {
    const Leak& leak = leaks.stacks[i];
    if (i >= top) {
      rest += leak.held;
      continue;
    }
    out += fmt::format(
        "{:>12} {:>8} {:>10} {:>10} {:>10} {:>11}  {}\n", size_text(leak.held.bytes),
        leak.held.blocks, leak.allocs, age(leak, leak.oldest_us), age(leak, leak.newest_us),
        leak.freed == 0 ? "-" : seconds_text(leak.mean_lifetime_us), line_text(leak.line));
    if (leak.is_growing()) out += growth_text(leak, leaks);
  }
  if (leaks.stacks.size() > top) {
    out += fmt::format("{:>12} {:>8}  … {} more stacks (--top)\n", size_text(rest.bytes),
                       rest.blocks, leaks.stacks.size() - top);
  }
  return out;
}

}  // namespace strandline::snapshot
