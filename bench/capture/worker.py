# SPDX-License-Identifier: Apache-2.0
"""One process of the measurement: `worker.py FOLDER`, JSON on standard output, ns a capture."""

import json
import statistics
import sys
import time

sys.path.insert(0, sys.argv[1])
import capture_module  # noqa: E402

NOTHING, OURS, WRITEUP, RECORDED = range(4)
METHODS = {"ours": OURS, "write-up": WRITEUP, "recorded": RECORDED}
DEPTHS = (8, 32, 100)
TOUCHED = {"warm": 0, "64 KiB touched": 64 << 10, "2 MiB touched": 2 << 20}

try:
    from torch._C._profiler import gather_traceback

    def torch_capture(_):
        gather_traceback(True, False, False)
except ImportError:
    torch_capture = None


def at_depth(count, function, *arguments):
    """Calls `function` inside `count` frames of this one."""
    if count <= 1:
        return function(*arguments)
    return at_depth(count - 1, function, *arguments)


def frames_now():
    """Frames on the stack, the caller's included."""
    count, frame = 0, sys._getframe(1)
    while frame is not None:
        count, frame = count + 1, frame.f_back
    return count


def call_at(depth, function, *arguments):
    """Calls a function of the module with `depth` frames on the stack."""
    return at_depth(depth - frames_now(), function, *arguments)


def check(depth):
    """Both methods know a stack again, and it has the frames it should have."""
    for method in (OURS, WRITEUP):
        numbers = []
        for _ in range(3):
            numbers.append(call_at(depth, capture_module.capture, method))
        assert numbers[0] and len(set(numbers)) == 1, (method, numbers)
        assert call_at(depth + 1, capture_module.capture, method) != numbers[0], method
    frames = capture_module.frames_of(call_at(depth, capture_module.capture, OURS))
    names = [function for function, _ in frames]
    outer = ["<module>", "measure", "check", "call_at"]
    assert names == outer + ["at_depth"] * (depth - len(outer)), names
    assert [line for _, line in frames][-1] < [line for _, line in frames][-2], frames


def fixed(depth, method, count):
    return call_at(depth, capture_module.loop, method, count)


def nested(count, capture, argument):
    """As `at_depth`, by calls that the interpreter makes without calling itself in C.

    CPython 3.11 goes through C for ``f(*arguments)``. Under 32 calls of C a capture costs 60 ns
    more, which are not its own: likely its calls push outer return addresses out of the processor's
    return predictor.
    """
    if count <= 1:
        return capture(argument)
    return nested(count - 1, capture, argument)


def fresh(depths, capture, argument, rounds):
    """ns a round of one capture at each depth, all frames new."""
    counts = [depth - frames_now() for depth in depths]
    start = time.perf_counter_ns()
    for _ in range(rounds):
        for count in counts:
            nested(count, capture, argument)
    return (time.perf_counter_ns() - start) / rounds


def fresh_added(depths, capture, argument, rounds, repetitions):
    """What the capture adds to the calls: the two take turns, each pair gives a difference.

    The calls cost fifty times what is looked for: the fastest of one kind may have met a faster
    moment of the machine than the fastest of the other, and did, by a third of the result.
    """
    added = []
    for turn in range(repetitions):
        first = fresh(depths, capture_module.capture_only, NOTHING, rounds) if turn % 2 else None
        with_capture = fresh(depths, capture, argument, rounds)
        without = first or fresh(depths, capture_module.capture_only, NOTHING, rounds)
        added.append(with_capture - without)
    return statistics.median(added) / len(depths)


def cold(depth, method, touched, repetitions):
    def times(what):
        ticks = []
        for _ in range(repetitions):
            ticks.append(call_at(depth, capture_module.ticks_after_touching, what, touched))
        return statistics.median(ticks)

    return (times(method) - times(NOTHING)) / ticks_per_ns()


def ticks_per_ns():
    if not hasattr(ticks_per_ns, "known"):
        ticks, start = capture_module.ticks_now(), time.perf_counter_ns()
        time.sleep(0.05)
        span = time.perf_counter_ns() - start
        ticks_per_ns.known = (capture_module.ticks_now() - ticks) / span
    return ticks_per_ns.known


def measure():
    results = {}
    for depth in DEPTHS:
        check(depth)
        pattern = (depth, depth + 5, depth, depth + 3, depth + 2)
        captures = {name: (capture_module.capture_only, method) for name, method in METHODS.items()}
        if torch_capture is not None:
            captures["torch"] = (torch_capture, None)
        for name, (capture, argument) in captures.items():
            row = results.setdefault(f"{name}/{depth}", {})
            if name != "torch":
                row["loop"] = min(fixed(depth, argument, 3_000) for _ in range(15))
                for words, touched in TOUCHED.items():
                    row[words] = cold(depth, argument, touched, 300)
            row["new frames"] = fresh_added((depth,), capture, argument, 50, 400)
            row["alternating"] = fresh_added(pattern, capture, argument, 10, 400)
    return results


print(json.dumps({"python": sys.version.split()[0], "times_ns": measure()}))
