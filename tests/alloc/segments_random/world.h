// SPDX-License-Identifier: Apache-2.0
// Runs a program on a SegmentAllocator over the simulation beside the books: every answer is
// checked when it comes, sums after every step, everything every 64th step and after each fault.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "alloc/random/report.h"
#include "alloc/segments_random/audit.h"
#include "alloc/segments_random/device_side.h"
#include "alloc/segments_random/pools.h"
#include "strandline/alloc/settings_scope.h"

namespace strandline::alloc::segments_random {

/// What programs run on.
struct Setting {
  std::string name;
  sim::MachineOptions machine{};
  Decisions decisions = Decisions::ours;
  Mix mix{};
  // What goes wrong on purpose.
  std::function<void(SegmentAllocator&, std::size_t step)> sabotage{};  ///< before each step
  bool tells_uses = true;  ///< the allocator is told of other streams' uses
};

inline void PrintTo(const Setting& setting, std::ostream* out) {
  *out << setting.name;
}

class World {
 public:
  explicit World(const Setting& setting)
      : setting_(setting),
        side_(setting.machine),
        allocator_(std::make_unique<SegmentAllocator>(
            side_.device(), SegmentAllocatorOptions{.decisions = setting.decisions})),
        pools_(*allocator_),
        audit_(*allocator_, books_, side_.order(), side_.streams()),
        limit_(side_.capacity()) {}

  std::optional<random::Failure> run(std::span<const Operation> program) {
    std::size_t step = 0;
    try {
      for (; step < program.size(); ++step) {
        if (setting_.sabotage) setting_.sabotage(*allocator_, step);
        perform(program[step]);
        if (fault_struck_) after_fault();
        audit_.step();
      }
      finish();
    } catch (const std::exception& error) {
      side_.disarm();
      return random::Failure{step, error.what()};
    }
    return std::nullopt;
  }

 private:
  bool is_ours() const { return setting_.decisions == Decisions::ours; }
  random::Block& block_of(const Operation& operation) {
    return books_.model.slots[operation.slot % kSlots];
  }
  Held& held_of(const Operation& operation) { return books_.held[operation.slot % kSlots]; }
  bool is_held(const Operation& operation) { return random::Model::holds(block_of(operation)); }

  void perform(const Operation& operation) {
    switch (operation.kind) {
      case Kind::malloc:
        return malloc(operation);
      case Kind::free:
        return free(operation.slot % kSlots);
      case Kind::use:
        return use(operation);
      case Kind::record:
        return side_.record(operation.stream, operation.extra % kEvents);
      case Kind::wait:
        return side_.wait_event(operation.stream, operation.extra % kEvents);
      case Kind::progress:
        return side_.progress(operation.stream, operation.bytes);
      case Kind::synchronize:
        return operation.extra == 1 ? side_.wait_all() : side_.wait(operation.stream);
      case Kind::poll:
        (void)guarded([&] { allocator_->poll(); });
        return;
      case Kind::misuse:
        return misuse(operation);
      case Kind::fault:
        return side_.arm(operation);
      case Kind::check:
        return check_everything(operation.extra == 0);
      default:
        return set(operation);
    }
  }

  // What only a fault excuses; false when one struck.
  template <typename Call>
  bool guarded(Call&& call) {
    try {
      call();
      return true;
    } catch (const DeviceError&) {
      must(side_.is_armed(), "DeviceError without a fault");
    } catch (const OutOfMemory&) {
      must(side_.is_armed(), "OutOfMemory where nothing was asked for, without a fault");
    }
    fault_struck_ = true;
    return false;
  }

  // Memory.

