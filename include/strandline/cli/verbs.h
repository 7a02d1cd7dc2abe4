// SPDX-License-Identifier: Apache-2.0
// The verbs on files: check, report, at, diff, leaks, events, convert. The native command and the
// wheel's `strandline` call this one function; `run` and `info` live in Python.
//
//   exit status 0 fine · 1 the answer is bad (check: inconsistent; report, diff: over the limit)
//               2 a file that cannot be read or a command line that cannot be understood
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "strandline/core/export.h"

namespace strandline::cli {

/// Whether `verb` is one of these.
STRANDLINE_API bool is_file_verb(std::string_view verb) noexcept;

/// One line a verb, for the help of the whole command.
STRANDLINE_API std::string file_verbs_help();

/// Runs "check FILE …": answers go to standard output, complaints, one line each, to standard
/// error. Returns the exit status; throws nothing but std::bad_alloc.
STRANDLINE_API int run_verb(std::span<const std::string> arguments);

}  // namespace strandline::cli
