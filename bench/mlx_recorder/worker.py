# SPDX-License-Identifier: Apache-2.0
"""One process of the measurement: `worker.py CONFIG BATCHES REPETITIONS`, JSON on standard output.

CONFIG is "plain" (Strandline not loaded), "off" (adapter loaded, recorder off) or "on". Each batch
times every function once, so that a drift of the machine's speed meets all alike.
"""

import json
import sys
import time

CONFIG, BATCHES, REPETITIONS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
DEPTH = 32  # frames on the stack where the arrays are made
COUNTS = (10, 20, 30)

if CONFIG != "plain":
    import strandline as sl
    import strandline.mlx  # noqa: F401  loads the adapter

import mlx.core as mx  # noqa: E402  after the adapter


def make_full(count):
    return [mx.full((10, 10), 2.0) for _ in range(count)]


def make_add(count):
    return [A + B for _ in range(count)]


def at_depth(depth, function, *arguments):
    if depth <= 1:
        return function(*arguments)
    return at_depth(depth - 1, function, *arguments)


def build(function, count):
    start = time.perf_counter_ns()
    for _ in range(REPETITIONS):
        function(count)
    return time.perf_counter_ns() - start


def build_and_eval(function, count):
    start = time.perf_counter_ns()
    for _ in range(REPETITIONS):
        mx.eval(function(count))
    return time.perf_counter_ns() - start


A, B = mx.ones((10, 10)), mx.ones((10, 10))
FUNCTIONS = {"full": make_full, "add": make_add}
WAYS = {"build": build, "eval": build_and_eval}


def nanoseconds(way, name, count):
    """Per call of the function."""
    used = DEPTH - 3  # the module, build or build_and_eval, and make_… are frames too
    return at_depth(used, WAYS[way], FUNCTIONS[name], count) / REPETITIONS


def events_per_call(name, count):
    """Events that a call with eval adds, and what it computed checked."""
    if CONFIG != "on":
        return 0
    sl.clear_history()
    repetitions = 50
    for _ in range(repetitions):
        arrays = FUNCTIONS[name](count)
        mx.eval(arrays)
        assert all(array.sum().item() == 200 for array in arrays[:1])
    sl.clear_history()
    for _ in range(repetitions):
        mx.eval(FUNCTIONS[name](count))
    mx.synchronize()
    events = sl.get_memory_events()
    allocs = sum(event["action"].startswith("alloc") for event in events)
    assert allocs >= repetitions * count, f"{allocs} allocations recorded of {repetitions * count}"
    return len(events) / repetitions


mx.eval(A, B)
if CONFIG == "on":
    sl.record_memory_events(max_entries=100_000)
cases = [(way, name, count) for way in WAYS for name in FUNCTIONS for count in COUNTS]
for case in cases:  # once to warm up
    nanoseconds(*case)
times = {"/".join(map(str, case)): [] for case in cases}
for _ in range(BATCHES):
    for case in cases:
        times["/".join(map(str, case))].append(nanoseconds(*case))
events = {f"{name}/{count}": events_per_call(name, count) for name in FUNCTIONS for count in COUNTS}
print(json.dumps({"times_ns": times, "events": events}))
