// SPDX-License-Identifier: Apache-2.0
// What every allocator of this bench goes through, timed and checked. A peer is a class with
//
//   using Block = ...;                                    what malloc gives, default-constructible
//   Block malloc(std::size_t bytes, std::size_t stream);  streams are numbers from 0
//   void free(Block block, std::size_t bytes);
//   void* pointer(Block block);                           where it is; memory is never touched
//   std::int64_t active();                                bytes handed out; -1: it has no count
//   std::uint64_t reserved();                             bytes obtained; 0: it cannot say
//
// `measure` prints one JSON object, case -> {"p50", "p99"} in ns (of a pair, or of a call) and for
// traces "peak_reserved" in bytes.
#pragma once

#include <fstream>
#include <map>
#include <memory>

#include "../allocators/workloads.h"

namespace bench {

constexpr std::size_t kStreams = 4;

/// No two live blocks share a byte.
class Overlaps {
 public:
  void add(const void* block, std::size_t bytes) {
    const auto from = reinterpret_cast<std::uintptr_t>(block);
    must(from != 0, "null for memory");
    const auto after = live_.lower_bound(from);
    must(after == live_.end() || from + bytes <= after->first, "a block overlaps the next");
    must(after == live_.begin() || std::prev(after)->first + std::prev(after)->second <= from,
         "a block overlaps the one before");
    live_.emplace_hint(after, from, bytes);
  }
  void remove(const void* block) { live_.erase(reinterpret_cast<std::uintptr_t>(block)); }

 private:
  std::map<std::uintptr_t, std::size_t> live_;
};

/// The shape of RMM's random_allocations benchmark: sizes uniform from 1 byte, 73 of 100 calls
/// allocate as long as fewer than `live` blocks are held, the others free a random one.
template <typename Peer>
class RandomShape {
 public:
  RandomShape(Peer& peer, std::size_t live, std::size_t largest, std::uint64_t seed)
      : peer_(peer), live_(live) {
    std::mt19937_64 random(seed);
    for (Choice& choice : choices_) {
      choice = {random() % 100 < 73, random() % kStreams, random() % largest + 1, random()};
    }
    held_.reserve(live);
    while (held_.size() < live) step();
  }
  ~RandomShape() {
    for (const Held& held : held_) peer_.free(held.block, held.bytes);
  }
  RandomShape(const RandomShape&) = delete;
  RandomShape& operator=(const RandomShape&) = delete;

  void step() {
    const Choice& choice = choices_[next_++ % kChoices];
    if (held_.empty() || (choice.is_alloc && held_.size() < live_)) {
      held_.push_back({peer_.malloc(choice.bytes, choice.stream), choice.bytes});
      use(peer_.pointer(held_.back().block));
      return;
    }
    Held& gone = held_[choice.which % held_.size()];
    peer_.free(gone.block, gone.bytes);
    gone = held_.back();
    held_.pop_back();
  }

  void check() {
    Overlaps overlaps;
    for (Held& held : held_) overlaps.add(peer_.pointer(held.block), held.bytes);
  }

 private:
  struct Held {
    typename Peer::Block block{};
    std::size_t bytes = 0;
  };
  struct Choice {
    bool is_alloc = false;
    std::size_t stream = 0;
    std::size_t bytes = 0;
    std::uint64_t which = 0;
  };
  static constexpr std::size_t kChoices = 1 << 18;

  Peer& peer_;
  std::size_t live_;
  std::vector<Held> held_;
  std::vector<Choice> choices_ = std::vector<Choice>(kChoices);
  std::size_t next_ = 0;
};

/// A call of a recorded program; lines `slot stream bytes`, 0 bytes: a free.
struct Call {
  std::size_t slot = 0;
  std::size_t stream = 0;
  std::size_t bytes = 0;
};

struct Trace {
  std::string name;
  std::size_t slots = 0;
  std::vector<Call> calls;
};

inline Trace read_trace(const std::string& path) {
  std::ifstream in(path);
  Trace trace;
  std::getline(in, trace.name);
  for (Call call; in >> call.slot >> call.stream >> call.bytes;) {
    trace.slots = std::max(trace.slots, call.slot + 1);
    trace.calls.push_back(call);
  }
  must(!trace.calls.empty(), path + " holds no calls");
  return trace;
}

template <typename Peer>
class Replay {
 public:
  Replay(Peer& peer, const Trace& trace) : peer_(peer), trace_(trace), held_(trace.slots) {}

