// SPDX-License-Identifier: Apache-2.0
// A snapshot for the tools people have: profiles of what is held at a moment, and a trace of it
// all.
//
//   pprof    gzip'ed profile.proto: by stack, label, operation and device what was allocated in the
//            trace and what is held at the moment, in objects and requested bytes
//   folded   "outer;…;inner bytes", one line a stack, of what is held: for flame graphs
//   chrome   JSON of trace events, which Perfetto opens: curves of requested, taken and reserved
//            bytes, phases and blocks as spans, out-of-memory as marks; a process a device
//
// Each replaces `path` as a whole and throws DeviceError naming it. None can be read back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "strandline/core/export.h"
#include "strandline/snapshot/answer_options.h"
#include "strandline/snapshot/file_report.h"

namespace strandline::snapshot {

struct ProfileOptions {
  Moment moment{};  ///< of what is held; the peak of each device where none is set
  std::optional<std::uint8_t> device{};
  AnswerOptions answers{};
};

STRANDLINE_API void write_pprof(const SnapshotFile& file, const std::string& path,
                                const ProfileOptions& options = {});
STRANDLINE_API void write_folded(const SnapshotFile& file, const std::string& path,
                                 const ProfileOptions& options = {});
/// Without times in the file an event takes a microsecond.
STRANDLINE_API void write_chrome_trace(const SnapshotFile& file, const std::string& path,
                                       const ProfileOptions& options = {});

/// The same bytes in memory; of the profile before gzip.
STRANDLINE_API std::string profile_bytes(const SnapshotFile& file,
                                         const ProfileOptions& options = {});
STRANDLINE_API std::string folded_text(const SnapshotFile& file,
                                       const ProfileOptions& options = {});

}  // namespace strandline::snapshot
