// SPDX-License-Identifier: Apache-2.0
#include "array/node_memory.h"

#include <array>
#include <cstdint>
#include <new>
#include <utility>

#include "strandline/core/export.h"

namespace strandline::array {
namespace {

constexpr std::size_t kClassBytes = 32;  // blocks are multiples of it
constexpr std::size_t kClasses = 16;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint32_t kMostKept = 0;
#else
constexpr std::uint32_t kMostKept = 128;  // of a class
#endif

struct Block {
  Block* next;
};

struct Kept {
  Block* first;
  std::uint32_t room;  ///< for further blocks; none before the thread's first, and after its end
};

// Without a destructor: it may be asked after the thread's objects are gone.
STRANDLINE_FAST_TLS constinit thread_local std::array<Kept, kClasses> t_kept{};

/// Gives back what the thread has kept when it ends.
struct EndOfThread {
  EndOfThread() noexcept {
    for (Kept& kept : t_kept) kept.room = kMostKept;
  }
  ~EndOfThread() {
    for (Kept& kept : t_kept) {
      kept.room = 0;
      while (kept.first != nullptr) ::operator delete(std::exchange(kept.first, kept.first->next));
    }
  }
  EndOfThread(const EndOfThread&) = delete;
  EndOfThread& operator=(const EndOfThread&) = delete;
};

thread_local constinit bool t_has_begun = false;

// The first time a thread has nothing kept.
void begin_thread() {
  if (t_has_begun) return;
  t_has_begun = true;
  thread_local EndOfThread end_of_thread;
}

std::size_t class_of(std::size_t bytes) noexcept {
  return (bytes - 1) / kClassBytes;
}

}  // namespace

void* take_node_memory(std::size_t bytes) {
  const std::size_t which = class_of(bytes);
  if (which >= kClasses) return ::operator new(bytes);
  Kept& kept = t_kept[which];
  if (kept.first == nullptr) {
    begin_thread();
    return ::operator new((which + 1) * kClassBytes);
  }
  ++kept.room;
  return std::exchange(kept.first, kept.first->next);
}

void give_node_memory(void* memory, std::size_t bytes) noexcept {
  const std::size_t which = class_of(bytes);
  if (which >= kClasses || t_kept[which].room == 0) return ::operator delete(memory);
  Kept& kept = t_kept[which];
  --kept.room;
  kept.first = new (memory) Block{kept.first};
}

}  // namespace strandline::array