  void malloc(const Operation& operation) {
    if (is_held(operation)) return;
    const SegmentSettings settings = allocator_->settings();
    const std::int64_t reserved = reserved_now();
    random::Block block{.requested = operation.bytes};
    try {
      block.buffer = allocator_->malloc(
          operation.bytes,
          {.alignment = operation.extra, .stream = side_.streams()[operation.stream]});
    } catch (const OutOfMemory&) {
      return refused(operation, settings);
    } catch (const DeviceError&) {
      must(side_.is_armed(), "malloc threw DeviceError without a fault");
      fault_struck_ = true;
      return;
    }
    must_equal(static_cast<bool>(block.buffer), operation.bytes > 0, "whether malloc gave memory");
    if (operation.bytes == 0) return;
    block.size = allocator_->size(block.buffer);
    Held held{.stream = operation.stream,
              .last_stream = operation.stream,
              .rounded = rounded(settings, setting_.decisions, operation.bytes),
              .pool = pools_.current(),
              .may_be_elsewhere = pools_.may_serve_others()};
    must_equal(block.buffer.address() % std::max<std::uint64_t>(operation.extra, 512), 0u,
               "address modulo alignment");
    check_size(block.size, held, settings, operation.extra);
    must(reserved_now() <= std::max(reserved, static_cast<std::int64_t>(limit_)),
         "more reserved than the limit");
    books_.past.check(block.buffer.address(), block.size, held.stream, side_.order());
    books_.add(operation.slot % kSlots, block, held);
  }

  void check_size(std::uint64_t size, const Held& held, const SegmentSettings& settings,
                  std::uint64_t alignment) const {
    must(size >= held.rounded, "a block is smaller than the request rounded up");
    if (pools_.may_not_cut() || alignment > 512) return;
    if (is_small(held.rounded)) {
      must_equal(size, held.rounded, "size of a small block");
    } else if (held.rounded < settings.max_split_bytes) {
      must(size - held.rounded <= (1 << 20), "a large block was not cut");
    }
  }

  void refused(const Operation& operation, const SegmentSettings& settings) {
    // What can never be had is refused before anything is counted or given back.
    const std::uint64_t most = is_ours() ? side_.capacity() : std::uint64_t{1} << 63;
    if (operation.bytes > most) return;
    ++books_.out_of_memory;
    if (side_.is_armed()) {
      fault_struck_ = true;
      return;
    }
    const std::uint64_t size = rounded(settings, setting_.decisions, operation.bytes);
    const std::uint64_t request = device_request(settings, size);
    must(static_cast<std::uint64_t>(reserved_now()) + request > limit_ || !has_room(request) ||
             settings.throw_on_device_malloc_oom,
         "out of memory, and there was room for a segment");
    if (!is_ours() || settings.throw_on_device_malloc_oom || operation.extra > 512) return;
    check_out_of_memory(*allocator_,
                        {size, limit_, side_.streams()[operation.stream], pools_.current()},
                        side_.device().memory().info().free_bytes, pools_.held());
  }
  bool has_room(std::uint64_t bytes) { return side_.device().memory().info().free_bytes >= bytes; }
  std::int64_t reserved_now() const {
    return allocator_->segment_statistics().reserved_bytes.all.current;
  }

  void free(std::size_t slot) {
    random::Block& block = books_.model.slots[slot];
    if (!random::Model::holds(block)) return;
    stale_ = block.buffer;
    const device::FreeStatus status = allocator_->try_free(block.buffer);
    must(status == device::FreeStatus::freed, "the free of a live block did not end as freed");
    books_.remove(slot, side_.order());
  }

  // Another stream's use is ordered behind the use before it, and either told to the allocator or
  // waited for by the block's own stream.
  void use(const Operation& operation) {
    if (!is_held(operation)) return;
    Held& held = held_of(operation);
    const std::size_t stream = operation.stream;
    side_.order(stream, held.last_stream);
    held.last_stream = stream;
    held.uses[stream] = side_.use(stream, allocator_->slice(block_of(operation).buffer));
    if (stream == held.stream) return;
    if (operation.extra != 1) {
      const bool is_told = guarded([&] {
        if (setting_.tells_uses)
          allocator_->record_stream(block_of(operation).buffer, side_.streams()[stream]);
      });
      if (is_told) {
        held.recorded[stream] = held.uses[stream];
      } else {
        side_.wait(stream);
      }
      return;
    }
    side_.order(held.stream, stream);
    held.last_stream = held.stream;
  }

