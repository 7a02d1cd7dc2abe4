// SPDX-License-Identifier: Apache-2.0
// What the verbs share: options that most of them have, and where their answers go.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "strandline/snapshot/answer_options.h"
#include "strandline/snapshot/file_report.h"

namespace strandline::cli {

inline constexpr int kFine = 0;
inline constexpr int kBad = 1;
inline constexpr int kUnusable = 2;

/// What a verb leaves behind.
struct Answer {
  std::string text;
  int status = kFine;
  std::string complaint;  ///< lines for standard error: why the status is bad
};

struct FileOptions {
  std::string file;
  bool json = false;
  std::size_t top = 10;
  std::optional<int> device;
  snapshot::ReadRange range;  ///< of --events and --time
  std::string filter;
  std::vector<std::string> own;

  std::optional<std::uint8_t> device_number() const {
    if (!device) return std::nullopt;
    return static_cast<std::uint8_t>(*device);
  }
  /// Of verbs that tell of one device only: the first where none is named.
  std::uint8_t one_device() const { return static_cast<std::uint8_t>(device.value_or(0)); }
};

/// FILE and --json.
void add_file(CLI::App& verb, FileOptions& options);
void add_device(CLI::App& verb, FileOptions& options);
void add_top(CLI::App& verb, FileOptions& options);
/// --events and --time: the part of the file that is read.
void add_range(CLI::App& verb, FileOptions& options);

/// The part that the options ask for, --device among them.
snapshot::ReadRange range_of(const FileOptions& options);
/// That part of the file.
snapshot::SnapshotFile load(const FileOptions& options);
/// --filter and --own.
void add_filter(CLI::App& verb, FileOptions& options);
/// An option that is a size, checked before anything is read.
CLI::Option* add_size(CLI::App& verb, const std::string& name, std::string& text,
                      const std::string& what);

/// What --filter and --own say, ready for the file, which must outlive it.
snapshot::AnswerOptions answer_options(const FileOptions& options,
                                       const snapshot::SnapshotFile& file);

/// --event, --time-us and --fraction of a moment; one of them at most. `suffix` goes behind each
/// name.
void add_moment(CLI::App& verb, snapshot::Moment& moment, const std::string& suffix = {});

/// Columns of the terminal, 80 where there is none; colour by NO_COLOR and whether it is one.
snapshot::ReportTextOptions text_options(std::size_t top);

/// Each adds its verb; parsing runs it and leaves the answer.
void add_check(CLI::App& app, Answer& answer);
void add_report(CLI::App& app, Answer& answer);
void add_at(CLI::App& app, Answer& answer);
void add_diff(CLI::App& app, Answer& answer);
void add_leaks(CLI::App& app, Answer& answer);
void add_fragmentation(CLI::App& app, Answer& answer);
void add_oom(CLI::App& app, Answer& answer);
void add_events(CLI::App& app, Answer& answer);
void add_slice(CLI::App& app, Answer& answer);
void add_convert(CLI::App& app, Answer& answer);
void add_completion(CLI::App& app, Answer& answer);

}  // namespace strandline::cli
