// SPDX-License-Identifier: Apache-2.0
// Random programs over allocators, streams and faults, beside the model of random/model.h. A
// failure prints its seed and the shortest list of operations that still fails.
//
//   STRANDLINE_RANDOM_OPERATIONS   how many in all: 10^6, with STRANDLINE_FULL=1 10^8
//   STRANDLINE_RANDOM_SEED         the first seed; every program has the next one
//
//   STRANDLINE_RANDOM_OPERATIONS=1000000000 strandline_alloc_tests --gtest_filter='*Random*'
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "alloc/random/quiet.h"
#include "alloc/random/report.h"
#include "alloc/random/world.h"

namespace strandline::alloc::random {
namespace {

constexpr std::size_t kProgramLength = 16'384;

/// A subject of the contract suite, and what its programs are like.
struct Case {
  Subject subject;
  Mix mix;
};

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.subject.name;
}

// Every subject as it is; those on the simulation also on a device so small that programs meet its
// end, with many faults and work that runs in another order.
std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Subject& subject : all_subjects()) {
    if (subject.grain != Grain::buffers) continue;  // its model is another
    cases.push_back({subject, {}});
    if (!subject.machine) continue;
    Subject tight = subject;
    tight.name += "_tight";
    tight.machine->devices = {{.capacity_bytes = 24 << 20, .max_buffers = 160}};
    tight.machine->interleaving = sim::Interleaving::seeded;
    cases.push_back(
        {tight, {.largest_bytes = 4 << 20, .faults_in_10000 = 200, .limits_in_10000 = 100}});
  }
  for (Case& one : cases) {
    if (one.subject.machine) one.subject.machine->poisoned_bytes_kept = 1 << 20;
  }
  return cases;
}

std::optional<Failure> run(const Subject& subject, std::span<const Operation> program) {
  [[maybe_unused]] const Quiet quiet;
  World world(subject);
  return world.run(program);
}

class RandomPrograms : public testing::TestWithParam<Case> {};

TEST_P(RandomPrograms, lose_no_byte_and_share_none) {
  const auto& [subject, mix] = GetParam();
  const std::uint64_t share = operations_in_all(1'000'000, 100'000'000) / all_cases().size() + 1;
  const std::uint64_t first = number_from("STRANDLINE_RANDOM_SEED", 1);
  for (std::uint64_t done = 0, seed = first; done < share; done += kProgramLength, ++seed) {
    const std::vector<Operation> program = Generator(seed, mix).program(kProgramLength);
    const std::optional<Failure> failure = run(subject, program);
    ASSERT_FALSE(failure) << report(
        subject.name, seed, *failure, program,
        [&](std::span<const Operation> part) { return run(subject, part); });
  }
}

INSTANTIATE_TEST_SUITE_P(Random, RandomPrograms, testing::ValuesIn(all_cases()),
                         [](const auto& one) { return one.param.subject.name; });

TEST(RandomTest, sees_a_block_that_is_not_the_programs) {
  Subject subject = all_subjects().front();
  subject.make = [make = subject.make](device::Device& device) {
    std::unique_ptr<Allocator> allocator = make(device);
    (void)allocator->malloc(64);  // nobody will free it
    return allocator;
  };
  const std::vector<Operation> program = Generator(1, {}).program(256);
  const std::optional<Failure> failure = run(subject, program);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->step, 63u) << failure->what;
}

TEST(RandomTest, shrinks_to_what_the_failure_needs) {
  std::vector<int> list;
  for (int i = 0; i < 1000; ++i) list.push_back(i);
  const auto fails = [](const std::vector<int>& part) {
    const auto first = std::ranges::find(part, 313);
    return std::find(first, part.end(), 717) != part.end() && std::ranges::count(part, 400) == 1;
  };
  EXPECT_EQ(shrink(list, fails), (std::vector<int>{313, 400, 717}));
}

// Threads on one allocator: ranges handed out at once never meet, and keep their bytes.
class Crowd {
 public:
  explicit Crowd(Allocator& allocator) : allocator_(allocator) {}

  void run(std::uint64_t threads, int steps) {
    std::vector<std::thread> crowd;
    for (std::uint64_t seed = 1; seed <= threads; ++seed) {
      crowd.emplace_back([this, seed, steps] { live(seed, steps); });
    }
    for (std::thread& thread : crowd) thread.join();
    EXPECT_EQ(wrong_, "");
    allocator_.validate();
    EXPECT_EQ(allocator_.statistics().allocated_bytes, 0u);
    EXPECT_EQ(allocator_.statistics().refused_frees, 0u);
    EXPECT_EQ(allocator_.statistics().mallocs, allocator_.statistics().frees);
  }

 private:
  void live(std::uint64_t seed, int steps) {
    std::mt19937_64 random(seed);
    std::vector<Block> slots(32);
    try {
      for (int step = 0; step < steps; ++step) {
        Block& slot = slots[random() % slots.size()];
        if (Model::holds(slot)) {
          leave(slot);
        } else {
          enter(slot, random() % (random() % 4 == 0 ? 100'000 : 400) + 1, random());
        }
        if (random() % 512 == 0) allocator_.set_cache_limit(random() % (1 << 20));
        if (random() % 512 == 0) allocator_.empty_cache();
      }
      for (Block& slot : slots) leave(slot);
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      wrong_ = fmt::format("seed {}: {}", seed, error.what());
    }
  }
  void enter(Block& slot, std::uint64_t bytes, std::uint64_t stamp) {
    slot.buffer = allocator_.malloc(bytes);
    slot.requested = bytes;
    slot.size = allocator_.size(slot.buffer);
    write_stamp(slot, stamp, slot.buffer.ptr());
    const std::lock_guard lock(mutex_);
    model_.add(copy_, slot);
  }
  void leave(Block& slot) {
    if (!Model::holds(slot)) return;
    check_bytes(slot, slot.buffer.ptr());
    {
      const std::lock_guard lock(mutex_);
      copy_ = slot;
      model_.remove(copy_);
    }
    allocator_.free(slot.buffer);
    slot = {};
  }

  Allocator& allocator_;
  std::mutex mutex_;
  Model model_;
  Block copy_;
  std::string wrong_;
};

TEST(RandomTest, keeps_threads_apart) {
  for (const Subject& subject : all_subjects()) {
    if (subject.grain != Grain::buffers) continue;  // its model is another
    SCOPED_TRACE(subject.name);
    const std::unique_ptr<device::Device> device =
        subject.machine ? sim::make_device(*subject.machine) : device::make_host_device();
    const std::unique_ptr<Allocator> allocator = subject.make(*device);
    Crowd(*allocator).run(4, 4'000);
  }
}

}  // namespace
}  // namespace strandline::alloc::random
