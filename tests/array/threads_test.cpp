// SPDX-License-Identifier: Apache-2.0
// Several threads and one graph: whoever evaluates first, each operation runs once, everybody has
// the right values, and nobody waits for a lock that the waited-for needs.
#include <atomic>
#include <mutex>
#include <random>
#include <sstream>
#include <thread>

#include "strandline/array/graph.h"
#include "strandline/array/graph_lock.h"
#include "strandline/array/transforms.h"
#include "support.h"

namespace strandline::array {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

using Numbers = std::vector<std::int32_t>;

// A door that opens once.
class Gate {
 public:
  void open() {
    is_open_.store(true, std::memory_order_release);
    is_open_.notify_all();
  }
  void pass() const { is_open_.wait(false, std::memory_order_acquire); }

 private:
  std::atomic<bool> is_open_{false};
};

// Arrays that share parts, with the values they should have.
struct Shared {
  std::vector<Array> arrays;
  std::vector<Numbers> expected;

  explicit Shared(std::mt19937& random) {
    for (std::int32_t i = 0; i < 3; ++i) {
      const std::int32_t values[] = {i, 2 * i + 1, 3 - i, 5};
      add(Array(values, {4}, Dtype::int32), Numbers(values, values + 4));
    }
    while (arrays.size() < 40) grow(random);
  }

 private:
  void add(Array array, Numbers numbers) {
    arrays.push_back(std::move(array));
    expected.push_back(std::move(numbers));
  }

  void grow(std::mt19937& random) {
    const std::size_t i = random() % arrays.size();
    const std::size_t j = random() % arrays.size();
    const Array a = arrays[i];
    const Array b = arrays[j];
    const Numbers x = expected[i];
    const Numbers y = expected[j];
    Numbers z(4);
    switch (random() % 4) {
      case 0:
        for (std::size_t k = 0; k < 4; ++k) z[k] = (x[k] + y[k]) % 1000;
        return add(remainder(a + b, Array(1000)), z);
      case 1:
        for (std::size_t k = 0; k < 4; ++k) z[k] = std::max(x[k], y[k]);
        return add(maximum(a, b), z);
      case 2:
        return add(reshape(transpose(reshape(a, {2, 2})), {4}), {x[0], x[2], x[1], x[3]});
      default: {
        const std::vector<Array> halves = split(a, 2);
        add(concatenate({halves[1], halves[0]}), {x[2], x[3], x[0], x[1]});
        return add(concatenate({halves[0], halves[0]}), {x[0], x[1], x[0], x[1]});
      }
    }
  }
};

// One thread's use of shared arrays, in an order of its own. Its copies go one after another.
class User {
 public:
  User(const Shared& shared, std::uint64_t seed)
      : random_(seed), arrays_(shared.arrays), expected_(shared.expected) {}

  void run() {
    while (!arrays_.empty()) {
      const std::size_t i = random_() % arrays_.size();
      act(arrays_[i], arrays_[random_() % arrays_.size()]);
      check(arrays_[i], expected_[i]);
      const auto at = static_cast<std::ptrdiff_t>(i);
      arrays_.erase(arrays_.begin() + at);
      expected_.erase(expected_.begin() + at);
    }
  }

  std::uint64_t wrong = 0;

 private:
  void check(const Array& array, const Numbers& expected) {
    if (array.values<std::int32_t>() != expected) ++wrong;
  }

  void act(const Array& one, const Array& other) {
    std::ostringstream text;
    switch (random_() % 8) {
      case 0:
        return eval({one, other});
      case 1:
        return async_eval({one, other});
      case 2:
        return export_to_dot(text, {}, {one, other});
      case 3:
        (void)plan_evaluation({one, other});
        (void)outputs_of(one);
        (void)siblings_of(other);
        return;
      case 4:
        if (one.is_available() && one.status() != Status::available) ++wrong;
        (void)buffer_address_of(other);
        (void)device_of(one);
        return;
      case 5:
        return differentiate(one);
      case 6:
        if ((one + one).values<std::int32_t>()[3] != 2 * one.values<std::int32_t>()[3]) ++wrong;
        return;
      default:
        (void)(one + other);  // built, and dropped unevaluated
        return;
    }
  }

  void differentiate(const Array& at) {
    const auto loss = [&](const std::vector<Array>& x) {
      return std::vector<Array>{sum(square(x[0]))};
    };
    const auto [value, gradients] = value_and_grad(loss, {astype(at, Dtype::float32)}, {0});
    if (gradients[0].values<float>()[1] != 2.0F * at.values<float>()[1]) ++wrong;
  }

