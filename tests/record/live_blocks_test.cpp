// SPDX-License-Identifier: Apache-2.0
// Live blocks against a naive model that copies the whole set at each new peak.
#include "strandline/record/live_blocks.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

#include "support.h"

namespace strandline::record {
namespace {

// Plain lists; nothing is kept lazily. A block's `born` tells it from others at its address.
class NaiveModel {
 public:
  struct Block {
    LiveBlock block;
    std::uint64_t born = 0;
    bool was_bound = false;
    std::vector<std::pair<std::uint64_t, Holder>> sharers;
  };
  struct PeakCopy {
    std::uint64_t bytes = 0;
    std::uint64_t sequence = 0;
    std::map<std::uint64_t, LiveBlock> set;  // by `born`
  };

  void add(const LiveBlock& block) {
    if (live_.contains(block.address)) {
      ++double_allocs;
      remove(block.address);
    }
    live_[block.address] = {.block = block, .born = ++births_, .was_bound = false, .sharers = {}};
  }
  void update_peaks(std::uint64_t sequence) {
    for (std::size_t m = 0; m < kMeasureCount; ++m) {
      if (sum(m) > peaks[m].bytes) copy(m, sequence);
    }
  }
  void reset_peaks(std::uint64_t sequence) {
    for (std::size_t m = 0; m < kMeasureCount; ++m) copy(m, sequence);
  }
  bool remove(std::uint64_t address) { return live_.erase(address) == 1; }

  void bind(std::uint64_t address, std::uint64_t array, const Holder& by) {
    Block* known = block_of(array);
    if (known != nullptr && known->block.address == address) return;
    if (known != nullptr) leave(array);
    const auto found = live_.find(address);
    if (found == live_.end()) return;
    Block& block = found->second;
    block.sharers.emplace_back(array, by);
    if (!block.was_bound) {
      amend(block, [&](LiveBlock& b) { b.holder = by; });
    } else if (block.sharers.size() == 1) {
      block.block.holder = by;
    }
    block.was_bound = true;
  }
  void leave(std::uint64_t array) {
    Block* block = block_of(array);
    if (block == nullptr) return;
    const bool was_holder = block->sharers.front().first == array;
    std::erase_if(block->sharers, [&](const auto& sharer) { return sharer.first == array; });
    if (was_holder && !block->sharers.empty()) block->block.holder = block->sharers[0].second;
  }
  void set_label(std::uint64_t address, LabelId label) {
    const auto found = live_.find(address);
    if (found == live_.end()) return;
    amend(found->second, [&](LiveBlock& b) { b.holder.label = label; });
    if (!found->second.sharers.empty()) found->second.sharers[0].second.label = label;
  }
  void set_sharer_label(std::uint64_t array, LabelId label) {
    Block* block = block_of(array);
    if (block == nullptr) return;
    for (auto& [key, by] : block->sharers) {
      if (key == array) by.label = label;
    }
  }

  std::uint64_t sum(std::size_t measure) const {
    std::uint64_t bytes = 0;
    for (const auto& [address, b] : live_) bytes += measure == 0 ? b.block.size : b.block.requested;
    return bytes;
  }
  std::vector<LiveBlock> blocks() const {
    std::vector<LiveBlock> all;
    for (const auto& [address, b] : live_) all.push_back(b.block);
    return all;
  }
  std::vector<LiveBlock> peak_set(std::size_t measure) const {
    std::vector<LiveBlock> all;
    for (const auto& [born, block] : peaks[measure].set) all.push_back(block);
    std::ranges::sort(all, {}, &LiveBlock::address);
    return all;
  }
  std::uint64_t address_of(std::uint64_t array) {
    const Block* block = block_of(array);
    return block == nullptr ? 0 : block->block.address;
  }

  std::array<PeakCopy, kMeasureCount> peaks;
  std::uint64_t double_allocs = 0;

 private:
  void copy(std::size_t m, std::uint64_t sequence) {
    peaks[m] = {.bytes = sum(m), .sequence = sequence, .set = {}};
    for (const auto& [address, b] : live_) peaks[m].set[b.born] = b.block;
  }
  Block* block_of(std::uint64_t array) {
    for (auto& [address, b] : live_) {
      for (const auto& [key, by] : b.sharers) {
        if (key == array) return &b;
      }
    }
    return nullptr;
  }
  template <typename Amend>
  void amend(Block& block, Amend&& change) {
    change(block.block);
    for (PeakCopy& peak : peaks) {
      if (const auto kept = peak.set.find(block.born); kept != peak.set.end()) change(kept->second);
    }
  }

