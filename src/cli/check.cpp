// SPDX-License-Identifier: Apache-2.0
// check FILE: the books.
#include <memory>

#include "cli/verb.h"
#include "strandline/snapshot/accounting.h"

namespace strandline::cli {

void add_check(CLI::App& app, Answer& answer) {
  CLI::App* const verb = app.add_subcommand("check");
  const auto options = std::make_shared<FileOptions>();
  add_file(*verb, *options);
  add_device(*verb, *options);
  add_range(*verb, *options);
  verb->footer(
      "Exit status 1 when a device is \"inconsistent\".\nExample: strandline check run.pickle "
      "--json");
  verb->callback([options, &answer] {
    const snapshot::SnapshotFile file = load(*options);
    const snapshot::Account account = snapshot::make_account(file, options->device_number());
    answer.text = options->json ? snapshot::account_json(account, options->file)
                                : snapshot::account_text(account, options->file);
    answer.status = account.is_inconsistent() ? kBad : kFine;
  });
}

}  // namespace strandline::cli
