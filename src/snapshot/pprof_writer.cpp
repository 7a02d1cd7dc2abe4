// SPDX-License-Identifier: Apache-2.0
// profile.proto of github.com/google/pprof, field by field:
//
//   Profile   1 sample_type  2 sample  4 location  5 function  6 string_table  9 time_nanos
//             13 comment  14 default_sample_type
//   ValueType 1 type  2 unit          Sample  1 location_id (innermost first)  2 value  3 label
//   Label     1 key  2 str  3 num     Location  1 id  4 line    Line  1 function_id  2 line
//   Function  1 id  2 name  3 system_name  4 filename      texts are numbers in string_table
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>
#include <zlib.h>

#include "snapshot/byte_output.h"
#include "snapshot/proto_encoder.h"
#include "snapshot/utf8.h"
#include "strandline/core/error.h"
#include "strandline/snapshot/accounting.h"
#include "strandline/snapshot/profile_export.h"

namespace strandline::snapshot {
namespace {

/// What samples are summed by.
struct SampleKey {
  StackId stack{};
  StringId label{};
  StringId op{};
  std::uint8_t device = 0;

  auto operator<=>(const SampleKey&) const = default;
};

struct SampleSums {
  std::uint64_t alloc_objects = 0;
  std::uint64_t alloc_bytes = 0;
  std::uint64_t held_objects = 0;
  std::uint64_t held_bytes = 0;
};

class ProfileWriter {
 public:
  ProfileWriter(const SnapshotFile& file, const ProfileOptions& options)
      : file_(file), snapshot_(file.snapshot), options_(options) {
    text("");  // number 0 is the empty text
  }

  std::string write() {
    for (const DeviceAccount& account : make_account(file_, options_.device).devices) {
      sum_device(account);
    }
    const std::array<std::array<const char*, 2>, 4> types{{{"alloc_objects", "count"},
                                                           {"alloc_space", "bytes"},
                                                           {"inuse_objects", "count"},
                                                           {"inuse_space", "bytes"}}};
    for (const auto& [type, unit] : types) {
      ProtoEncoder value;
      value.number(1, text(type));
      value.number(2, text(unit));
      profile_.bytes(1, value.str());
    }
    for (const auto& [key, sums] : samples_) write_sample(key, sums);
    write_locations();
    profile_.number(
        9, static_cast<std::uint64_t>(std::max<std::int64_t>(snapshot_.start_us, 0)) * 1000);
    profile_.number(13, text("device memory, requested bytes; in use at the moment asked for"));
    profile_.number(14, text("inuse_space"));
    for (const std::string& entry : texts_) profile_.bytes(6, entry);
    return profile_.take();
  }

 private:
  std::uint64_t text(std::string_view any) {
    std::string entry = is_valid_utf8(any) ? std::string(any) : repaired_utf8(any);
    const auto [known, is_new] = numbers_.try_emplace(entry, texts_.size());
    if (is_new) texts_.push_back(std::move(entry));
    return known->second;
  }

  void sum_device(const DeviceAccount& account) {
    const EventColumns& events = snapshot_.events;
    const std::uint8_t device = account.device;
    const RowRange trace = device < file_.traces.size() ? file_.traces[device] : RowRange{};
    for (std::uint64_t i = trace.first; i < trace.end(); ++i) {
      const auto row = static_cast<std::size_t>(i);
      if (!record::begins_block(events.action[row])) continue;
      if (options_.answers.matches && !counts(row)) continue;
      SampleSums& sums = samples_[{events.stack[row], events.label[row], events.op[row], device}];
      ++sums.alloc_objects;
      sums.alloc_bytes += events.requested[row];
    }
    const auto moment = static_cast<std::int64_t>(events_before(options_.moment, file_, account));
    const BlockColumns held = blocks_held(file_, device, moment - 1);
    for (std::size_t b = 0; b < held.count(); ++b) {
      const BlockRow block = held.row(b);
      if (!options_.answers.counts(block)) continue;
      SampleSums& sums = samples_[{block.stack, block.label, block.op, device}];
      ++sums.held_objects;
      sums.held_bytes += block.requested;
    }
  }

