// SPDX-License-Identifier: Apache-2.0
// The vocabulary of state: what segments and blocks exist at one moment, and who can tell.
// Allocators register a provider; a snapshot locks all of them in the order of registration, takes
// the record under these locks, and so gets a cut in which events and segments agree.
//
//   in every segment: blocks touch, do not overlap, and Σ block.size = segment.size
#pragma once

#include <cstdint>
#include <vector>

#include "strandline/core/export.h"
#include "strandline/core/ids.h"

namespace strandline::record {

enum class BlockUse : std::uint8_t {
  allocated,     ///< handed out
  pending_free,  ///< freed by the program, still in use by a stream
  inactive,      ///< free
};

struct BlockState {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  BlockUse use = BlockUse::inactive;
  TracebackId traceback{};

  bool operator==(const BlockState&) const = default;
};

struct SegmentState {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint8_t device = 0;
  StreamId stream{};
  PoolId pool{};
  TracebackId traceback{};
  bool is_small = false;
  bool is_expandable = false;
  std::vector<BlockState> blocks;

  bool operator==(const SegmentState&) const = default;
};

/// What was there when recording began.
struct InitialBlock {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::uint64_t requested = 0;
  StreamId stream{};
  PoolId pool{};
  std::uint8_t device = 0;
};
struct InitialState {
  std::vector<InitialBlock> blocks;
  std::uint64_t cached_bytes = 0;
};

class STRANDLINE_API StateProvider {
 public:
  virtual ~StateProvider() = default;

  /// Stops every change of state, and with it every event of this provider, until `unlock_state`.
  virtual void lock_state() = 0;
  virtual void unlock_state() noexcept = 0;
  /// Appends the segments this provider knows and the recorder does not: those of segment
  /// allocators, and the cached buffers of whole-buffer allocators (live whole buffers are known
  /// to the recorder). Called between the two above.
  virtual void collect_segments(std::vector<SegmentState>& segments) const = 0;
  /// Recording is about to be switched on. A provider that tells the recorder nothing while it is
  /// off appends its live blocks, and the bytes it keeps for reuse, that it has not told of; from
  /// now on it tells what becomes of them. Called between the first two.
  virtual void begin_recording(InitialState& /*state*/) {}
};

/// Registers for the life of the process; null is refused with InvalidArgument.
STRANDLINE_API void register_state_provider(StateProvider* provider);
STRANDLINE_API void unregister_state_provider(StateProvider* provider) noexcept;

/// Locks all providers in the order of registration for its own lifetime.
class STRANDLINE_API ProvidersLock {
 public:
  ProvidersLock();
  ~ProvidersLock();
  ProvidersLock(const ProvidersLock&) = delete;
  ProvidersLock& operator=(const ProvidersLock&) = delete;

  void collect(std::vector<SegmentState>& segments) const;
  void begin_recording(InitialState& state) const;

 private:
  std::vector<StateProvider*> locked_;
};

}  // namespace strandline::record
