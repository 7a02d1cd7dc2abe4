// SPDX-License-Identifier: Apache-2.0
// Writes that are undone where the system refuses their rest.
#include "snapshot/stream_output.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "strandline/core/error.h"

namespace strandline::snapshot {
namespace {

// Descriptors of this process's streams: a forked child closes its copies, so that the lock of a
// file ends with the process that writes it.
constexpr std::size_t kMostStreams = 64;
constinit std::array<std::atomic<int>, kMostStreams> g_descriptors{};  // plus one; 0: free

void close_in_child() {
  for (std::atomic<int>& entry : g_descriptors) {
    const int descriptor = entry.exchange(0) - 1;
    if (descriptor >= 0) ::close(descriptor);
  }
}

void note_descriptor(int descriptor) {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, close_in_child); });
  for (std::atomic<int>& entry : g_descriptors) {
    int unused = 0;
    if (entry.compare_exchange_strong(unused, descriptor + 1)) return;
  }
}

void forget_descriptor(int descriptor) {
  for (std::atomic<int>& entry : g_descriptors) {
    int ours = descriptor + 1;
    if (entry.compare_exchange_strong(ours, 0)) return;
  }
}

/// A write past the limit on files, or into a pipe nobody reads, raises a signal that ends
/// programs. They stay away from this thread while one of these lives.
class WithoutWriteSignals {
 public:
  WithoutWriteSignals() {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGXFSZ);
    sigaddset(&signals_, SIGPIPE);
    masked_ = pthread_sigmask(SIG_BLOCK, &signals_, &before_) == 0;
  }
  ~WithoutWriteSignals() {
    if (!masked_) return;
    for (const int signal : {SIGXFSZ, SIGPIPE}) {
      if (sigismember(&before_, signal) == 1) sigdelset(&signals_, signal);
    }
    const timespec now{};
    while (sigtimedwait(&signals_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  WithoutWriteSignals(const WithoutWriteSignals&) = delete;
  WithoutWriteSignals& operator=(const WithoutWriteSignals&) = delete;

 private:
  sigset_t signals_;
  sigset_t before_;
  bool masked_ = false;
};

}  // namespace

StreamOutput::StreamOutput(const std::string& path) : path_(path), process_(getpid()) {
  struct stat facts {};
  const bool exists = stat(path.c_str(), &facts) == 0;
  is_regular_ = !exists || S_ISREG(facts.st_mode);
  if (is_regular_) {
    open_beside();
    lock();
  } else {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot open", errno);
  }
  note_descriptor(descriptor_);
}

void StreamOutput::open_beside() {
  std::error_code ignored;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path_, ignored);
  if (!ignored) path_ = resolved.string();  // also where the program changes its folder
  // The file that is there may be another's stream: its lock says so.
  const int there = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
  if (there >= 0) {
    const bool is_taken = flock(there, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ::close(there);
    if (is_taken) {
      throw DeviceError(error_message("stream", fmt::format("cannot write {}", path_),
                                      "a file that another stream is writing", "one of its own"));
    }
  } else if (errno != ENOENT) {
    fail("cannot write", errno);
  }
  temporary_ = path_ + ".XXXXXX";
  descriptor_ = mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail("cannot create", error);
  }
  const mode_t mask = umask(0);
  umask(mask);
  static_cast<void>(fchmod(descriptor_, 0666 & ~mask));
}

void StreamOutput::lock() {
  // Best effort: some file systems have no locks.
  static_cast<void>(flock(descriptor_, LOCK_EX | LOCK_NB));
}

StreamOutput::~StreamOutput() {
  if (!is_ours()) return;
  if (descriptor_ >= 0) {
    forget_descriptor(descriptor_);
    ::close(descriptor_);
  }
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

bool StreamOutput::is_ours() const noexcept {
  return getpid() == process_;
}

void StreamOutput::write(std::string_view bytes) {
  if (!is_ours()) return;
  const WithoutWriteSignals quiet;
  const std::uint64_t whole = whole_ + bytes.size();
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      const int error = errno;
      if (is_regular_ && ftruncate(descriptor_, static_cast<off_t>(whole_)) != 0) {
        // The half that is left is told by its checksum.
      }
      fail("cannot write", error);
    }
  }
  whole_ = whole;
}

void StreamOutput::publish() {
  if (temporary_.empty()) return;
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot rename to", errno);
  temporary_.clear();
}

void StreamOutput::close() {
  if (!is_ours() || descriptor_ < 0) return;
  const int descriptor = descriptor_;
  descriptor_ = -1;
  forget_descriptor(descriptor);
  if (::close(descriptor) != 0 && errno != EINTR) fail("cannot write", errno);
}

void StreamOutput::fail(const char* what, int error) const {
  throw DeviceError(
      fmt::format("[stream] {} {}: {}", what, path_, std::system_category().message(error)));
}

}  // namespace strandline::snapshot
