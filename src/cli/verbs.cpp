// SPDX-License-Identifier: Apache-2.0
// The command line of the verbs on files.
#include "strandline/cli/verbs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/verb.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/printable.h"

namespace strandline::cli {
namespace {

struct VerbName {
  std::string_view name;
  std::string_view what;
};

constexpr std::array<VerbName, 7> kVerbs{{
    {"check", "does the file add up: the books of each device, and a verdict"},
    {"report", "what held memory at the peak, by line"},
    {"at", "what was held at an event, a time, or a fraction of the trace"},
    {"diff", "what two files hold at their peaks, by stack, growth first"},
    {"leaks", "what was allocated and not freed, by stack"},
    {"events", "the events, filtered"},
    {"convert", "write the file anew, as pickle or JSON"},
}};

bool write_all(std::FILE* stream, const std::string& text) {
  return std::fwrite(text.data(), 1, text.size(), stream) == text.size() &&
         std::fflush(stream) == 0;
}

void complain(const std::string& text) {
  std::fprintf(stderr, "strandline: %s\n", snapshot::printable(text).c_str());
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

void add_file(CLI::App& verb, FileOptions& options) {
  verb.add_option("file", options.file,
                  "snapshot: a pickle, also .gz or .zst; - for standard input")
      ->required();
  verb.add_flag("--json", options.json, "as JSON, by the schemas in schema/");
}

void add_device(CLI::App& verb, FileOptions& options) {
  verb.add_option("--device", options.device, "this device only")->check(CLI::Range(0, 254));
}

void add_top(CLI::App& verb, FileOptions& options) {
  verb.add_option("--top", options.top, "rows shown")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000'000}))
      ->capture_default_str();
}

void add_moment(CLI::App& verb, snapshot::Moment& moment) {
  CLI::Option* const event =
      verb.add_option("--event", moment.event, "after this event of the trace, -1: before all");
  CLI::Option* const time =
      verb.add_option("--time-us", moment.time_us, "at this time, Unix microseconds");
  CLI::Option* const fraction =
      verb.add_option("--fraction", moment.fraction, "of the events, 0 to 1")
          ->check(CLI::Range(0.0, 1.0));
  event->excludes(time)->excludes(fraction);
  time->excludes(fraction);
}

std::uint64_t size_of(const std::string& text) {
  constexpr std::array<std::string_view, 5> kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto known = std::find(kUnits.begin(), kUnits.end(), unit.empty() ? "B" : unit);
  if (error == std::errc() && known != kUnits.end() && number >= 0 && number < 1e15) {
    return static_cast<std::uint64_t>(
        std::ldexp(number, static_cast<int>(10 * (known - kUnits.begin()))));
  }
  throw CLI::ValidationError(
      fmt::format("\"{}\" is no size: a number and B, KiB, MiB, GiB or TiB", text));
}

snapshot::ReportTextOptions text_options(std::size_t top) {
  snapshot::ReportTextOptions options;
  options.top = top;
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  winsize size{};
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = size.ws_col;
  }
  const char* const no_color = std::getenv("NO_COLOR");
  options.color = is_terminal && (no_color == nullptr || *no_color == '\0');
  return options;
}

bool is_file_verb(std::string_view verb) noexcept {
  return std::any_of(kVerbs.begin(), kVerbs.end(),
                     [&](const VerbName& known) { return known.name == verb; });
}

std::string file_verbs_help() {
  std::string text;
  for (const VerbName& verb : kVerbs) text += fmt::format("  {:<8} {}\n", verb.name, verb.what);
  return text;
}

int run_verb(std::span<const std::string> arguments) {
  CLI::App app("Answers from snapshots of device memory.", "strandline");
  app.require_subcommand(1);
  Answer answer;
  add_check(app, answer);
  add_report(app, answer);
  add_at(app, answer);
  add_diff(app, answer);
  add_leaks(app, answer);
  add_events(app, answer);
  add_convert(app, answer);
  for (CLI::App* verb : app.get_subcommands({})) {
    const auto known = std::find_if(kVerbs.begin(), kVerbs.end(), [&](const VerbName& entry) {
      return entry.name == verb->get_name();
    });
    if (known != kVerbs.end()) verb->description(std::string(known->what));
  }
  const int failed = parse(app, arguments);
  if (failed >= 0) return failed;
  if (write_all(stdout, answer.text)) return answer.status;
  complain("cannot write the answer to standard output");
  return kUnusable;
}

}  // namespace strandline::cli
