// SPDX-License-Identifier: Apache-2.0
// leaks FILE: allocated in the trace, live at its end.
#include <memory>

#include <fmt/format.h>

#include "cli/stack_text.h"
#include "cli/verb.h"
#include "strandline/snapshot/stack_groups.h"

namespace strandline::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string json(const std::vector<snapshot::Leak>& leaks, const FileOptions& options) {
  Json list = Json::array();
  for (const snapshot::Leak& leak : leaks) {
    if (list.size() == options.top) break;
    list.push_back({{"bytes", leak.held.bytes},
                    {"blocks", leak.held.blocks},
                    {"allocs", leak.allocs},
                    {"oldest_us", leak.oldest_us},
                    {"newest_us", leak.newest_us},
                    {"line", location_json(leak.line)},
                    {"stack", stack_json(leak.stack)}});
  }
  const Json document{{"format", "strandline.leaks"},  {"version", 1},
                      {"file", options.file},          {"device", options.device.value_or(0)},
                      {"stacks_in_all", leaks.size()}, {"stacks", std::move(list)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string text(const std::vector<snapshot::Leak>& leaks, const FileOptions& options,
                 std::int64_t end_us) {
  std::string out = fmt::format("{:>12} {:>8} {:>10} {:>10} {:>10}  line\n", "live at end",
                                "blocks", "of allocs", "oldest", "newest");
  snapshot::Held rest;
  std::size_t more = 0;
  const auto age = [&](std::int64_t time_us) {
    return fmt::format("{:.2f} s", static_cast<double>(end_us - time_us) / 1e6);
  };
  for (std::size_t i = 0; i < leaks.size(); ++i) {
    const snapshot::Leak& leak = leaks[i];
    if (i >= options.top) {
      rest += leak.held;
      ++more;
      continue;
    }
    out += fmt::format("{:>12} {:>8} {:>10} {:>10} {:>10}  {}\n", bytes_text(leak.held.bytes),
                       leak.held.blocks, leak.allocs, age(leak.oldest_us), age(leak.newest_us),
                       line_text(leak.line));
  }
  if (more > 0) {
    out +=
        fmt::format("{:>12} {:>8}  … {} more stacks\n", bytes_text(rest.bytes), rest.blocks, more);
  }
  if (leaks.empty()) return "everything allocated in the trace was freed in it\n";
  return out;
}

Answer run(const FileOptions& options) {
  const snapshot::SnapshotFile file = load(options);
  const auto leaks =
      snapshot::find_leaks(file, static_cast<std::uint8_t>(options.device.value_or(0)));
  return {.text =
              options.json ? json(leaks, options) : text(leaks, options, file.snapshot.taken_us)};
}

}  // namespace

void add_leaks(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("leaks");
  const auto options = std::make_shared<FileOptions>();
  add_file(*verb, *options);
  add_device(*verb, *options);
  add_range(*verb, *options);
  add_top(*verb, *options);
  verb->footer(
      "What the program still works with is among it: old blocks of a stack that allocates\n"
      "again and again are the ones to look at.\nExample: strandline leaks run.pickle");
  verb->callback([options, &answer] { answer = run(*options); });
}

}  // namespace strandline::cli
