// SPDX-License-Identifier: Apache-2.0
// A file read, written anew in any of the formats, and what that format could not hold.
//
//   pickle, json      PyTorch's dictionary: everything there is
//   slt               the native file
//   pprof, folded     what is held at one moment
//   chrome            curves and spans for Perfetto
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/snapshot/profile_export.h"

namespace strandline::snapshot {

enum class FileFormat : std::uint8_t { pickle, slt, json, pprof, folded, chrome };

/// "pickle", "json", …; none for another name.
STRANDLINE_API std::optional<FileFormat> format_named(std::string_view name) noexcept;
STRANDLINE_API std::string_view format_name(FileFormat format) noexcept;
/// The names, for messages.
STRANDLINE_API std::string format_names();
/// By the end of the name: .slt, .trace.json, .json, .pb.gz or .pprof, .folded; else a pickle.
STRANDLINE_API FileFormat format_of_path(std::string_view path) noexcept;

/// Something a format has no place for.
struct Loss {
  std::uint64_t count = 0;
  std::string what;  ///< "annotations"
};

/// What writing the file in a format leaves out.
STRANDLINE_API std::vector<Loss> losses(const SnapshotFile& file, FileFormat format);

/// Writes to `path`, which is replaced as a whole. `profile` counts for the formats of a moment and
/// for spans. Throws DeviceError naming the path.
STRANDLINE_API void write_file(const SnapshotFile& file, const std::string& path, FileFormat format,
                               const ProfileOptions& profile = {});

}  // namespace strandline::snapshot
