// SPDX-License-Identifier: Apache-2.0
// A process that forks while it has a host device: the child's streams work, what was queued is
// done there too, and what a worker was at is told as lost.
#include <atomic>
#include <functional>
#include <future>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strandline/core/error.h"
#include "strandline/device/device.h"
#include "strandline/device/host.h"
#include "strandline/device/streams.h"

namespace strandline::device {
namespace {

constexpr int kRight = 17;  // an exit status that no fault has

// The status of a child that `body` runs in: kRight when it returns true.
int status_of_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a child that waits for a thread it lacks ends
    bool right = false;
    try {
      right = body();
    } catch (...) {
      right = false;
    }
    _exit(right ? kRight : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

class HostFork : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the thread sanitizer refuses threads in a child of several threads";
#endif
  }

  bool counts_on(StreamId stream) {
    std::atomic<int> done = 0;
    streams().enqueue_host_task(stream, "count", [&done] { ++done; });
    streams().wait(stream);
    return done == 1;
  }
  Streams& streams() {
    return device_->streams();
  }

  std::unique_ptr<Device> device_ = make_host_device();
};

TEST_F(HostFork, StreamsThatHaveWorkedWorkInTheChild) {
  const StreamId other = streams().create();
  const StreamId unused = streams().create();
  ASSERT_TRUE(counts_on(streams().default_stream()) && counts_on(other));
  EXPECT_EQ(status_of_child([&] {
              return counts_on(streams().default_stream()) && counts_on(other) && counts_on(unused);
            }),
            kRight);
  EXPECT_TRUE(counts_on(other));
}

TEST_F(HostFork, ADeviceEndsInTheChild) {
  ASSERT_TRUE(counts_on(streams().create()));
  EXPECT_EQ(status_of_child([&] {
              device_ = nullptr;
              return true;
            }),
            kRight);
}

TEST_F(HostFork, WhatRanIsLostToTheChildAndWhatWasQueuedIsNot) {
  const StreamId stream = streams().default_stream();
  const StreamId other = streams().create();
  std::promise<void> started;
  std::promise<void> gate;
  streams().enqueue_host_task(stream, "gate", [&] {
    started.set_value();
    gate.get_future().wait();
  });
  std::atomic<int> after = 0;
  streams().enqueue_host_task(stream, "after", [&after] { ++after; });
  const DeviceEventId event = streams().create_event();
  streams().record(event, stream);
  streams().wait_event(other, event);
  started.get_future().wait();

  EXPECT_EQ(status_of_child([&] {
              std::string message;
              try {
                streams().wait(stream);
              } catch (const DeviceError& error) {
                message = error.what();
              }
              return message.find("a fork of the process while it ran") != std::string::npos &&
                     after == 1 && counts_on(stream) && counts_on(streams().create());
            }),
            kRight);
  gate.set_value();
  streams().wait_all();
  EXPECT_EQ(after, 1);
}

TEST_F(HostFork, AThreadThatWaitsKeepsNobodyInTheChild) {
  const StreamId stream = streams().default_stream();
  std::promise<void> started;
  std::promise<void> gate;
  streams().enqueue_host_task(stream, "gate", [&] {
    started.set_value();
    gate.get_future().wait();
  });
  started.get_future().wait();
  std::thread waiter([&] { streams().wait(stream); });
  const StreamId other = streams().create();
  EXPECT_EQ(status_of_child([&] { return counts_on(other); }), kRight);
  gate.set_value();
  waiter.join();
}

}  // namespace
}  // namespace strandline::device
