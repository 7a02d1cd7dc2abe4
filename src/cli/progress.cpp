// SPDX-License-Identifier: Apache-2.0
// The thread that writes the line.
#include "cli/progress.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace strandline::cli {
namespace {

constexpr std::chrono::seconds kPatience{1};
constexpr std::chrono::milliseconds kInterval{200};
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

struct Progress::Line {
  Line() : thread([this] { run(); }) {}
  ~Line() {
    {
      const std::lock_guard guard(mutex);
      is_done = true;
    }
    wake.notify_one();
    thread.join();
  }

  void run() {
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex);
    if (wake.wait_for(lock, kPatience, [this] { return is_done; })) return;
    do {
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
      std::fprintf(stderr, "%s%s", kEraseLine, text(passed.count()).c_str());
      std::fflush(stderr);
      is_shown = true;
    } while (!wake.wait_for(lock, kInterval, [this] { return is_done; }));
    erase();
  }

  /// With the lock held.
  void erase() {
    if (!std::exchange(is_shown, false)) return;
    std::fputs(kEraseLine, stderr);
    std::fflush(stderr);
  }

  std::string text(double seconds) const {
    const std::uint64_t read = bytes_read.load(std::memory_order_relaxed);
    const std::uint64_t all = bytes_in_all.load(std::memory_order_relaxed);
    if (!is_reading.load(std::memory_order_relaxed))
      return fmt::format("working, {:.0f} s", seconds);
    if (all == 0) return fmt::format("reading, {} MB, {:.0f} s", read / 1'000'000, seconds);
    return fmt::format("reading, {} of {} MB, {:.0f} s", read / 1'000'000, all / 1'000'000,
                       seconds);
  }

  std::atomic<std::uint64_t> bytes_read{0};
  std::atomic<std::uint64_t> bytes_in_all{0};
  std::atomic<bool> is_reading{false};
  std::mutex mutex;
  std::condition_variable wake;
  bool is_done = false;
  bool is_shown = false;
  std::thread thread;  // last: it uses the others
};

namespace {

thread_local Progress* t_progress = nullptr;

}  // namespace

Progress::Progress() {
  if (isatty(STDERR_FILENO) != 0) line_ = std::make_unique<Line>();
  t_progress = this;
}

Progress::~Progress() {
  t_progress = nullptr;
}

void Progress::reading(std::uint64_t done, std::uint64_t all) noexcept {
  if (t_progress == nullptr || t_progress->line_ == nullptr) return;
  Line& line = *t_progress->line_;
  line.bytes_read.store(done, std::memory_order_relaxed);
  line.bytes_in_all.store(all, std::memory_order_relaxed);
  line.is_reading.store(true, std::memory_order_relaxed);
}

void Progress::working() noexcept {
  if (t_progress == nullptr || t_progress->line_ == nullptr) return;
  t_progress->line_->is_reading.store(false, std::memory_order_relaxed);
}

void Progress::say(const std::string& text) {
  std::unique_lock<std::mutex> lock;
  if (t_progress != nullptr && t_progress->line_ != nullptr) {
    lock = std::unique_lock(t_progress->line_->mutex);
    t_progress->line_->erase();
  }
  std::fprintf(stderr, "strandline: %s\n", text.c_str());
}

}  // namespace strandline::cli
