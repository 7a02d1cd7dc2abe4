// SPDX-License-Identifier: Apache-2.0
// What lives in a machine's address space: allocations, buffer objects, reservations and mapped
// pages, the bytes each device has left, and whether an access of declared work is sound.
//
// An allocation is charged and mapped until it is freed AND no queued work binds its owning buffer.
// Its lock is a leaf: nothing else is locked or called while it is held.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/operation.h"
#include "device/page_table.h"
#include "device/sim/arena.h"
#include "device/sim/range_set.h"
#include "strandline/core/mutex.h"
#include "strandline/device/facts.h"
#include "strandline/device/sim/findings.h"
#include "strandline/device/types.h"

namespace strandline::sim {

class Space;

/// One allocation. Its end gives the memory back.
struct Block {
  explicit Block(Space& owner) : space(owner) {}
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block();

  Space& space;
  device::DeviceIndex device;
  device::Placement placement = device::Placement::device;
  device::Address address = 0;
  std::uint64_t size = 0;   ///< asked for
  std::uint64_t range = 0;  ///< addresses taken
  std::uint64_t cost = 0;   ///< charged
  device::BufferId buffer;
  bool is_open = false;
  bool freed = false;  ///< by the program; queued work keeps it
  bool resident = false;
  RangeSet written;  ///< as addresses
};

/// A buffer object; work that binds it holds it.
struct Buffer {
  device::BufferId id;
  device::Address address = 0;
  std::uint64_t size = 0;
  std::shared_ptr<Block> block;  ///< of an owning buffer
};

class Space {
 public:
  Space(const MachineOptions& options, std::vector<device::Facts> facts);
  ~Space();

  device::Allocation allocate(device::DeviceIndex index, std::uint64_t bytes,
                              device::Placement placement, std::uint64_t alignment);
  /// What the call lets go of is handed to `dying`, to end without a lock.
  device::FreeStatus deallocate(device::DeviceIndex index, device::Address address,
                                std::shared_ptr<Buffer>& dying) noexcept;
  device::BufferId wrap(device::DeviceIndex index, device::Address address, std::uint64_t bytes);
  device::FreeStatus release_buffer(device::BufferId buffer,
                                    std::shared_ptr<Buffer>& dying) noexcept;
  void note_write(const device::Slice& slice) noexcept;
  void make_resident(device::DeviceIndex index, device::Address address);
  device::FreeStatus end_residency(device::DeviceIndex index, device::Address address) noexcept;
  [[nodiscard]] device::MemoryInfo info(device::DeviceIndex index) const;

  device::Address reserve(device::DeviceIndex index, std::uint64_t bytes);
  device::FreeStatus release_reservation(device::Address address, std::uint64_t bytes) noexcept;
  device::PagesId create_pages(device::DeviceIndex index, std::uint64_t bytes);
  device::FreeStatus release_pages(device::PagesId pages) noexcept;
  void map(device::Address address, device::PagesId pages);
  void set_access(device::Address address, std::uint64_t bytes,
                  std::span<const device::DeviceIndex> devices);
  device::FreeStatus unmap(device::Address address, std::uint64_t bytes) noexcept;

  void set_peer(device::DeviceIndex from, device::DeviceIndex to, bool enabled);

  /// Checks the buffers that the operation names and makes it keep them.
  void bind(device::Operation& operation) const;
  /// The buffer object that orders the slice: the one it names, or the one its memory belongs to.
  [[nodiscard]] device::BufferId ordering_buffer(const device::Slice& slice) const;

  /// Adds a finding for each unsound access. False when the work would touch bytes that cannot be
  /// touched. Marks what is written.
  [[nodiscard]] bool check(const device::Operation& operation, StreamId stream,
                           std::vector<Finding>& findings);

  [[nodiscard]] const Arena& arena() const noexcept { return arena_; }
  [[nodiscard]] std::uint64_t poisoned_bytes() const;

 private:
  friend struct Block;
  struct Account {
    device::Facts facts;
    std::uint64_t used = 0;
    std::uint64_t pinned = 0;
    std::uint64_t resident = 0;
    std::vector<bool> peers;
  };
  struct Walk;

  void charge(Account& account, const Block& block) STRANDLINE_REQUIRES(mutex_);
  void end_block(Block& block) noexcept;
  void drop_pages(const std::vector<device::Pages>& freed) noexcept STRANDLINE_REQUIRES(mutex_);
  Block* block_at(device::Address address) const STRANDLINE_REQUIRES(mutex_);
  Account& account(device::DeviceIndex index) STRANDLINE_REQUIRES(mutex_) {
    return accounts_[index.value];
  }
  bool step(Walk& walk) STRANDLINE_REQUIRES(mutex_);
  bool step_in_block(Walk& walk, Block& block) STRANDLINE_REQUIRES(mutex_);
  bool step_in_pages(Walk& walk, const device::Mapping& mapping, device::Address start)
      STRANDLINE_REQUIRES(mutex_);
  void mark(Walk& walk, RangeSet& written, std::uint64_t begin, std::uint64_t end)
      STRANDLINE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  Arena arena_;
  int pages_file_ = -1;
  std::uint64_t pages_end_ STRANDLINE_GUARDED_BY(mutex_) = 0;
  std::uint64_t last_id_ STRANDLINE_GUARDED_BY(mutex_) = 0;
  std::uint64_t live_buffers_ STRANDLINE_GUARDED_BY(mutex_) = 0;
  std::vector<Account> accounts_ STRANDLINE_GUARDED_BY(mutex_);
  std::map<device::Address, Block*> blocks_ STRANDLINE_GUARDED_BY(mutex_);
  std::unordered_map<device::BufferId, std::shared_ptr<Buffer>> buffers_
      STRANDLINE_GUARDED_BY(mutex_);
  device::PageTable table_ STRANDLINE_GUARDED_BY(mutex_);
  std::unordered_map<device::PagesId, RangeSet> pages_written_ STRANDLINE_GUARDED_BY(mutex_);
};

}  // namespace strandline::sim
