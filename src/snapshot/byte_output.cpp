// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all.
#include "snapshot/byte_output.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strandline/core/error.h"

namespace strandline::snapshot {
namespace {

/// The permissions a newly created file would get; mkstemp gives only the owner any.
mode_t default_mode() {
  const mode_t mask = umask(0);
  umask(mask);
  return 0666 & ~mask;
}

/// A symbolic link is followed, so that the rename replaces its target and not the link.
std::string target_of(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, ignored);
  return ignored ? path : resolved.string();
}

}  // namespace

FileOutput::FileOutput(const std::string& path) : path_(path) {
  struct stat facts {};
  const bool exists = stat(path.c_str(), &facts) == 0;
  if (exists && !S_ISREG(facts.st_mode)) {
    descriptor_ = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot open", errno);
    return;
  }
  temporary_ = target_of(path) + ".XXXXXX";
  descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    temporary_.clear();
    fail("cannot create", errno);
  }
  // Best effort: a file system without permissions refuses, and the file is as good.
  static_cast<void>(fchmod(descriptor_, exists ? facts.st_mode & 07777 : default_mode()));
}

FileOutput::~FileOutput() {
  if (descriptor_ >= 0) close(descriptor_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void FileOutput::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      fail("cannot write", errno);
    }
  }
}

void FileOutput::commit() {
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (close(descriptor) != 0) fail("cannot write", errno);
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), target_of(path_).c_str()) != 0) fail("cannot rename to", errno);
  temporary_.clear();
}

void FileOutput::fail(const char* what, int error) const {
  throw DeviceError(
      fmt::format("[write] {} {}: {}", what, path_, std::system_category().message(error)));
}

}  // namespace strandline::snapshot
