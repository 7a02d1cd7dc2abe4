// SPDX-License-Identifier: Apache-2.0
// From a path to columns: files are mapped, pipes are read in pieces.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot/file_links.h"
#include "snapshot/pickle_feed.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {
namespace {

[[noreturn]] void fail(const std::string& path, int error) {
  throw DeviceError(error_message("read_snapshot", fmt::format("cannot read \"{}\"", path),
                                  std::strerror(error), "a file that can be read"));
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : descriptor_(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) fail(path, errno);
  }
  ~Descriptor() {
    if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

/// The bytes of a regular file; empty when it cannot be mapped.
class Mapping {
 public:
  explicit Mapping(int descriptor) {
    struct stat facts {};
    if (fstat(descriptor, &facts) != 0 || !S_ISREG(facts.st_mode) || facts.st_size <= 0) return;
    if (lseek(descriptor, 0, SEEK_CUR) != 0) return;
    size_ = static_cast<std::size_t>(facts.st_size);
    address_ = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address_ == MAP_FAILED) {
      address_ = nullptr;
      return;
    }
    madvise(address_, size_, MADV_SEQUENTIAL);
  }
  ~Mapping() {
    if (address_ != nullptr) munmap(address_, size_);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::string_view bytes() const noexcept {
    if (address_ == nullptr) return {};
    return {static_cast<const char*>(address_), size_};
  }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

/// All the readers of one file, in a row.
class Pipeline {
 public:
  explicit Pipeline(const ReadRange& range)
      : records_(file_, range), machine_(records_), feed_(machine_), unpacker_(feed_) {}

  void write(std::string_view bytes) { unpacker_.write(bytes); }
  SnapshotFile finish() {
    unpacker_.finish();
    link_blocks(file_);
    return std::move(file_);
  }

 private:
  SnapshotFile file_;
  PickleRecords records_;
  PickleMachine machine_;
  PickleFeed feed_;
  Unpacker unpacker_;
};

void read_pieces(int descriptor, const std::string& path, Pipeline& pipeline) {
  std::string piece(std::size_t{1} << 20, '\0');
  for (;;) {
    const ssize_t count = ::read(descriptor, piece.data(), piece.size());
    if (count == 0) return;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, errno);
    pipeline.write(std::string_view(piece).substr(0, static_cast<std::size_t>(count)));
  }
}

}  // namespace

SnapshotFile read_snapshot(const std::string& path, const ReadRange& range) {
  const Descriptor descriptor(path);
  Pipeline pipeline(range);
  const Mapping mapping(descriptor.get());
  if (mapping.bytes().empty()) {
    read_pieces(descriptor.get(), path, pipeline);
  } else {
    pipeline.write(mapping.bytes());
  }
  return pipeline.finish();
}

SnapshotFile read_snapshot_bytes(std::string_view bytes, const ReadRange& range) {
  Pipeline pipeline(range);
  pipeline.write(bytes);
  return pipeline.finish();
}

std::string_view SnapshotFile::action_text(std::size_t event) const noexcept {
  const record::Action action = snapshot.events.action[event];
  auto extra = std::lower_bound(
      extras.begin(), extras.end(), event,
      [](const EventExtra& entry, std::size_t number) { return entry.event < number; });
  for (; extra != extras.end() && extra->event == event; ++extra) {
    if (snapshot.text(extra->key) == "action") return snapshot.text(extra->value);
  }
  return record::action_name(action);
}

std::optional<std::uint64_t> SnapshotFile::event_number(std::size_t event) const noexcept {
  const std::size_t device = snapshot.events.device[event];
  const std::uint64_t row = event - traces[device].first;
  if (device >= parts.size()) return row;
  const TracePart& part = parts[device];
  if (row < part.carried) return std::nullopt;
  return row - part.carried + part.first_event;
}

}  // namespace strandline::snapshot