  std::map<std::uint64_t, Block> live_;
  std::uint64_t births_ = 0;
};

// One random program on both; sizes and the mix drift, so that peaks come in series and long apart.
class Pair {
 public:
  explicit Pair(std::uint64_t seed) : random_(seed) {}

  void step() {
    ++sequence_;
    switch (random_() % 16) {
      case 0:
      case 1:
      case 2:
      case 3:
        add();
        break;
      case 4:
      case 5:
        remove();
        break;
      case 6:
      case 7:
      case 8:
        bind();
        break;
      case 9:
      case 10:
      case 11:
        leave();
        break;
      case 12:
        set_label();
        break;
      case 13:
        set_sharer_label();
        break;
      case 14:
        if (random_() % 60 == 0) reset_peaks();
        break;
      default:
        growing_ = random_() % 40 == 0 ? !growing_ : growing_;
    }
  }

  void expect_equal() {
    ASSERT_EQ(real_.blocks(), naive_.blocks());
    ASSERT_EQ(real_.double_allocs(), naive_.double_allocs);
    for (std::size_t m = 0; m < kMeasureCount; ++m) {
      const auto measure = static_cast<Measure>(m);
      ASSERT_EQ(real_.active(measure), naive_.sum(m));
      ASSERT_EQ(real_.peak(measure).bytes, naive_.peaks[m].bytes);
      ASSERT_EQ(real_.peak(measure).sequence, naive_.peaks[m].sequence);
      const std::vector<LiveBlock> set = real_.peak_set(measure);
      ASSERT_EQ(set, naive_.peak_set(m)) << "measure " << m;
      std::uint64_t bytes = 0;
      for (const LiveBlock& block : set) bytes += m == 0 ? block.size : block.requested;
      ASSERT_EQ(bytes, real_.peak(measure).bytes);
    }
    for (std::uint64_t array = 1; array <= kArrays; ++array) {
      const LiveBlock* block = real_.block_of({array});
      ASSERT_EQ(block == nullptr ? 0 : block->address, naive_.address_of(array));
    }
  }

 private:
  static constexpr std::uint64_t kAddresses = 60;
  static constexpr std::uint64_t kArrays = 80;

