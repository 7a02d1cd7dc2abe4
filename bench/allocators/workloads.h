// SPDX-License-Identifier: Apache-2.0
// The workloads that every allocator of this bench goes through, and how they are timed and
// checked. A peer is a class with
//
//   using Block = ...;                       what malloc gives, default-constructible
//   Block malloc(std::size_t bytes);
//   void free(Block block, std::size_t bytes);
//   void* pointer(Block block);
//   std::size_t usable(Block block);         bytes the block really has; 0: it cannot say
//   std::int64_t active();                   bytes handed out by its own count; -1: it has none
//
// `measure<Peer>` prints one JSON object: ns a pair (a malloc and a free), p50 and p99 over
// batches.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

constexpr std::size_t kBatch = 64;  // pairs between two looks at the clock
constexpr std::size_t kBatches = 1500;
constexpr auto kLongest = std::chrono::milliseconds(150);  // a case

struct Times {
  double p50 = 0;
  double p99 = 0;
};

inline void must(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

inline Times quantiles(std::vector<double> ns) {
  std::sort(ns.begin(), ns.end());
  return {ns[ns.size() / 2], ns[ns.size() * 99 / 100]};
}

// ns a pair of each batch.
template <typename Pair>
std::vector<double> time_batches(Pair&& pair) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> ns;
  ns.reserve(kBatches);
  for (std::size_t i = 0; i < 4 * kBatch; ++i) pair();
  const auto begin = Clock::now();
  for (auto now = begin; ns.size() < kBatches && now - begin < kLongest;) {
    for (std::size_t i = 0; i < kBatch; ++i) pair();
    const auto then = std::exchange(now, Clock::now());
    ns.push_back(std::chrono::duration<double, std::nano>(now - then).count() / kBatch);
  }
  return ns;
}

// Runs `body(thread)` on so many threads at once; it returns its batches.
template <typename Body>
std::vector<double> on_threads(std::size_t count, Body&& body) {
  std::vector<std::vector<double>> each(count);
  std::atomic<std::size_t> waiting{count};
  const auto start = [&](std::size_t index) {
    --waiting;
    while (waiting != 0) std::this_thread::yield();
    each[index] = body(index);
  };
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < count; ++i) threads.emplace_back(start, i);
  start(0);
  for (std::thread& thread : threads) thread.join();
  std::vector<double> all;
  for (const std::vector<double>& ns : each) all.insert(all.end(), ns.begin(), ns.end());
  return all;
}

inline void use(void* pointer) {
  asm volatile("" : : "r"(pointer) : "memory");
}

template <typename Peer>
std::vector<double> cached_pairs(Peer& peer, std::size_t bytes) {
  return time_batches([&] {
    auto block = peer.malloc(bytes);
    use(peer.pointer(block));
    peer.free(block, bytes);
  });
}

// Live blocks of random sizes, of which a random one is replaced by one of another size each time.
template <typename Peer>
class Replacement {
 public:
  Replacement(Peer& peer, std::size_t live, std::size_t largest, std::uint64_t seed)
      : peer_(peer), random_(seed), largest_(largest), blocks_(live) {
    for (Held& held : blocks_) held = fresh();
    // Choices are made beforehand: generating them is not what is timed.
    for (Choice& choice : choices_) {
      choice = {static_cast<std::uint32_t>(random_() % live),
                static_cast<std::uint32_t>(random_() % largest + 1)};
    }
  }
  ~Replacement() {
    for (Held& held : blocks_) peer_.free(held.block, held.bytes);
  }
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  void replace() {
    const Choice choice = choices_[next_++ % kChoices];
    Held& held = blocks_[choice.at];
    peer_.free(held.block, held.bytes);
    held.block = peer_.malloc(choice.bytes);
    held.bytes = choice.bytes;
    use(peer_.pointer(held.block));
  }

  // No two blocks share a byte, each is as large as was asked, and keeps what is written to it.
  void check() {
    std::vector<std::pair<std::uintptr_t, std::size_t>> ranges;
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      void* memory = peer_.pointer(blocks_[i].block);
      const std::size_t usable = peer_.usable(blocks_[i].block);
      must(memory != nullptr && (usable == 0 || usable >= blocks_[i].bytes),
           "a block is too small");
      ranges.emplace_back(reinterpret_cast<std::uintptr_t>(memory), blocks_[i].bytes);
      std::memset(memory, static_cast<int>(i & 0xFF), std::min<std::size_t>(blocks_[i].bytes, 16));
    }
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto* bytes = static_cast<const unsigned char*>(peer_.pointer(blocks_[i].block));
      must(bytes[0] == (i & 0xFF), "a block lost its bytes");
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      must(ranges[i - 1].first + ranges[i - 1].second <= ranges[i].first, "two blocks overlap");
    }
  }

 private:
  struct Held {
    typename Peer::Block block{};
    std::size_t bytes = 0;
  };
  struct Choice {
    std::uint32_t at = 0;
    std::uint32_t bytes = 0;
  };
  static constexpr std::size_t kChoices = 1 << 16;

  Held fresh() {
    const std::size_t bytes = random_() % largest_ + 1;
    return {peer_.malloc(bytes), bytes};
  }

  Peer& peer_;
  std::mt19937_64 random_;
  std::size_t largest_;
  std::vector<Held> blocks_;
  std::vector<Choice> choices_ = std::vector<Choice>(kChoices);
  std::size_t next_ = 0;
};

struct Random {
  const char* name;
  std::size_t live;
  std::size_t largest;
};
constexpr Random kRandom[] = {
    {"1k live, up to 8 KiB", 1 << 10, 8 << 10},
    {"1k live, up to 1 MiB", 1 << 10, 1 << 20},
    {"64k live, up to 1 KiB", 1 << 16, 1 << 10},
    {"64k live, up to 64 KiB", 1 << 16, 64 << 10},
};
constexpr std::pair<const char*, std::size_t> kPairs[] = {
    {"4 B", 4},         {"64 B", 64},         {"256 B", 256},     {"1 KiB", 1 << 10},
    {"4 KiB", 4 << 10}, {"64 KiB", 64 << 10}, {"1 MiB", 1 << 20}, {"16 MiB", 16 << 20},
};

inline void print(bool first, const char* name, std::size_t threads, const Times& times) {
  std::printf("%s\"%s/%zu\": {\"p50\": %.2f, \"p99\": %.2f}", first ? "" : ", ", name, threads,
              times.p50, times.p99);
}

template <typename Peer>
void measure_threads(Peer& peer, std::size_t threads) {
  for (const auto& [name, bytes] : kPairs) {
    const std::size_t size = bytes;
    const auto ns = on_threads(threads, [&](std::size_t) { return cached_pairs(peer, size); });
    print(threads == 1 && size == kPairs[0].second, name, threads, quantiles(ns));
  }
  for (const Random& random : kRandom) {
    const auto ns = on_threads(threads, [&](std::size_t index) {
      Replacement<Peer> blocks(peer, random.live / threads, random.largest, index + 1);
      std::vector<double> batches = time_batches([&] { blocks.replace(); });
      blocks.check();
      return batches;
    });
    print(false, random.name, threads, quantiles(ns));
  }
}

/// What a bench's main returns.
template <typename Peer>
int measure(Peer& peer) {
  try {
    const std::int64_t before = peer.active();
    std::printf("{");
    measure_threads(peer, 1);
    measure_threads(peer, 2);
    std::printf("}\n");
    must(peer.active() == before, "its own count says that bytes are missing");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wrong: %s\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace bench
