// SPDX-License-Identifier: Apache-2.0
// What the recorder costs its callers: a ring write with its clock, a recorded event, an allocation
// and a free with the table of live blocks beside them, a binding, the check while it is off, and
// hits in the tables. Each bench checks what it did against the recorder's own counts.
#include <array>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "strandline/record/recorder.h"

namespace strandline::record {
namespace {

constexpr std::uint64_t kEntries = 1'000'000;  // the default

std::uint64_t written(Action action) {
  return recorder().counters().events[static_cast<std::size_t>(action)];
}

// The recorder on or off, without history, with `live` blocks of 64 bytes at kBase.
constexpr std::uint64_t kBase = 1 << 30;
constexpr std::uint64_t address_of(std::uint64_t i) {
  return kBase + i * 64;
}

enum class Switch { off, on };
void prepare(Switch to, std::uint64_t live) {
  Recorder& r = recorder();
  r.stop();
  for (const LiveBlock& block : r.cut(Recorder::Events::none).live) {
    r.note_free({.address = block.address});
  }
  r.clear_history(Recorder::ClearTables::yes);
  r.reset_peak();
  r.start({.max_entries = kEntries});
  // The ring's pages are there already, as in any run longer than a moment.
  for (std::uint64_t i = 0; i < kEntries; ++i) r.mark_snapshot();
  for (std::uint64_t i = 0; i < live; ++i) {
    r.note_alloc({.address = address_of(i), .size = 64, .requested = 64});
  }
  if (to == Switch::off) r.stop();
}

template <typename Count>
void expect(benchmark::State& state, Count actual, Count expected, const char* what) {
  if (actual != expected) state.SkipWithError(what);
}

void ring_write(benchmark::State& state) {
  EventRing ring(kEntries);
  for (std::uint64_t i = 0; i < kEntries; ++i) ring.append({});
  const std::uint64_t before = ring.next_sequence();
  Event event{.address = 64, .size = 64, .requested = 64, .action = Action::alloc_new};
  for (auto _ : state) {
    event.ticks = clock_ticks();
    benchmark::DoNotOptimize(ring.append(event));
  }
  expect<std::uint64_t>(state, ring.next_sequence() - before,
                        static_cast<std::uint64_t>(state.iterations()), "events are missing");
}
BENCHMARK(ring_write);

void recorded_event(benchmark::State& state) {
  prepare(Switch::on, 0);
  for (auto _ : state) recorder().note_segment(Action::segment_alloc, kBase, 64, {}, {}, 0);
  expect<std::uint64_t>(state, written(Action::segment_alloc),
                        static_cast<std::uint64_t>(state.iterations()), "events are missing");
}
BENCHMARK(recorded_event);

void alloc_and_free(benchmark::State& state) {
  const auto live = static_cast<std::uint64_t>(state.range(0));
  prepare(Switch::on, live);
  const OpContext context{.op = {1}, .traceback = {1}};
  const OpScope scope(context);
  std::uint64_t at = 0;
  for (auto _ : state) {
    // Another block each time, as a program does: the oldest goes, one comes in its place.
    recorder().note_free({.action = Action::free_to_cache, .address = address_of(at)});
    recorder().note_alloc({.address = address_of(at), .size = 64, .requested = 64});
    at = (at * 5 + 1) & (live - 1);
  }
  expect<std::uint64_t>(state, written(Action::free_to_cache),
                        static_cast<std::uint64_t>(state.iterations()), "frees are missing");
  expect<std::uint64_t>(state, recorder().active(), live * 64, "the sum of live bytes is wrong");
  expect<std::uint64_t>(state, recorder().counters().orphan_frees, 0, "there are orphans");
}
BENCHMARK(alloc_and_free)->Arg(1 << 10)->Arg(1 << 16);

void bind_and_leave(benchmark::State& state) {
  constexpr std::uint64_t kLive = 1 << 10;
  prepare(Switch::on, kLive);
  for (std::uint64_t i = 0; i < kLive; ++i) recorder().bind(address_of(i), {i + 1}, {});
  const std::uint64_t before = recorder().cut(Recorder::Events::none).next_sequence;
  std::uint64_t at = 0;
  for (auto _ : state) {  // a view comes and goes
    recorder().bind(address_of(at), {kLive + 1 + at}, {});
    recorder().leave({kLive + 1 + at});
    at = (at * 5 + 1) & (kLive - 1);
  }
  expect<std::uint64_t>(state, recorder().cut(Recorder::Events::none).next_sequence, before,
                        "a view changed a holder");
  expect<std::uint64_t>(state, recorder().counters().unknown_binds, 0, "a block was unknown");
}
BENCHMARK(bind_and_leave);

void off_check(benchmark::State& state) {
  prepare(Switch::off, 0);
  std::uint64_t on = 0;
  for (auto _ : state) {
    if (recording()) ++on;
    benchmark::ClobberMemory();
  }
  expect<std::uint64_t>(state, on, 0, "it was on");
}
BENCHMARK(off_check);

void traceback_hit(benchmark::State& state) {
  constexpr std::uint64_t kStacks = 1 << 12;
  TracebackTable table(64 << 20);
  std::vector<Fingerprint> fingerprints;
  std::vector<TracebackId> ids;
  for (std::uint64_t s = 0; s < kStacks; ++s) {
    std::vector<RawFrame> frames;
    Fingerprint fingerprint;
    for (std::uint64_t f = 0; f < 32; ++f) {
      frames.push_back({.code = 1'000 + (f < 4 ? s * 32 : 0) + f, .offset = 2});
      fingerprint.add(frames.back().code, frames.back().offset);
    }
    fingerprints.push_back(fingerprint);
    ids.push_back(table.insert(fingerprint, frames, false));
  }
  std::uint64_t at = 0;
  std::uint64_t wrong = 0;
  for (auto _ : state) {
    wrong += table.find(fingerprints[at]) != ids[at];
    at = (at * 5 + 1) & (kStacks - 1);
  }
  expect<std::uint64_t>(state, wrong, 0, "another stack was found");
  expect<std::size_t>(state, table.depth(ids[7]), 32, "the stack is not whole");
}
BENCHMARK(traceback_hit);

void layout_hit(benchmark::State& state) {
  LayoutTable table(64 << 20);
  const std::array<std::int64_t, 3> shape = {32, 1024, 768};
  for (std::int64_t extent = 0; extent < 1'000; ++extent) {
    table.intern(std::array<std::int64_t, 2>{extent, 8}, Dtype::float32);
  }
  const LayoutId id = table.intern(shape, Dtype::float32);
  std::uint64_t wrong = 0;
  for (auto _ : state) wrong += table.intern(shape, Dtype::float32) != id;
  expect<std::uint64_t>(state, wrong, 0, "another layout was found");
}
BENCHMARK(layout_hit);

}  // namespace
}  // namespace strandline::record

BENCHMARK_MAIN();