  std::uint64_t any_address() { return (random_() % kAddresses + 1) * 4096; }
  std::uint64_t any_array() { return random_() % kArrays + 1; }
  Holder any_holder() {
    return holder(static_cast<std::uint32_t>(random_() % 1'000 + 1),
                  static_cast<std::uint32_t>(random_() % 3));
  }

  void add() {
    if (!growing_ && random_() % 2 == 0) return remove();
    const std::uint64_t requested = random_() % 5'000 + 1;
    const LiveBlock block{.address = any_address(),
                          .size = (requested + 511) / 512 * 512 * (random_() % 2 + 1),
                          .requested = requested,
                          .alloc_ticks = sequence_ * 10,
                          .alloc_sequence = sequence_,
                          .holder = any_holder(),
                          .thread = 3,
                          .action = Action::alloc_new};
    // Now and then at an address that is still live.
    if (real_.find(block.address) != nullptr && random_() % 8 != 0) return;
    real_.add(block);
    naive_.add(block);
    if (random_() % 10 == 0) return;  // noted while off: no peak
    real_.update_peaks(sequence_, sequence_ * 10);
    naive_.update_peaks(sequence_);
  }
  void remove() {
    const std::uint64_t address = any_address();
    const LiveBlock* found = real_.find(address);
    const LiveBlock expected = found == nullptr ? LiveBlock{} : *found;
    const LiveBlock* removed = real_.remove(address);
    ASSERT_EQ(removed != nullptr, naive_.remove(address));
    if (removed != nullptr) {
      EXPECT_EQ(*removed, expected);
    }
  }
  void bind() {
    const std::uint64_t address = any_address();
    const std::uint64_t array = any_array();
    const Holder by = any_holder();
    if (real_.bind(address, {array}, by) == LiveBlocks::Bound::first_sharer) {
      real_.amend_holder(address, by);
    }
    naive_.bind(address, array, by);
  }
  void leave() {
    const std::uint64_t array = any_array();
    real_.leave({array});
    naive_.leave(array);
  }
  void set_label() {
    const std::uint64_t address = any_address();
    const LabelId label{static_cast<std::uint32_t>(random_() % 5)};
    real_.set_label(address, label);
    naive_.set_label(address, label);
  }
  void set_sharer_label() {
    const std::uint64_t array = any_array();
    const LabelId label{static_cast<std::uint32_t>(random_() % 5)};
    real_.set_sharer_label({array}, label);
    naive_.set_sharer_label(array, label);
  }
  void reset_peaks() {
    real_.reset_peaks(sequence_, sequence_);
    naive_.reset_peaks(sequence_);
  }

  std::mt19937_64 random_;
  LiveBlocks real_;
  NaiveModel naive_;
  std::uint64_t sequence_ = 0;
  bool growing_ = true;
};

TEST(LiveBlocks, AgreesWithTheNaiveModelOverRandomOperations) {
  constexpr int kSeeds = kSanitized ? 2 : 10;
  constexpr int kSteps = 10'000;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    Pair pair(static_cast<std::uint64_t>(seed));
    for (int step = 0; step < kSteps; ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", step " << step);
      pair.step();
      if (step % 23 == 0 || step < 200) pair.expect_equal();
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

LiveBlock block(std::uint64_t address, std::uint64_t size, const Holder& by = {}) {
  return {.address = address, .size = size, .requested = size, .holder = by};
}

TEST(LiveBlocks, ChargesABlockToItsOldestLivingSharerNotTheNewest) {
  LiveBlocks live;
  live.add(block(64, 4 << 20));
  EXPECT_EQ(live.bind(64, {1}, holder(10)), LiveBlocks::Bound::first_sharer);
  live.amend_holder(64, holder(10));
  EXPECT_EQ(live.bind(64, {2}, holder(20)), LiveBlocks::Bound::further_sharer);
  EXPECT_EQ(live.bind(64, {3}, holder(30)), LiveBlocks::Bound::further_sharer);
  EXPECT_EQ(live.leave({2}), nullptr) << "a view's death changes nothing";
  EXPECT_EQ(live.find(64)->holder, holder(10));
  const LiveBlock* changed = live.leave({1});
  ASSERT_NE(changed, nullptr);
  EXPECT_EQ(changed->holder, holder(30));
  EXPECT_EQ(live.leave({3}), nullptr);
  EXPECT_EQ(live.find(64)->holder, holder(30)) << "with none left the last one stays";
}

TEST(LiveBlocks, TakesASharerAfterAnEmptyMomentForANewHolderOfTheSameLife) {
  LiveBlocks live;
  live.add(block(64, 100));
  live.bind(64, {1}, holder(10));
  live.amend_holder(64, holder(10));
  live.update_peaks(1, 1);
  live.leave({1});
  EXPECT_EQ(live.bind(64, {2}, holder(20)), LiveBlocks::Bound::next_holder);
  EXPECT_EQ(live.find(64)->holder, holder(20));
  EXPECT_EQ(live.peak_set(Measure::capacity).at(0).holder, holder(10)) << "it held the peak";
}

TEST(LiveBlocks, MovesAnArrayThatIsBoundElsewhere) {
  LiveBlocks live;
  live.add(block(64, 100));
  live.add(block(128, 200));
  live.bind(64, {1}, holder(10));
  live.bind(64, {2}, holder(20));
  EXPECT_EQ(live.bind(128, {1}, holder(11)), LiveBlocks::Bound::first_sharer);
  EXPECT_EQ(live.find(64)->holder, holder(20));
  EXPECT_EQ(live.block_of({1})->address, 128U);
  EXPECT_EQ(live.bind(128, {1}, holder(12)), LiveBlocks::Bound::already_bound);
  EXPECT_EQ(live.bind(999, {1}, holder(12)), LiveBlocks::Bound::unknown_block);
  EXPECT_EQ(live.block_of({1}), nullptr) << "it left for memory nobody knows";
}

TEST(LiveBlocks, KeepsTheHolderOfThePastPeakWhenTheBlockIsHandedOn) {
  LiveBlocks live;
  live.add(block(64, 100));
  live.bind(64, {1}, holder(10));
  live.amend_holder(64, holder(10));
  live.add(block(128, 50));
  live.update_peaks(2, 20);
  live.bind(64, {2}, holder(20));
  live.leave({1});
  live.remove(128);
  const std::vector<LiveBlock> set = live.peak_set(Measure::capacity);
  ASSERT_EQ(addresses_of(set), (std::vector<std::uint64_t>{64, 128}));
  EXPECT_EQ(set[0].holder, holder(10));
  EXPECT_EQ(live.find(64)->holder, holder(20));
}

TEST(LiveBlocks, LabelsABlockForItsWholeLifeAlsoAtAPastPeak) {
  LiveBlocks live;
  live.add(block(64, 100));
  live.bind(64, {1}, holder(10));
  live.amend_holder(64, holder(10));
  live.update_peaks(1, 1);
  live.bind(64, {2}, holder(20));
  live.leave({1});
  live.set_label(64, {7});
  EXPECT_EQ(live.peak_set(Measure::requested).at(0).holder, holder(10, 7));
  EXPECT_EQ(live.find(64)->holder, holder(20, 7));
  EXPECT_EQ(live.set_label(4711, {7}), nullptr);
}

TEST(LiveBlocks, ForgetsIdsOfLiveAndDepartedBlocksAndOfSharersToCome) {
  LiveBlocks live;
  live.add(block(64, 100, holder(5)));
  live.add(block(128, 100, holder(6)));
  live.bind(64, {1}, holder(10));
  live.bind(64, {2}, holder(20));
  live.update_peaks(2, 2);
  live.remove(128);
  live.forget_ids();
  live.leave({1});
  for (const LiveBlock& b : live.peak_set(Measure::capacity)) {
    EXPECT_EQ(b.holder.traceback, TracebackId{});
    EXPECT_EQ(b.holder.op, OpId{});
  }
  EXPECT_EQ(live.find(64)->holder.traceback, TracebackId{});
}

TEST(LiveBlocks, BindsByThePlaceOfABlockOnlyWhileThatBlockIsThere) {
  LiveBlocks live;
  const LiveBlocks::Place place = live.place_of(live.open(64, 100, 90));
  live.add(block(128, 50));
  EXPECT_EQ(live.try_bind(64, {1}, holder(10), place).block, live.find(64));
  EXPECT_EQ(live.try_bind(128, {2}, holder(20), place).block, live.find(128)) << "another's place";
  live.remove(64);
  EXPECT_EQ(live.try_bind(64, {3}, holder(30), place).bound, LiveBlocks::Bound::unknown_block);
  EXPECT_EQ(live.place_of(live.open(64, 10, 10)), place) << "kept for the next at this address";
  EXPECT_EQ(live.try_bind(64, {4}, holder(40), place).bound, LiveBlocks::Bound::first_sharer);
  EXPECT_EQ(live.try_bind(128, {5}, holder(50), 4711).bound, LiveBlocks::Bound::further_sharer);
  EXPECT_EQ(live.block_of({5}), live.find(128));
  EXPECT_EQ(live.block_of({1}), nullptr) << "it went with its block";
}

// A window of blocks moves over addresses and arrays that never come back; every hundredth block
// stays, and so does its array.
class MovingWindow {
 public:
  void run(std::uint64_t steps) {
    for (std::uint64_t i = 0; i < steps; ++i, ++at_) {
      live_.add(block(at_ * 64, 10));
      live_.bind(at_ * 64, {at_}, holder(1));
      if (at_ <= kBlocks) continue;
      const std::uint64_t old = at_ - kBlocks;
      ASSERT_TRUE(old % 100 == 0 || live_.remove(old * 64) != nullptr);
    }
  }
  void expect_equal() const {
    std::vector<std::uint64_t> expected;
    for (std::uint64_t i = 1; i < at_; ++i) {
      const bool stays = i % 100 == 0 || i + kBlocks >= at_;
      if (stays) expected.push_back(i * 64);
      const LiveBlock* of_array = live_.block_of({i});
      ASSERT_EQ(of_array != nullptr, stays) << i;
      ASSERT_EQ(of_array, live_.find(i * 64)) << i;
    }
    EXPECT_EQ(addresses_of(live_.blocks()), expected);
    EXPECT_EQ(live_.count(), expected.size());
    EXPECT_EQ(live_.active(Measure::capacity), expected.size() * 10);
  }
  std::uint64_t memory_bytes() const { return live_.memory_bytes(); }

 private:
  static constexpr std::uint64_t kBlocks = 40;

  LiveBlocks live_;
  std::uint64_t at_ = 1;
};

TEST(LiveBlocks, ForgetsAddressesAndArraysThatDoNotComeBack) {
  MovingWindow window;
  for (int i = 0; i < 5; ++i) {
    window.run(2'000);
    window.expect_equal();
  }
  const std::uint64_t before = window.memory_bytes();
  window.run(20'000);
  EXPECT_EQ(window.memory_bytes(), before);
  window.expect_equal();
}

TEST(LiveBlocks, ReusesItsOwnMemoryOverManyLives) {
  LiveBlocks live;
  const auto run = [&](int lives) {
    for (int i = 0; i < lives; ++i) {
      const auto address = static_cast<std::uint64_t>(i % 50 + 1) * 64;
      live.add(block(address, 10));
      live.update_peaks(1, 1);
      live.bind(address, {address}, holder(1));
      if (i % 3 == 0) live.leave({address});
      live.remove(address);
    }
  };
  run(1'000);
  const std::uint64_t before = live.memory_bytes();
  run(100'000);
  EXPECT_EQ(live.memory_bytes(), before);
  EXPECT_EQ(live.count(), 0U);
  EXPECT_EQ(live.active(Measure::capacity), 0U);
}

}  // namespace
}  // namespace strandline::record