  void run() {
    for (const Call& call : trace_.calls) one(call);
    free_all();
  }
  /// The same, with every block checked; the largest reserved.
  std::uint64_t run_checked() {
    Overlaps overlaps;
    std::uint64_t peak = 0;
    for (const Call& call : trace_.calls) {
      if (call.bytes == 0) overlaps.remove(peer_.pointer(held_[call.slot].block));
      one(call);
      if (call.bytes != 0) overlaps.add(peer_.pointer(held_[call.slot].block), call.bytes);
      peak = std::max<std::uint64_t>(peak, peer_.reserved());
    }
    free_all();
    return peak;
  }

 private:
  struct Held {
    typename Peer::Block block{};
    std::size_t bytes = 0;
  };

  void one(const Call& call) {
    Held& held = held_[call.slot];
    if (call.bytes != 0) {
      held = {peer_.malloc(call.bytes, call.stream), call.bytes};
      use(peer_.pointer(held.block));
    } else {
      peer_.free(held.block, held.bytes);
      held.bytes = 0;
    }
  }
  void free_all() {
    for (Held& held : held_) {
      if (held.bytes != 0) peer_.free(held.block, held.bytes);
      held.bytes = 0;
    }
  }

  Peer& peer_;
  const Trace& trace_;
  std::vector<Held> held_;
};

struct Shape {
  const char* name;
  std::size_t live;
  std::size_t largest;
};
constexpr Shape kShapes[] = {{"1k live, up to 4 MiB", 1'000, 4 << 20},
                             {"10k live, up to 1 MiB", 10'000, 1 << 20},
                             {"100k live, up to 256 KiB", 100'000, 256 << 10}};
constexpr std::pair<const char*, std::size_t> kSizes[] = {{"pair of 512 B", 512},
                                                          {"pair of 64 KiB", 64 << 10},
                                                          {"pair of 4 MiB", 4 << 20},
                                                          {"pair of 64 MiB", 64 << 20}};

template <typename Peer>
void time_threads(Peer& peer, std::size_t threads) {
  for (const auto& [name, bytes] : kSizes) {
    const std::size_t size = bytes;
    const auto ns = on_threads(threads, [&](std::size_t stream) {
      return time_batches([&] {
        auto block = peer.malloc(size, stream);
        use(peer.pointer(block));
        peer.free(block, size);
      });
    });
    print(threads == 1 && size == kSizes[0].second, name, threads, quantiles(ns));
  }
  for (const Shape& shape : kShapes) {
    const auto ns = on_threads(threads, [&](std::size_t index) {
      RandomShape<Peer> blocks(peer, shape.live / threads, shape.largest, index + 1);
      std::vector<double> batches = time_batches([&] { blocks.step(); });
      blocks.check();
      return batches;
    });
    print(false, shape.name, threads, quantiles(ns));
  }
}

template <typename Peer>
void time_trace(Peer& peer, const Trace& trace) {
  using Clock = std::chrono::steady_clock;
  Replay<Peer> replay(peer, trace);
  const std::uint64_t peak = replay.run_checked();
  std::vector<double> ns;
  const auto begin = Clock::now();
  for (auto now = begin; ns.size() < kBatches && now - begin < kLongest;) {
    replay.run();
    const auto then = std::exchange(now, Clock::now());
    const std::chrono::duration<double, std::nano> took = now - then;
    ns.push_back(took.count() / static_cast<double>(trace.calls.size()));
  }
  const Times times = quantiles(std::move(ns));
  std::printf(
      ", \"trace %s/1\": {\"p50\": %.2f, \"p99\": %.2f, \"calls\": %zu, "
      "\"peak_reserved\": %llu}",
      trace.name.c_str(), times.p50, times.p99, trace.calls.size(),
      static_cast<unsigned long long>(peak));
}

/// What a peer's main returns; `make` gives a fresh peer, the arguments name files of traces.
template <typename Make>
int measure_segments(Make&& make, int count, char** paths) {
  try {
    std::printf("{");
    for (const std::size_t threads : {std::size_t{1}, std::size_t{2}}) {
      auto peer = make();
      time_threads(*peer, threads);
      must(peer->active() <= 0, "its own count says that bytes are missing");
    }
    for (int i = 0; i < count; ++i) {
      auto peer = make();
      time_trace(*peer, read_trace(paths[i]));
      must(peer->active() <= 0, "its own count says that bytes are missing");
    }
    std::printf("}\n");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wrong: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace bench
