// SPDX-License-Identifier: Apache-2.0
// The native command. What has to live inside of a Python interpreter (`run`, `info`) is handed on
// to `python3 -m strandline`, in place of this process, with the arguments as they are.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "strandline/cli/verbs.h"

namespace {

constexpr int kUsageError = 2;

/// Returns only when there is no such interpreter; the exit status a shell would give then.
int hand_on_to_python(int argc, char** argv) {
  char python[] = "python3";
  char module_option[] = "-m";
  char module[] = "strandline";
  std::vector<char*> arguments{python, module_option, module};
  arguments.insert(arguments.end(), argv + 1, argv + argc);
  arguments.push_back(nullptr);
  execvp(python, arguments.data());
  std::fprintf(stderr,
               "strandline: cannot run python3: %s; %s needs it, with the package strandline\n",
               std::strerror(errno), argv[1]);
  return errno == ENOENT ? 127 : 126;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view verb = argc > 1 ? argv[1] : "";
  if (verb == "run" || verb == "info") return hand_on_to_python(argc, argv);
  if (strandline::cli::is_file_verb(verb)) {
    return strandline::cli::run_verb(std::vector<std::string>(argv + 1, argv + argc));
  }

  CLI::App app("Records what holds device memory, and by which line of code.", "strandline");
  app.set_version_flag("--version", "strandline " STRANDLINE_VERSION);
  app.add_subcommand("run", "run a Python program, record its memory, report what held the peak");
  app.add_subcommand("info", "versions, capture source, adapters and why one is off");
  app.footer("Answers from snapshots, PyTorch's and ours:\n" + strandline::cli::file_verbs_help());
  app.require_subcommand(1);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  return 0;
}
