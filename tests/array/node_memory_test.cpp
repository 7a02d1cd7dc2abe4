// SPDX-License-Identifier: Apache-2.0
// Memory of nodes: every block is its holder's alone, whoever gives it back and whenever.
#include "array/node_memory.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace strandline::array {
namespace {

struct Held {
  unsigned char* at;
  std::size_t bytes;
  unsigned char mark;
};

bool is_untouched(const Held& held) {
  for (std::size_t i = 0; i < held.bytes; ++i) {
    if (held.at[i] != held.mark) return false;
  }
  return true;
}

Held take(std::size_t bytes, unsigned char mark) {
  const Held held{static_cast<unsigned char*>(take_node_memory(bytes)), bytes, mark};
  std::memset(held.at, mark, bytes);
  return held;
}

// Random sizes, past the largest class too: nobody writes into what another holds.
void take_and_give(unsigned seed, std::vector<Held>& held, int steps) {
  std::mt19937 random(seed);
  for (int i = 0; i < steps; ++i) {
    if (held.empty() || random() % 5 < 3) {
      held.push_back(take(1 + random() % 700, static_cast<unsigned char>(random())));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(held.back().at) % alignof(std::max_align_t), 0U);
      continue;
    }
    std::swap(held[random() % held.size()], held.back());
    ASSERT_TRUE(is_untouched(held.back()));
    give_node_memory(held.back().at, held.back().bytes);
    held.pop_back();
  }
}

void give_all(std::vector<Held>& held) {
  for (const Held& one : held) {
    ASSERT_TRUE(is_untouched(one));
    give_node_memory(one.at, one.bytes);
  }
  held.clear();
}

TEST(NodeMemory, EveryBlockIsItsHoldersAlone) {
  std::vector<Held> held;
  take_and_give(1, held, 20'000);
  give_all(held);
}

TEST(NodeMemory, IsGivenBackOnAnyThreadAndAfterItsOwnHasEnded) {
  std::vector<Held> here;
  take_and_give(2, here, 500);
  std::vector<Held> from_there;
  std::thread([&] {
    take_and_give(3, from_there, 500);
    give_all(here);
    take_and_give(4, from_there, 500);
  }).join();
  take_and_give(5, from_there, 2'000);
  give_all(from_there);
}

// Destroyed after the thread's kept blocks are gone.
TEST(NodeMemory, OutlivesWhatTheThreadKeeps) {
  std::thread([] {
    struct Last {
      std::vector<Held> held;
      ~Last() { give_all(held); }
    };
    thread_local Last last;  // made before the first block, so destroyed after them
    last.held.reserve(1);
    take_and_give(6, last.held, 300);
  }).join();
}

}  // namespace
}  // namespace strandline::array