  void misuse(const Operation& operation) {
    const random::Block& block = block_of(operation);
    int foreign = 0;
    Buffer wrong(&foreign, allocator_.get());
    if (operation.extra == 1 && stale_ && !books_.model.is_live(stale_.address())) wrong = stale_;
    if (is_held(operation) && operation.extra == 2) {
      wrong = Buffer(static_cast<std::byte*>(block.buffer.ptr()) + 1, allocator_.get());
    }
    if (is_held(operation) && operation.extra == 3 && block.size > 512) {
      wrong = Buffer(static_cast<std::byte*>(block.buffer.ptr()) + 512, allocator_.get());
    }
    if (operation.extra == 4) return misuse_record(wrong);
    must(allocator_->try_free(wrong) == device::FreeStatus::unknown,
         "a wrong free was not refused as unknown");
    ++books_.model.refused;
  }
  void misuse_record(Buffer wrong) {
    try {
      allocator_->record_stream(wrong, side_.streams()[1]);
    } catch (const InvalidArgument&) {
      return;
    }
    throw random::Violation("record_stream took an unknown buffer");
  }

  // Settings, pools, what is seldom called.

  void set(const Operation& operation) {
    switch (operation.kind) {
      case Kind::settings:
        return set_settings(operation);
      case Kind::fraction:
        return set_fraction(static_cast<double>(operation.bytes) / 100);
      case Kind::empty_cache:
        allocator_->empty_cache();
        return;
      case Kind::reset:
        return reset(operation.extra == 1);
      default:
        (void)guarded([&] { pools_.perform(operation); });
    }
  }

  // With our decisions a string can be refused because of what another one has set.
  void set_settings(const Operation& operation) {
    const SegmentSettings before = allocator_->settings();
    std::string text(kSettings[operation.extra % std::size(kSettings)]);
    if (!is_ours() && text.find("default") != std::string::npos) text.clear();
    try {
      configure(*allocator_, text);
    } catch (const SettingsError&) {
      must(!is_ours() || allocator_->settings() == before, "a refused string changed settings");
    }
  }

  void set_fraction(double fraction) {
    allocator_->set_memory_fraction(fraction);
    limit_ = fraction == 1.0
                 ? side_.capacity()
                 : static_cast<std::uint64_t>(
                       static_cast<double>(side_.device().facts().total_bytes) * fraction) +
                       1;
  }

  void reset(bool sums) {
    if (sums) {
      allocator_->reset_accumulated();
      books_.out_of_memory = 0;
      books_.segments_before = allocator_->segment_statistics().segment.all.current;
    } else {
      allocator_->reset_peaks();
      books_.model.peak = books_.model.active;
    }
    for (Tallies* tallies : {&books_.allocation, &books_.allocated_bytes}) {
      sums ? tallies->reset_sums() : tallies->reset_peak();
    }
  }

  // The state.

  void after_fault() {
    fault_struck_ = false;
    allocator_->validate();
    audit_.all(false);
  }

  void check_everything(bool at_rest) {
    side_.disarm();
    if (at_rest) side_.wait_all();
    const bool polls_all = is_ours();
    allocator_->poll();
    allocator_->validate();
    audit_.all(polls_all);
    if (at_rest && polls_all) {
      must_equal(allocator_->segment_statistics().pending_free_blocks, 0u,
                 "pending blocks while the device is at rest");
    }
    if (at_rest) {
      must_equal(side_.device().memory().info().free_bytes,
                 side_.capacity() - static_cast<std::uint64_t>(reserved_now()),
                 "free device memory");
    }
    const std::vector<sim::Finding> findings = side_.machine().findings();
    if (!findings.empty()) throw random::Violation("finding: " + sim::describe(findings.front()));
  }

  // Everything is freed and given back: not a byte may be missing on the device.
  void finish() {
    check_everything(true);
    for (std::size_t i = 0; i < kSlots; ++i) free(i);
    pools_.end_all();
    must_equal(books_.model.count(), 0u, "blocks left");
    check_everything(true);
    allocator_->empty_cache();
    check_everything(true);
    must_equal(reserved_now(), 0, "reserved bytes at the end");
    allocator_.reset();
    must_equal(side_.device().memory().info().free_bytes, side_.capacity(), "free device memory");
  }

  const Setting& setting_;
  DeviceSide side_;
  Books books_;
  std::unique_ptr<SegmentAllocator> allocator_;
  PoolBook pools_;
  Audit audit_;
  std::uint64_t limit_;
  Buffer stale_;
  bool fault_struck_ = false;  // in this step
};

}  // namespace strandline::alloc::segments_random