  bool counts(std::size_t row) const {
    const EventRow event = snapshot_.events.row(row);
    return options_.answers.counts({.address = event.address,
                                    .size = event.size,
                                    .requested = event.requested,
                                    .alloc_sequence = row + 1,
                                    .stack = event.stack,
                                    .op = event.op,
                                    .label = event.label,
                                    .owner = event.owner,
                                    .stream = event.stream,
                                    .pool = event.pool,
                                    .device = event.device,
                                    .action = event.action});
  }

  void write_sample(const SampleKey& key, const SampleSums& sums) {
    ProtoEncoder sample;
    ProtoEncoder list;
    for (StackId node = key.stack; node; node = snapshot_.stacks.parent(node)) {
      const FrameId frame = snapshot_.stacks.frame(node);
      used_.resize(std::max<std::size_t>(used_.size(), frame.value + std::size_t{1}));
      used_[frame.value] = true;
      list.varint(frame.value);
    }
    sample.bytes(1, list.str());
    ProtoEncoder values;
    for (const std::uint64_t value :
         {sums.alloc_objects, sums.alloc_bytes, sums.held_objects, sums.held_bytes}) {
      values.varint(value);
    }
    sample.bytes(2, values.str());
    const auto add_label = [&](const char* name, std::string_view value) {
      if (value.empty()) return;
      ProtoEncoder label;
      label.number(1, text(name));
      label.number(2, text(value));
      sample.bytes(3, label.str());
    };
    add_label("label", snapshot_.text(key.label));
    add_label("op", snapshot_.text(key.op));
    add_label("device", std::to_string(key.device));
    profile_.bytes(2, sample.str());
  }

  /// A location is a frame, of the same number; a function is its name and file.
  void write_locations() {
    std::map<std::pair<StringId, StringId>, std::uint64_t> functions;
    for (std::uint32_t id = 1; id < used_.size(); ++id) {
      if (!used_[id]) continue;
      const FrameId frame{id};
      const std::pair name(snapshot_.frames.function(frame), snapshot_.frames.file(frame));
      const std::uint64_t function =
          functions.try_emplace(name, functions.size() + 1).first->second;
      ProtoEncoder line;
      line.number(1, function);
      line.number(2, snapshot_.frames.line(frame));
      ProtoEncoder location;
      location.number(1, id);
      location.bytes(4, line.str());
      profile_.bytes(4, location.str());
    }
    for (const auto& [name, number] : functions) {
      ProtoEncoder function;
      function.number(1, number);
      function.number(2, text(snapshot_.text(name.first)));
      function.number(3, text(snapshot_.text(name.first)));
      function.number(4, text(snapshot_.text(name.second)));
      profile_.bytes(5, function.str());
    }
  }

  const SnapshotFile& file_;
  const Snapshot& snapshot_;
  const ProfileOptions& options_;
  std::map<SampleKey, SampleSums> samples_;
  std::vector<bool> used_;  // frames
  std::vector<std::string> texts_;
  std::unordered_map<std::string, std::uint64_t> numbers_;
  ProtoEncoder profile_;
};

std::string gzipped(std::string_view bytes) {
  z_stream stream{};
  // 15 bits of window, and 16 for the header and trailer of gzip.
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
      Z_OK) {
    throw InternalError(error_message("write_pprof", "zlib", "no compressor", "one"));
  }
  std::string out;
  std::string piece(std::size_t{1} << 16, '\0');
  int state = Z_OK;
  while (state != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      const std::size_t next =
          std::min<std::size_t>(bytes.size(), std::numeric_limits<std::int32_t>::max());
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      stream.avail_in = static_cast<uInt>(next);
      bytes.remove_prefix(next);
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    state = deflate(&stream, bytes.empty() ? Z_FINISH : Z_NO_FLUSH);
    out.append(piece, 0, piece.size() - stream.avail_out);
    if (state == Z_STREAM_ERROR) break;
  }
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::string profile_bytes(const SnapshotFile& file, const ProfileOptions& options) {
  return ProfileWriter(file, options).write();
}

void write_pprof(const SnapshotFile& file, const std::string& path, const ProfileOptions& options) {
  const std::string bytes = gzipped(profile_bytes(file, options));
  FileOutput output(path);
  output.write(bytes);
  output.commit();
}

}  // namespace strandline::snapshot
