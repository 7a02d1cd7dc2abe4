// SPDX-License-Identifier: Apache-2.0
// diff A [B]: two files, or two moments of one; each at its peak where no moment is named.
#include <memory>

#include <fmt/format.h>

#include "cli/verb.h"
#include "strandline/snapshot/stack_groups.h"

namespace strandline::cli {
namespace {

struct DiffOptions : FileOptions {
  std::string other;
  snapshot::Moment moment_a;
  snapshot::Moment moment_b;
  double fail_growth = -1;
};

bool is_set(const snapshot::Moment& moment) {
  return moment.event || moment.time_us || moment.fraction;
}

/// What one side holds at its moment, of what counts; the moment goes to `after_event`.
snapshot::BlockColumns held(const snapshot::SnapshotFile& file, const snapshot::Moment& moment,
                            const DiffOptions& options, std::int64_t& after_event) {
  for (const auto& account : snapshot::make_account(file, options.one_device()).devices) {
    after_event = static_cast<std::int64_t>(snapshot::events_before(moment, file, account)) - 1;
  }
  const snapshot::BlockColumns all = snapshot::blocks_held(file, options.one_device(), after_event);
  const snapshot::AnswerOptions counting = answer_options(options, file);
  if (!counting.matches) return all;
  snapshot::BlockColumns some;
  for (std::size_t b = 0; b < all.count(); ++b) {
    const snapshot::BlockRow row = all.row(b);
    if (counting.counts(row)) some.push_back(row);
  }
  return some;
}

Answer answer_of(const snapshot::Difference& difference, const snapshot::DifferenceNames& names,
                 const DiffOptions& options) {
  Answer answer;
  answer.text = options.json ? snapshot::difference_json(difference, names, options.top)
                             : snapshot::difference_text(difference, names, options.top);
  const auto before = static_cast<double>(difference.a.bytes);
  const auto after = static_cast<double>(difference.b.bytes);
  if (options.fail_growth >= 0 && after > before * (1 + options.fail_growth / 100)) {
    answer.status = kBad;
    answer.complaint = fmt::format("grew from {} to {} bytes, by more than {} %",
                                   difference.a.bytes, difference.b.bytes, options.fail_growth);
  }
  return answer;
}

Answer run(const DiffOptions& options) {
  const snapshot::SnapshotFile a = load(options);
  snapshot::SnapshotFile other;
  if (!options.other.empty()) {
    other = snapshot::read_snapshot(options.other, range_of(options));
  } else if (!is_set(options.moment_a) && !is_set(options.moment_b)) {
    throw CLI::ValidationError("b", "needs a second file, or a moment as --event-a 100");
  }
  const snapshot::SnapshotFile& b = options.other.empty() ? a : other;
  snapshot::DifferenceNames names{.a = options.file,
                                  .b = options.other.empty() ? options.file : options.other,
                                  .device = options.one_device()};
  const auto held_a = held(a, options.moment_a, options, names.a_after_event);
  const auto held_b = held(b, options.moment_b, options, names.b_after_event);
  return answer_of(snapshot::make_difference(a, held_a, b, held_b, options.own), names, options);
}

}  // namespace

void add_diff(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("diff");
  const auto options = std::make_shared<DiffOptions>();
  verb->add_option("a", options->file, "the snapshot before")->required();
  verb->add_option("b", options->other, "the snapshot after; without it, moments of A");
  verb->add_flag("--json", options->json, "as JSON, by schema/diff.schema.json");
  add_device(*verb, *options);
  add_range(*verb, *options);
  add_top(*verb, *options);
  add_filter(*verb, *options);
  add_moment(*verb, options->moment_a, "-a");
  add_moment(*verb, options->moment_b, "-b");
  verb->add_option("--fail-growth", options->fail_growth,
                   "exit status 1 when B holds more than A by over this many per cent, as 5%")
      ->transform([](std::string text) {
        if (text.ends_with('%')) text.pop_back();
        return text;
      })
      ->check(CLI::NonNegativeNumber);
  verb->footer(
      "Each side is taken at its peak where no moment is named.\n"
      "Example: strandline diff before.pickle after.pickle --fail-growth 5%\n"
      "         strandline diff run.pickle --fraction-a 0.5 --fraction-b 1");
  verb->callback([options, &answer] { answer = run(*options); });
}

}  // namespace strandline::cli
