# SPDX-License-Identifier: Apache-2.0
"""One process of the measurement: `worker.py CONFIG BATCHES`, JSON on standard output.

CONFIG is "plain" (Strandline not loaded), "loaded" (the adapter loaded, MLX's own allocator),
"host" or "unified". Each batch times every loop once, so that a drift of the machine's speed meets
all alike.
"""

import json
import sys
import time

CONFIG, BATCHES = sys.argv[1], int(sys.argv[2])

if CONFIG != "plain":
    import strandline as sl
    import strandline.mlx

    if CONFIG != "loaded":
        strandline.mlx.use_allocator(CONFIG)

import mlx.core as mx  # noqa: E402  after the adapter

SIDES = (1, 10, 100, 1000)  # 4 B, 400 B, 40 KB, 4 MB
REPETITIONS = {1: 2000, 10: 2000, 100: 500, 1000: 20}


def add(side):
    """One node an evaluation: what is made is dropped at once and its buffer reused."""
    a, b = mx.ones((side, side)), mx.ones((side, side))
    mx.eval(a, b)
    start = time.perf_counter_ns()
    for _ in range(REPETITIONS[side]):
        c = a + b
        mx.eval(c)
    spent = time.perf_counter_ns() - start
    assert c[0, 0].item() == 2
    return spent / REPETITIONS[side]


def chain(side):
    """Twenty nodes an evaluation, most of them donating."""
    a = mx.ones((side, side))
    mx.eval(a)
    start = time.perf_counter_ns()
    for _ in range(REPETITIONS[side] // 10):
        c = a
        for _ in range(20):
            c = c + 1
        mx.eval(c)
    spent = time.perf_counter_ns() - start
    assert c[0, 0].item() == 21
    return spent / (REPETITIONS[side] // 10)


def keep(side):
    """Thirty arrays that live at once."""
    start = time.perf_counter_ns()
    for _ in range(REPETITIONS[side] // 20):
        arrays = [mx.full((side, side), value) for value in range(30)]
        mx.eval(arrays)
    spent = time.perf_counter_ns() - start
    assert arrays[29][0, 0].item() == 29
    return spent / max(1, REPETITIONS[side] // 20)


def varied(_side):
    """Sizes that rarely fit what is cached."""
    start = time.perf_counter_ns()
    for turn in range(300):
        x = mx.ones((turn * 37 % 211 + 1, turn * 53 % 307 + 1)) + 1
        mx.eval(x)
    spent = time.perf_counter_ns() - start
    assert x[0, 0].item() == 2
    return spent / 300


LOOPS = {f"{f.__name__} {s}x{s}": (f, s) for f in (add, chain, keep) for s in SIDES}
LOOPS["varied"] = (varied, 0)

for loop, side in LOOPS.values():  # once to warm up
    loop(side)
times = {name: [] for name in LOOPS}
for _ in range(BATCHES):
    for name, (loop, side) in LOOPS.items():
        times[name].append(loop(side))
if CONFIG in ("host", "unified"):
    statistics = sl.get_default_allocator().statistics()
    assert statistics["mallocs"] > BATCHES * 1000, statistics
    assert mx.get_active_memory() == statistics["active_bytes"]
print(json.dumps(times))
