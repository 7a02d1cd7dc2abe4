// SPDX-License-Identifier: Apache-2.0
// Random programs for allocators: made from a seed, run against a naive model (a map of what is
// out), and shrunk when they fail. The model knows nothing of caches or heaps: only that memory
// that is out does not overlap, holds what was written to it, and adds up.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "alloc/contract/contract.h"

namespace strandline::alloc {

enum class OpKind : std::uint8_t {
  malloc,
  free,
  empty_cache,
  cache_limit,
  memory_limit,
  buffer_limit,
  wired_limit,
  fault,
};

struct Op {
  OpKind kind = OpKind::malloc;
  std::uint64_t value = 0;   ///< bytes; of a free: which; of a fault: n
  std::uint64_t choice = 0;  ///< alignment and stream; rule; kind of call
};

using Program = std::vector<Op>;

inline Program random_program(std::uint64_t seed, std::size_t length) {
  std::mt19937_64 random(seed);
  Program program;
  program.reserve(length);
  for (std::size_t i = 0; i < length; ++i) {
    const std::uint64_t dice = random() % 1000;
    Op op{
        .kind = dice < 520 ? OpKind::malloc : OpKind::free, .value = random(), .choice = random()};
    if (dice >= 985) op.kind = static_cast<OpKind>(2 + dice % 6);
    if (op.kind == OpKind::malloc) {
      // Sizes spread evenly over powers of two up to 4 MiB, often the same again.
      const std::uint64_t top = std::uint64_t{1} << (op.value % 23);
      op.value = op.choice % 3 == 0 ? top : (op.value >> 8) % (2 * top);
    }
    program.push_back(op);
  }
  return program;
}

inline std::string text_of(const Program& program) {
  constexpr std::array<const char*, 8> kNames = {"malloc",      "free",         "empty_cache",
                                                 "cache_limit", "memory_limit", "buffer_limit",
                                                 "wired_limit", "fault"};
  std::string text;
  for (const Op& op : program) {
    text +=
        fmt::format("  {} {} {}\n", kNames[static_cast<std::size_t>(op.kind)], op.value, op.choice);
  }
  return text;
}

/// Runs programs one after another on one allocator. What breaks is thrown as std::string.
class ModelRun {
 public:
  explicit ModelRun(const Subject& subject) : bench_(subject), start_(allocator().limits()) {
    for (int i = 0; i < 3; ++i) streams_.push_back(bench_.device().streams().create());
  }

  /// What broke, if anything did.
  std::optional<std::string> run(const Program& program) {
    try {
      for (std::size_t i = 0; i < program.size(); ++i) {
        step(program[i]);
        if (i % 64 == 0) allocator().validate();
      }
      finish();
    } catch (const std::string& broken) {
      return broken;
    } catch (const std::exception& unexpected) {
      return unexpected.what();
    }
    return std::nullopt;
  }

 private:
  struct Out {
    Buffer buffer;
    std::uint64_t size = 0;
    std::uint64_t stamp = 0;
  };

  Allocator& allocator() { return bench_.allocator(); }

  static void require(bool holds, const char* what) {
    if (!holds) throw std::string(what);
  }

