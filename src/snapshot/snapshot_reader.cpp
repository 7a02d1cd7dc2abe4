// SPDX-License-Identifier: Apache-2.0
// From a path to columns: files are mapped, pipes are read in pieces.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "snapshot/file_links.h"
#include "snapshot/file_part.h"
#include "snapshot/native_feed.h"
#include "snapshot/pickle_feed.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/native_file.h"
#include "strandline/snapshot/read_progress.h"
#include "strandline/snapshot/snapshot_file.h"

namespace strandline::snapshot {
namespace {

constexpr std::size_t kMappedPiece = std::size_t{16} << 20;

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

SnapshotFile part_of_native(std::string_view bytes, const ReadRange& range) {
  SnapshotFile file = as_snapshot_file(read_native_bytes(bytes));
  if (range.is_all()) return file;
  return part_of(std::move(file), range);
}

/// All the readers of one file, in a row.
class Pipeline {
 public:
  explicit Pipeline(const ReadRange& range)
      : range_(range),
        records_(file_, range),
        machine_(records_),
        feed_(machine_),
        format_(feed_),
        unpacker_(format_) {}

  void write(std::string_view bytes) { unpacker_.write(bytes); }
  /// In pieces, telling how far it is after each.
  void write(std::string_view bytes, const ReadProgress& progress) {
    expect(bytes.size());
    if (!progress) return write(bytes);
    for (std::size_t at = 0; at < bytes.size(); at += kMappedPiece) {
      write(bytes.substr(at, kMappedPiece));
      progress(std::min(at + kMappedPiece, bytes.size()), bytes.size());
    }
  }
  /// The bytes of a native file, unpacked; none when it was none.
  const std::string* finish_native() {
    unpacker_.finish();
    return format_.native_bytes();
  }
  SnapshotFile finish() {
    if (const std::string* native = finish_native()) {
      return part_of_native(*native, range_);
    }
    link_blocks(file_);
    return std::move(file_);
  }

 private:
  /// What is packed unpacks to more; that much is not foretold.
  void expect(std::uint64_t bytes) {
    if (!range_.is_all()) return;
    try {
      machine_.expect(bytes);
    } catch (const std::bad_alloc&) {  // addresses are scarce: the columns grow as they are filled
    }
  }

  ReadRange range_;
  SnapshotFile file_;
  PickleRecords records_;
  PickleMachine machine_;
  PickleFeed feed_;
  FormatFeed format_;
  Unpacker unpacker_;
};

void read_pieces(int descriptor, const std::string& path, Pipeline& pipeline,
                 const ReadProgress& progress = {}) {
  std::string piece(std::size_t{1} << 20, '\0');
  std::uint64_t done = 0;
  for (;;) {
    const ssize_t count = ::read(descriptor, piece.data(), piece.size());
    if (count == 0) return;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path, errno);
    pipeline.write(std::string_view(piece).substr(0, static_cast<std::size_t>(count)));
    done += static_cast<std::uint64_t>(count);
    if (progress) progress(done, 0);
  }
}

}  // namespace

SnapshotFile read_snapshot(const std::string& path, const ReadRange& range,
                           const ReadProgress& progress) {
  const Descriptor descriptor(path);
  Pipeline pipeline(range);
  const Mapping mapping(descriptor.get());
  if (is_native(mapping.bytes())) return part_of_native(mapping.bytes(), range);
  if (mapping.bytes().empty()) {
    read_pieces(descriptor.get(), path, pipeline, progress);
  } else {
    pipeline.write(mapping.bytes(), progress);
  }
  return pipeline.finish();
}

SnapshotFile read_snapshot(const std::string& path, const ReadRange& range) {
  return read_snapshot(path, range, {});
}

SnapshotFile read_snapshot_bytes(std::string_view bytes, const ReadRange& range) {
  if (is_native(bytes)) return part_of_native(bytes, range);
  Pipeline pipeline(range);
  pipeline.write(bytes);
  return pipeline.finish();
}

NativeFile read_native(const std::string& path) {
  const Descriptor descriptor(path);
  const Mapping mapping(descriptor.get());
  if (is_native(mapping.bytes())) return read_native_bytes(mapping.bytes());
  Pipeline pipeline(ReadRange{});
  if (mapping.bytes().empty()) {
    read_pieces(descriptor.get(), path, pipeline);
  } else {
    pipeline.write(mapping.bytes());
  }
  const std::string* const native = pipeline.finish_native();
  if (native != nullptr) return read_native_bytes(*native);
  throw FormatError(error_message("read_native", "the file", "another format", "a native file"), 0);
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
