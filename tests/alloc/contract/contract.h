// SPDX-License-Identifier: Apache-2.0
// The fixture of the allocator contract suite (contract_*_test.cpp). A subject is an allocator on a
// device: a name, how the device is made, how the allocator is. A new allocator adds its subjects
// to subjects_test.cpp and passes everything unchanged; what its device's Facts deny is skipped.
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "strandline/alloc/allocator.h"
#include "strandline/core/error.h"
#include "strandline/device/host.h"
#include "strandline/device/sim/machine.h"
#include "strandline/record/recorder.h"

namespace strandline::alloc {

/// What an allocator obtains from the device, gives back to it and keeps: what its limits count.
enum class Grain : std::uint8_t {
  buffers,   ///< one for each request but the smallest
  segments,  ///< larger ones, cut into blocks; segment_limits_test.cpp has the limits' tests
};

struct Subject {
  std::string name;
  std::function<std::unique_ptr<Allocator>(device::Device&)> make;
  std::optional<sim::MachineOptions> machine{};  ///< a simulated device; without: the host
  Grain grain = Grain::buffers;
};

inline void PrintTo(const Subject& subject, std::ostream* out) {
  *out << subject.name;
}

std::vector<Subject> all_subjects();
inline std::string subject_name(const testing::TestParamInfo<Subject>& info) {
  return info.param.name;
}

/// A device and an allocator on it. The recorder is as good as new before and after.
class Bench {
 public:
  explicit Bench(const Subject& subject) : subject_(subject) {
    if (subject.machine) {
      machine_ = std::make_unique<sim::Machine>(*subject.machine);
    } else {
      host_ = device::make_host_device();
    }
    free_at_start_ = machine_ ? device().memory().info().free_bytes : 0;
    allocator_ = subject.make(device());
  }
  ~Bench() {
    allocator_.reset();
    // Nothing is lost to the device: the simulation can tell.
    if (machine_ == nullptr) return;
    machine_->clear_faults();
    EXPECT_EQ(device().memory().info().free_bytes, free_at_start_) << subject_.name;
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  device::Device& device() { return machine_ ? machine_->device() : *host_; }
  sim::Machine* machine() { return machine_.get(); }
  Allocator& allocator() { return *allocator_; }
  /// The allocator ends, the device stays.
  void end_allocator() { allocator_.reset(); }

 private:
  Subject subject_;
  std::unique_ptr<sim::Machine> machine_;
  std::unique_ptr<device::Device> host_;
  std::uint64_t free_at_start_ = 0;
  std::unique_ptr<Allocator> allocator_;
};

inline void reset_recorder() {
  record::Recorder& recorder = record::recorder();
  recorder.stop();
  for (const record::LiveBlock& block : recorder.cut(record::Recorder::Events::none).live) {
    recorder.note_free({.address = block.address});
  }
  recorder.clear_history(record::Recorder::ClearTables::yes);
  recorder.reset_peak();
}

class AllocatorContract : public testing::TestWithParam<Subject> {
 protected:
  ~AllocatorContract() override {
    if (has_allocator_) {
      EXPECT_NO_THROW(allocator().validate());
    }
  }

  Allocator& allocator() { return bench_.allocator(); }
  device::Device& device() { return bench_.device(); }
  device::Streams& streams() { return device().streams(); }
  const device::Facts& facts() { return device().facts(); }
  sim::Machine* machine() { return bench_.machine(); }
  void end_allocator() {
    has_allocator_ = false;
    bench_.end_allocator();
  }

  std::uint64_t page() { return facts().allocation_granularity; }
  Statistics now() { return allocator().statistics(); }
  /// Whether its limits and its cache are of whole buffers, as most of these tests have it.
  static bool keeps_buffers() { return GetParam().grain == Grain::buffers; }
  static std::uint8_t* bytes_of(Buffer buffer) {
    return static_cast<std::uint8_t*>(buffer.raw_ptr());
  }
  bool host_reads() {
    const Buffer probe = allocator().malloc(1);
    bool reads = true;
    try {
      (void)probe.raw_ptr();
    } catch (const InvalidArgument&) {
      reads = false;
    }
    allocator().free(probe);
    return reads;
  }

  /// The exception of type E that `call` throws; a failure and an empty message when it does not.
  template <typename E, typename Call>
  static std::optional<E> error_of(Call&& call) {
    try {
      call();
    } catch (const E& error) {
      return error;
    } catch (const std::exception& error) {
      ADD_FAILURE() << "another exception: " << error.what();
      return std::nullopt;
    }
    ADD_FAILURE() << "no exception";
    return std::nullopt;
  }
  template <typename E, typename Call>
  static std::string message_of(Call&& call) {
    const std::optional<E> error = error_of<E>(std::forward<Call>(call));
    return error ? error->what() : "";
  }

  void free_all(std::vector<Buffer>& buffers) {
    for (const Buffer buffer : buffers) allocator().free(buffer);
    buffers.clear();
  }

 private:
  Bench bench_{GetParam()};
  bool has_allocator_ = true;
};

}  // namespace strandline::alloc
