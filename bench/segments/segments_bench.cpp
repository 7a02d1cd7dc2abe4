// SPDX-License-Identifier: Apache-2.0
// Ours on the simulation, whose calls cost no virtual time:
//
//   segments_bench measure TRACE...          the cases of shapes.h
//   segments_bench extract SNAPSHOT TRACE    the calls of a snapshot's first device, for shapes.h
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <unordered_map>

#include "shapes.h"
#include "strandline/alloc/segment_allocator.h"
#include "strandline/device/sim/machine.h"
#include "strandline/snapshot/snapshot_file.h"

namespace {

namespace alloc = strandline::alloc;
namespace device = strandline::device;
namespace sim = strandline::sim;
namespace snapshot = strandline::snapshot;

sim::MachineOptions machine_options() {
  sim::MachineOptions options;
  options.devices = {{.capacity_bytes = std::uint64_t{1} << 40}};
  options.costs.call_ns = {};
  return options;
}

class Ours {
 public:
  using Block = alloc::Buffer;

  Ours() : machine_(machine_options()), allocator_(machine_.device()) {
    device::Streams& streams = machine_.device().streams();
    streams_[0] = streams.default_stream();
    for (std::size_t i = 1; i < bench::kStreams; ++i) streams_[i] = streams.create();
  }
  Block malloc(std::size_t bytes, std::size_t stream) {
    return allocator_.malloc(bytes, {.alignment = 0, .stream = streams_[stream]});
  }
  void free(Block block, std::size_t) { allocator_.free(block); }
  void* pointer(Block block) { return block.ptr(); }
  std::int64_t active() { return static_cast<std::int64_t>(allocator_.active_bytes()); }
  std::uint64_t reserved() { return allocator_.statistics().reserved_bytes; }

 private:
  sim::Machine machine_;
  alloc::SegmentAllocator allocator_;
  strandline::StreamId streams_[bench::kStreams];
};

// Blocks from before the trace are not known: their frees are left out. A block's slot is free
// again when the block is, so that a replay's table stays small.
class Extraction {
 public:
  void alloc(std::uint64_t address, std::uint64_t bytes, std::uint32_t stream) {
    if (bytes == 0) return;
    if (free_.empty()) free_.push_back(slots_++);
    const std::size_t slot = free_.back();
    free_.pop_back();
    live_[address] = slot;
    const std::size_t number = streams_.try_emplace(stream, streams_.size()).first->second;
    calls_ += std::to_string(slot) + " " + std::to_string(number % bench::kStreams) + " " +
              std::to_string(bytes) + "\n";
  }
  void free(std::uint64_t address) {
    const auto found = live_.find(address);
    if (found == live_.end()) return;
    calls_ += std::to_string(found->second) + " 0 0\n";
    free_.push_back(found->second);
    live_.erase(found);
  }
  const std::string& calls() const { return calls_; }

 private:
  std::unordered_map<std::uint64_t, std::size_t> live_;
  std::unordered_map<std::uint32_t, std::size_t> streams_;
  std::vector<std::size_t> free_;
  std::size_t slots_ = 0;
  std::string calls_;
};

std::string stem_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.find('.'));
}

int extract(const std::string& path, const char* to) {
  const snapshot::SnapshotFile file = snapshot::read_snapshot(path);
  if (file.traces.empty()) return 3;
  Extraction extraction;
  const snapshot::EventColumns& events = file.snapshot.events;
  for (std::uint64_t i = file.traces[0].first; i < file.traces[0].end(); ++i) {
    const snapshot::EventRow event = events.row(i);
    if (event.action == strandline::record::Action::alloc) {
      extraction.alloc(event.address, event.size, event.stream.value);
    } else if (event.action == strandline::record::Action::free_completed) {
      extraction.free(event.address);
    }
  }
  std::ofstream(to) << stem_of(path) << "\n" << extraction.calls();
  return extraction.calls().empty() ? 3 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], "extract") == 0) {
    try {
      return extract(argv[2], argv[3]);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
  if (argc < 2 || std::strcmp(argv[1], "measure") != 0) return 2;
  return bench::measure_segments([] { return std::make_unique<Ours>(); }, argc - 2, argv + 2);
}