  std::mt19937_64 random_;
  std::vector<Array> arrays_;
  std::vector<Numbers> expected_;
};

void use_from_threads(std::uint64_t seed, const Device& device) {
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  std::vector<User> users;
  {
    const DeviceScope on(device);
    const Shared shared(random);
    for (std::uint64_t i = 0; i < 4; ++i) users.emplace_back(shared, seed * 10 + i);
  }  // the users' copies are the last ones: their buffers may be donated
  std::vector<std::thread> threads;
  Gate start;
  for (User& user : users) {
    threads.emplace_back([&] {
      const DeviceScope on(device);
      start.pass();
      user.run();
    });
  }
  start.open();
  for (std::thread& thread : threads) thread.join();
  for (const User& user : users) EXPECT_EQ(user.wrong, 0U) << "seed " << seed;
}

TEST(Threads, MayAllUseOneGraphOnTheHost) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) use_from_threads(seed, Device::host());
}

TEST(Threads, MayAllUseOneGraphOnTheSimulation) {
  const EvalLimits before = set_eval_limits({.max_width = 20, .max_queued_tasks = 3});
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Simulated simulated({.interleaving = sim::Interleaving::seeded, .seed = seed});
    use_from_threads(seed, simulated.device);
    for (const sim::Finding& finding : simulated.machine->findings()) {
      ADD_FAILURE() << "seed " << seed << ": " << sim::describe(finding);
    }
    EXPECT_EQ(simulated.allocator->statistics().allocated_count, 0U);
    EXPECT_EQ(simulated.device.queued_tasks(), 0U);
  }
  set_eval_limits(before);
}

// -- each case on purpose -------------------------------------------------------------------------

TEST(Threads, ThatBuildReadAndDropTakeNoLock) {
  const Array made({1.0F, 2.0F});
  const GraphGuard graph_is_mine;
  std::thread([&] {
    Array x = made;
    for (int i = 0; i < 10; ++i) x = concatenate({x, x}) + split(concatenate({x, x, x, x}), 2)[1];
    EXPECT_EQ(x.status(), Status::unscheduled);
    EXPECT_TRUE(made.is_available());
    EXPECT_EQ(made.values<float>()[1], 2.0F);
  }).join();
}

TEST(Threads, WaitForACallThatAnotherIsEncoding) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  Gate is_encoding;
  std::atomic<int> encoded = 0;
  const Array x = scripted(ones({4}), [&](const auto& in, auto& out, Encoder& encoder) {
    ++encoded;
    encoder.share(in[0], out[0], in[0].descriptor().strides);
    const BlockingScope blocking;  // as one does that waits for its device
    is_encoding.open();
    std::this_thread::yield();
  });
  const Array y = x + x;
  std::thread other([&] {
    const DeviceScope there(simulated.device);
    is_encoding.pass();
    EXPECT_THAT((x * Array(3.0F)).values<float>(), ElementsAre(3, 3, 3, 3));
  });
  eval({y});
  other.join();
  EXPECT_EQ(encoded, 1);
  EXPECT_THAT(y.values<float>(), ElementsAre(2, 2, 2, 2));
}

// While one waits for the device, another evaluates the rest of its graph, on a further stream too.
TEST(Threads, EvaluateWhatOneThatWaitsHasOnItsTape) {
  Simulated simulated({.interleaving = sim::Interleaving::newest_first});
  const DeviceScope on(simulated.device);
  const Stream further = new_stream(simulated.device);
  const EvalLimits before = set_eval_limits({.max_width = 20, .max_queued_tasks = 1});
  const Array first = ones({4}) + Array(1.0F);
  std::vector<Array> derived;
  const Array gap = scripted(first, [&](const auto& in, auto& out, Encoder& encoder) {
    encoder.allocate(out[0]);
    const Operand from = encoder.read(in[0]);
    const Operand to = encoder.write(out[0]);
    encoder.run([&, from, to] {  // runs where the evaluating thread waits
      std::copy_n(from.at, 16, to.at);
      std::thread([&] {
        set_eval_limits({.max_width = 20, .max_queued_tasks = 100});
        const StreamScope there(further);
        derived.push_back(first * Array(5.0F));
        derived.push_back(Array(1.0F));
        async_eval(derived);
      }).join();
    });
  });
  const Array second = gap + Array(1.0F);
  const Array third = second * second;
  eval({third});
  set_eval_limits(before);
  EXPECT_THAT(third.values<float>(), ElementsAre(9, 9, 9, 9));
  ASSERT_EQ(derived.size(), 2U);
  EXPECT_THAT(derived[0].values<float>(), ElementsAre(10, 10, 10, 10));
  for (const sim::Finding& finding : simulated.machine->findings()) {
    ADD_FAILURE() << sim::describe(finding);
  }
}

