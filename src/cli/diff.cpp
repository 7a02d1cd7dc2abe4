// SPDX-License-Identifier: Apache-2.0
// diff A B: two files at their peaks, or at the same fraction of their traces.
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/stack_text.h"
#include "cli/verb.h"
#include "strandline/snapshot/printable.h"
#include "strandline/snapshot/stack_groups.h"

namespace strandline::cli {
namespace {

using Json = nlohmann::ordered_json;
using snapshot::Held;

struct DiffOptions : FileOptions {
  std::string other;
  double fail_growth = -1;
};

snapshot::BlockColumns at_peak(const snapshot::SnapshotFile& file, std::uint8_t device) {
  std::int64_t moment = -1;
  for (const auto& account : snapshot::make_account(file, device).devices) {
    moment = account.active_peak_after_event;
  }
  return snapshot::blocks_held(file, device, moment);
}

Json json_of(const Held& held) {
  return {{"bytes", held.bytes}, {"blocks", held.blocks}};
}

std::string json(const snapshot::Difference& difference, const DiffOptions& options) {
  Json stacks = Json::array();
  for (const auto& entry : difference.stacks) {
    stacks.push_back({{"growth_bytes", entry.growth()},
                      {"a", json_of(entry.a)},
                      {"b", json_of(entry.b)},
                      {"line", location_json(entry.line)},
                      {"stack", stack_json(entry.stack)}});
    if (stacks.size() == options.top) break;
  }
  const Json document{{"format", "strandline.diff"},
                      {"version", 1},
                      {"a", options.file},
                      {"b", options.other},
                      {"device", options.device.value_or(0)},
                      {"a_peak", json_of(difference.a)},
                      {"b_peak", json_of(difference.b)},
                      {"stacks_in_all", difference.stacks.size()},
                      {"stacks", std::move(stacks)}};
  return document.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string text(const snapshot::Difference& difference, const DiffOptions& options) {
  std::string out = fmt::format(
      "device {}, peaks of requested bytes\n  A {:>16}  {}\n  B {:>16}  {}\n\n",
      options.device.value_or(0), bytes_text(difference.a.bytes), snapshot::printable(options.file),
      bytes_text(difference.b.bytes), snapshot::printable(options.other));
  out += fmt::format("{:>16} {:>16} {:>16}  line\n", "growth", "A", "B");
  std::size_t shown = 0;
  std::size_t same = 0;
  for (const auto& entry : difference.stacks) {
    if (entry.growth() == 0) {
      ++same;
    } else if (shown < options.top) {
      ++shown;
      const char* const where = entry.a.blocks == 0   ? "   only in B"
                                : entry.b.blocks == 0 ? "   only in A"
                                                      : "";
      out += fmt::format("{:>16} {:>16} {:>16}  {}{}\n", growth_text(entry.growth()),
                         bytes_text(entry.a.bytes), bytes_text(entry.b.bytes),
                         line_text(entry.line), where);
    }
  }
  const std::size_t more = difference.stacks.size() - same - shown;
  if (more > 0) out += fmt::format("… {} more stacks\n", more);
  if (same > 0) out += fmt::format("{} stacks hold the same in both\n", same);
  return out;
}

Answer run(const DiffOptions& options) {
  const snapshot::SnapshotFile a = load(options);
  const snapshot::SnapshotFile b = snapshot::read_snapshot(options.other, range_of(options));
  const auto device = static_cast<std::uint8_t>(options.device.value_or(0));
  const snapshot::Difference difference =
      snapshot::make_difference(a, at_peak(a, device), b, at_peak(b, device));
  Answer answer{.text = options.json ? json(difference, options) : text(difference, options)};
  const auto before = static_cast<double>(difference.a.bytes);
  const auto after = static_cast<double>(difference.b.bytes);
  if (options.fail_growth >= 0 && after > before * (1 + options.fail_growth / 100)) {
    answer.status = kBad;
  }
  return answer;
}

}  // namespace

void add_diff(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("diff");
  const auto options = std::make_shared<DiffOptions>();
  verb->add_option("a", options->file, "the snapshot before")->required();
  verb->add_option("b", options->other, "the snapshot after")->required();
  verb->add_flag("--json", options->json, "as JSON");
  add_device(*verb, *options);
  add_top(*verb, *options);
  verb->add_option("--fail-growth", options->fail_growth,
                   "exit status 1 when the peak grew by more than this many per cent")
      ->transform([](std::string text) {
        if (text.ends_with('%')) text.pop_back();
        return text;
      })
      ->check(CLI::NonNegativeNumber);
  verb->footer("Example: strandline diff before.pickle after.pickle --fail-growth 5%");
  verb->callback([options, &answer] { answer = run(*options); });
}

}  // namespace strandline::cli
