// SPDX-License-Identifier: Apache-2.0
// What held memory at a moment of a snapshot file, device by device, in requested bytes: the one
// measure a trace tells of every block. The moment is the peak of the curve, or any other.
//
//   what is held = allocs open at that moment + blocks from before the trace: those freed later
//                  without an alloc, and live blocks at the end without one
//   Σ what is held = level of the curve, where the account's residual is 0
//
// Blocks from before the trace are known by their own stack where the file has one, and are told as
// "before recording" beside. A plain value; making it reads source files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/answer_options.h"
#include "strandline/snapshot/peak_report.h"
#include "strandline/snapshot/report_text.h"

namespace strandline::snapshot {

/// A moment of a trace; the first that is set counts, none is the peak.
struct Moment {
  std::optional<std::int64_t> event;    ///< after this event of the device's trace; -1: before all
  std::optional<std::int64_t> time_us;  ///< after the last event up to this time
  std::optional<double> fraction;       ///< of the events: 0 before the first, 1 after the last
};

/// How many events of the device's trace come before the moment. Throws OutOfRange.
STRANDLINE_API std::uint64_t events_before(const Moment& moment, const SnapshotFile& file,
                                           const DeviceAccount& account);

struct DeviceReport {
  std::uint8_t device = 0;
  DeviceAccount account;
  std::int64_t after_event = -1;
  std::int64_t level = 0;  ///< of the curve there
  Held held;               ///< all of it, whatever counts in the report
  Held before_trace;       ///< of what is held, what is older than the trace
  PeakReport report;
};

/// For each device of the file, or the one asked for. Throws OutOfRange for a moment that is none.
STRANDLINE_API std::vector<DeviceReport> make_file_report(
    const SnapshotFile& file, const Moment& moment = {},
    std::optional<std::uint8_t> device = std::nullopt, const AnswerOptions& options = {});

STRANDLINE_API std::string file_report_text(const std::vector<DeviceReport>& devices,
                                            const std::string& file,
                                            const ReportTextOptions& options = {});
/// By schema/file_report.schema.json.
STRANDLINE_API std::string file_report_json(const std::vector<DeviceReport>& devices,
                                            const std::string& file);

/// The blocks held after event `after_event` of the device's trace.
STRANDLINE_API BlockColumns blocks_held(const SnapshotFile& file, std::uint8_t device,
                                        std::int64_t after_event);
/// The level of the curve before each event of the device's trace, and after the last.
STRANDLINE_API std::vector<std::int64_t> requested_curve(const SnapshotFile& file,
                                                         std::uint8_t device);
/// Annotations of a device as phases, numbered by the events of its trace; their levels are 0
/// without a curve.
STRANDLINE_API std::vector<PhaseRow> phases_of(const SnapshotFile& file, std::uint8_t device,
                                               const std::vector<std::int64_t>& curve);

}  // namespace strandline::snapshot