TEST(Threads, EachOperationIsQueuedOnceHoweverManyEvaluateIt) {
  for (int round = 0; round < 20; ++round) {
    Simulated simulated;
    const DeviceScope on(simulated.device);
    Array x = ones({8}) + Array(0.0F);
    eval({x});
    for (int i = 0; i < 30; ++i) x = x + x * Array(0.0F);
    const auto before = simulated.port->counts().of(device::Call::enqueue);
    std::vector<std::thread> threads;
    threads.reserve(3);
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { eval({x}); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(simulated.port->counts().of(device::Call::enqueue), before + 60);
    EXPECT_EQ(x.values<float>()[7], 1.0F);
  }
}

// B-39
TEST(Threads, OneOfThoseThatWaitIsToldWhyWorkFailed) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  const Array bad = failing(ones({4}));
  async_eval({bad});
  std::atomic<int> told = 0;
  std::atomic<int> refused = 0;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      try {
        bad.wait();
      } catch (const DeviceError& error) {
        const std::string_view what = error.what();
        told += what.find("the kernel failed") != std::string_view::npos ? 1 : 0;
        refused += what.find("whose work failed") != std::string_view::npos ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(told, 1);
  EXPECT_EQ(refused, 3);
}

TEST(GraphLock, IsReentrantForPrimitivesAndDeletersThatEvaluate) {
  Simulated simulated;
  const DeviceScope on(simulated.device);
  const Array inner = ones({4}) + Array(6.0F);
  const Array outer = scripted(ones({4}), [&](const auto&, auto& out, Encoder& encoder) {
    eval({inner});
    encoder.share(inner, out[0], inner.descriptor().strides);
  });
  EXPECT_THAT((outer + Array(1.0F)).values<float>(), ElementsAre(8, 8, 8, 8));

  alignas(4096) static float page[1024] = {};
  float seen = 0;
  Array wrapped = Array::wrap(
      page, {1024}, Dtype::float32,
      [&](void*) {
        const DeviceScope there(simulated.device);
        seen = (inner * Array(2.0F)).values<float>()[0];
      },
      Device::host());
  {
    const DeviceScope host(Device::host());
    const Array view = reshape(wrapped, {32, 32});
    wrapped = Array(0.0F);
    eval({slice(view, {0, 0}, {0, 0}, {1, 1})});
  }
  EXPECT_EQ(seen, 14.0F);
}

TEST(GraphLock, APrimitiveThatEvaluatesItsOwnOutputIsRefused) {
  std::vector<Array> own;
  own.push_back(scripted(ones({4}), [&](const auto&, auto&, Encoder&) { eval(own); }));
  EXPECT_THAT([&] { eval(own); }, ThrowsMessage<InvalidArgument>(HasSubstr("within it")));
  EXPECT_EQ(own[0].status(), Status::unscheduled);
}

// A lock as an interpreter's: each thread of it holds it but where it blocks, and work needs it.
std::mutex g_interpreter;
thread_local bool t_has_interpreter = false;

void lock_interpreter() {
  g_interpreter.lock();
  t_has_interpreter = true;
}
void unlock_interpreter() {
  t_has_interpreter = false;
  g_interpreter.unlock();
}

TEST(GraphLock, IsNotWaitedForWithTheLockOfAnInterpreter) {
  set_blocking_hook({.let_go = []() noexcept -> void* {
                       if (!t_has_interpreter) return nullptr;
                       unlock_interpreter();
                       return &g_interpreter;
                     },
                     .take_back = [](void*) noexcept { lock_interpreter(); }});
  const Array x = ones({4}) + Array(1.0F);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        lock_interpreter();
        const Array y = scripted(x, [&](const auto& in, auto& out, Encoder& encoder) {
          encoder.share(in[0], out[0], in[0].descriptor().strides);
          if (t_has_interpreter) return;
          lock_interpreter();  // foreign code under the graph's lock
          unlock_interpreter();
        });
        if (i % 2 == 0) unlock_interpreter();  // as bindings that know that they block do
        eval({y});
        EXPECT_EQ(y.values<float>()[0], 2.0F);
        if (i % 2 != 0) unlock_interpreter();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  set_blocking_hook({});
}

}  // namespace
}  // namespace strandline::array
