// SPDX-License-Identifier: Apache-2.0
// A small training run as a record: parameters loaded, one step with forward and backward, a peak
// in the middle of the backward pass. What reports are tested on.
#pragma once

#include "snapshot/synthetic.h"

namespace strandline::snapshot::testing {

class TrainingRecord {
 public:
  explicit TrainingRecord(std::uint64_t ring_entries = UINT64_MAX, int warm_up_events = 0) {
    record.ring_entries = ring_entries;
    for (int i = 0; i < warm_up_events; ++i) {
      record.alloc(record::Action::alloc_new, 0x1000, 16, 16, {});
      record.release(record::Action::free_to_device, 0x1000);
    }
    const std::uint32_t load = record.begin_phase("load");
    parameters();
    record.end_phase(load);
    for (int i = 0; i < 3; ++i) step(i + 1);
  }

  SyntheticRecord record;

  const record::Frame main{"/home/u/train.py", "<module>", 120};
  const record::Frame attention{"/home/u/model/attention.py", "__call__", 88};
  const record::Frame linear{"/usr/lib/python3.11/site-packages/mlx/nn/layers/linear.py",
                             "__call__", 70};
  const record::Frame init{"/home/u/train.py", "load", 41};
  const record::Frame frozen{"<frozen importlib>", "_call", 7};

 private:
  using Action = record::Action;

  void parameters() {
    const TracebackId stack = record.stack({frozen, init, main});
    for (std::uint64_t i = 0; i < 4; ++i) {
      const std::uint64_t address = 0x100000000 + i * 0x10000000;
      record.alloc(Action::alloc_new, address, 8 * kMiB, 8 * kMiB - 100,
                   record.holder(stack, "Uniform", {2048, 1024}));
      record.annotate(address, ("parameters.layers." + std::to_string(i) + ".w").c_str());
    }
    // From a library alone, with no layout.
    record::Holder table;
    table.traceback = record.stack({linear});
    table.op = record.tables.ops.intern("Load");
    record.alloc(Action::alloc_external, 0x90000000, 3 * kMiB, 3 * kMiB, table);
  }

  void step(int number) {
    const std::uint32_t step = record.begin_phase(("step " + std::to_string(number)).c_str());
    const std::uint32_t forward = record.begin_phase("forward", step);
    const std::uint64_t base = 0x200000000;
    const TracebackId scores = record.stack({linear, attention, main});
    const Action begin = number == 1 ? Action::alloc_new : Action::alloc_reuse;
    for (std::uint64_t i = 0; i < 3; ++i) {
      record.alloc(begin, base + i * 0x10000000, 16 * kMiB, 16 * kMiB,
                   record.holder(scores, "Matmul", {16, 512, 512}));
    }
    record.end_phase(forward);
    const std::uint32_t backward = record.begin_phase("backward", step);
    record.release(Action::free_to_cache, base);
    const TracebackId gradient =
        record.tables.tracebacks.pair(record.stack({main}), record.stack({attention, main}));
    record.alloc(begin, base + 0x80000000, 20 * kMiB, 20 * kMiB - 7,
                 record.holder(gradient, "Softmax", {16, 512, 640}));
    for (const std::uint64_t offset : {0x10000000U, 0x20000000U, 0x80000000U}) {
      record.release(Action::free_to_cache, base + offset);
    }
    record.end_phase(backward);
    record.end_phase(step);
  }
};

}  // namespace strandline::snapshot::testing
