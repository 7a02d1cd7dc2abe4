// SPDX-License-Identifier: Apache-2.0
// Memory of nodes, kept by each thread for its next ones. A graph drops hundreds of nodes at once,
// of which the C library keeps seven of a size at hand (glibc): without this, half of the time of
// making a node goes there. Nothing is kept under the sanitizers, which watch each block.
//
//   take(n) ◀── first block of n's class, if any ──▶ else operator new
//   give(p, n) ──▶ that class, up to kMostKept ──▶ else operator delete
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace strandline::array {

/// At least `bytes`, aligned for any type without an alignment of its own.
void* take_node_memory(std::size_t bytes);
/// What take_node_memory gave for `bytes`, on any thread.
void give_node_memory(void* memory, std::size_t bytes) noexcept;

template <typename T>
struct NodeAllocator {
  using value_type = T;
  static_assert(alignof(T) <= alignof(std::max_align_t));

  NodeAllocator() = default;
  template <typename U>
  NodeAllocator(const NodeAllocator<U>& /*other*/) noexcept {
  }  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t count) { return static_cast<T*>(take_node_memory(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t count) noexcept {
    give_node_memory(memory, count * sizeof(T));
  }
  bool operator==(const NodeAllocator& /*other*/) const noexcept { return true; }
};

/// std::make_shared, in such memory.
template <typename T, typename... Arguments>
std::shared_ptr<T> make_node_part(Arguments&&... arguments) {
  return std::allocate_shared<T>(NodeAllocator<T>{}, std::forward<Arguments>(arguments)...);
}

}  // namespace strandline::array
