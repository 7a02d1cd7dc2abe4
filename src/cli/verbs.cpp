// SPDX-License-Identifier: Apache-2.0
// The command line of the verbs on files.
#include "strandline/cli/verbs.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include <fmt/format.h>

#include "cli/progress.h"
#include "cli/verb.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/printable.h"

namespace strandline::cli {
namespace {

struct Verb {
  std::string_view name;
  std::string_view what;
  void (*add)(CLI::App& app, Answer& answer);
};

constexpr std::array<Verb, 11> kVerbs{{
    {"check", "does the file add up: the books of each device, and a verdict", add_check},
    {"report", "what held memory at the peak, by line", add_report},
    {"at", "what was held at an event, a time, or a fraction of the trace", add_at},
    {"diff", "what two files, or two moments of one, hold, growth first", add_diff},
    {"leaks", "what was not freed, or grows from phase to phase, by stack", add_leaks},
    {"fragmentation", "what is reserved and serves nobody, and what pins it", add_fragmentation},
    {"oom", "why an allocation failed: holes, what is in the way, what else is free", add_oom},
    {"events", "the events, filtered", add_events},
    {"slice", "a smaller file of a part of the trace, valid on its own", add_slice},
    {"convert", "write the file anew, in another format", add_convert},
    {"completion", "a script that completes this command in bash, zsh or fish", add_completion},
}};

bool write_all(std::FILE* stream, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stream) == text.size() &&
         std::fflush(stream) == 0;
}

void complain(const std::string& text) {
  Progress::say(snapshot::printable(text));
}

/// "[function] what; …" without the function: who runs a command did not call it.
std::string plain(const std::string& message) {
  const std::size_t end = message.starts_with('[') ? message.find("] ") : std::string::npos;
  return end == std::string::npos ? message : message.substr(end + 2);
}

int parse(CLI::App& app, std::span<const std::string> arguments) {
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kFine : kUnusable;
  } catch (const FormatError& error) {
    complain(fmt::format("{} (byte {})", plain(error.what()), error.offset));
    return kUnusable;
  } catch (const Error& error) {
    complain(plain(error.what()));
    return kUnusable;
  }
  return -1;
}

}  // namespace

bool is_file_verb(std::string_view verb) noexcept {
  return std::any_of(kVerbs.begin(), kVerbs.end(),
                     [&](const Verb& known) { return known.name == verb; });
}

std::string file_verbs_help() {
  std::string text;
  for (const Verb& verb : kVerbs) text += fmt::format("  {:<13} {}\n", verb.name, verb.what);
  return text;
}

int run_verb(std::span<const std::string> arguments) {
  CLI::App app("Answers from snapshots of device memory.", "strandline");
  app.require_subcommand(1);
  Answer answer;
  for (const Verb& verb : kVerbs) {
    verb.add(app, answer);
    app.get_subcommand(std::string(verb.name))->description(std::string(verb.what));
  }
  std::optional<Progress> progress(std::in_place);
  const int failed = parse(app, arguments);
  progress.reset();
  if (failed >= 0) return failed;
  if (!answer.complaint.empty()) complain(answer.complaint);
  if (write_all(stdout, answer.text)) return answer.status;
  complain("cannot write the answer to standard output");
  return kUnusable;
}

}  // namespace strandline::cli