  void step(const Op& op) {
    switch (op.kind) {
      case OpKind::malloc:
        return do_malloc(op);
      case OpKind::free:
        if (!out_.empty()) do_free(op.value);
        break;
      case OpKind::empty_cache:
        (void)allocator().empty_cache();
        break;
      case OpKind::cache_limit:
        (void)allocator().set_cache_limit(op.value % (8 << 20));
        break;
      case OpKind::memory_limit:
        can_fail_ = op.choice % 2 == 0;
        (void)allocator().set_memory_limit(op.value % (64 << 20),
                                           can_fail_ ? LimitRule::hard : LimitRule::guideline);
        break;
      case OpKind::buffer_limit:
        is_capped_ = op.choice % 2 == 0;
        (void)allocator().set_buffer_limit(is_capped_ ? op.value % 64 : 499'000);
        break;
      case OpKind::wired_limit:
        (void)allocator().set_wired_limit(
            op.value %
            std::min<std::uint64_t>(8 << 20, bench_.device().facts().working_set_bytes + 1));
        break;
      case OpKind::fault:
        add_fault(op);
        break;
    }
  }

  void add_fault(const Op& op) {
    if (bench_.machine() == nullptr) return;
    using device::Call;
    constexpr std::array<Call, 5> kCalls = {Call::allocate, Call::deallocate, Call::make_resident,
                                            Call::end_residency, Call::allocate};
    const std::uint64_t which = op.choice % kCalls.size();
    bench_.machine()->add_fault(
        {.call = kCalls[which],
         .nth = op.value % 4 + 1,
         .error = which == 4 ? sim::FaultError::device_error : sim::FaultError::fitting});
    has_faults_ = true;
  }

  void do_malloc(const Op& op) {
    const MallocOptions options{
        .alignment = op.choice % 8 == 0 ? std::uint64_t{1} << (op.choice / 8 % 15) : 0,
        .stream = op.choice % 4 == 0 ? streams_[op.choice / 64 % streams_.size()] : StreamId{}};
    Buffer buffer;
    try {
      buffer = allocator().malloc(op.value, options);
    } catch (const OutOfMemory&) {
      require(can_fail_ || is_capped_ || has_faults_, "out of memory without a reason");
      allocator().validate();
      return;
    } catch (const DeviceError&) {
      require(has_faults_, "a device error without a fault");
      allocator().validate();
      return;
    }
    if (op.value == 0) return require(!buffer, "memory for no bytes");
    const std::uint64_t size = allocator().size(buffer);
    require(size >= op.value, "less than was asked for");
    if (options.alignment != 0) {
      require(buffer.address() % options.alignment == 0, "not aligned as asked");
    }
    const auto after = out_.lower_bound(buffer.address());
    if (after != out_.end()) require(buffer.address() + size <= after->first, "overlap");
    if (after != out_.begin()) {
      require(std::prev(after)->first + std::prev(after)->second.size <= buffer.address(),
              "overlap");
    }
    const Out out{buffer, size, ++stamps_};
    stamp(out);
    out_.emplace(buffer.address(), out);
    active_ += size;
    require(allocator().active_bytes() == active_, "active is not what is out");
  }

  void do_free(std::uint64_t which) {
    auto chosen = out_.lower_bound(out_.begin()->first +
                                   which % (out_.rbegin()->first - out_.begin()->first + 1));
    const Out out = chosen->second;
    out_.erase(chosen);
    require(is_stamped(out), "bytes of a buffer that was out have changed");
    active_ -= out.size;
    require(allocator().try_free(out.buffer) == device::FreeStatus::freed, "a free was refused");
    require(allocator().active_bytes() == active_, "active is not what is out");
  }

  void finish() {
    if (bench_.machine() != nullptr) bench_.machine()->clear_faults();
    has_faults_ = can_fail_ = is_capped_ = false;
    (void)allocator().set_memory_limit(start_.memory.bytes);
    (void)allocator().set_buffer_limit(start_.buffers);
    while (!out_.empty()) do_free(0);
    (void)allocator().empty_cache();
    (void)allocator().set_cache_limit(start_.cache_bytes);
    (void)allocator().set_wired_limit(0);
    allocator().validate();
    require(allocator().statistics().reserved_bytes == 0, "something is lost");
  }

  // The first and the last eight bytes that were certainly asked for.
  static void stamp(const Out& out) {
    auto* bytes = static_cast<std::byte*>(out.buffer.ptr());
    std::memcpy(bytes, &out.stamp, sizeof(out.stamp));
    std::memcpy(bytes + out.size - sizeof(out.stamp), &out.stamp, sizeof(out.stamp));
  }
  static bool is_stamped(const Out& out) {
    const auto* bytes = static_cast<const std::byte*>(out.buffer.ptr());
    return std::memcmp(bytes, &out.stamp, sizeof(out.stamp)) == 0 &&
           std::memcmp(bytes + out.size - sizeof(out.stamp), &out.stamp, sizeof(out.stamp)) == 0;
  }

  Bench bench_;
  Limits start_;
  std::vector<StreamId> streams_;
  std::map<device::Address, Out> out_;
  std::uint64_t active_ = 0;
  std::uint64_t stamps_ = 0;
  bool can_fail_ = false;
  bool is_capped_ = false;
  bool has_faults_ = false;
};

/// The shortest program found that still breaks a fresh allocator, by leaving out ever smaller
/// parts.
inline Program shrink(const Subject& subject, Program program) {
  for (std::size_t part = program.size() / 2; part > 0; part /= 2) {
    for (std::size_t at = 0; at + part <= program.size();) {
      Program less = program;
      less.erase(less.begin() + static_cast<std::ptrdiff_t>(at),
                 less.begin() + static_cast<std::ptrdiff_t>(at + part));
      if (ModelRun(subject).run(less)) {
        program = std::move(less);
      } else {
        at += part;
      }
    }
  }
  return program;
}

}  // namespace strandline::alloc
