# SPDX-License-Identifier: Apache-2.0
"""One process of the measurement: `worker.py CONFIG BATCHES`, JSON on standard output.

CONFIG is "mlx", "off" (our arrays, recorder off) or "on". Each batch times every case once, and,
with the recorder off, every kernel of kernels.py.
"""

import json
import sys
import time

import kernels

CONFIG, BATCHES = sys.argv[1], int(sys.argv[2])
OPERATIONS = 20  # a call
REPETITIONS = {"small": 500, "large": 4}

if CONFIG == "mlx":
    import mlx.core as xp

    xp.set_default_device(xp.cpu)
else:
    import strandline as sl
    import strandline.array as xp

    if CONFIG == "on":
        sl.record_memory_events(max_entries=100_000)


def chain(a, b):
    for _ in range(OPERATIONS // 2):
        a = (a + b) * 0.5
    return [a]


def add(a, b):
    return [a + b for _ in range(OPERATIONS)]


def exp(a, b):
    return [xp.exp(a) for _ in range(OPERATIONS)]


def total(a, b):
    return [xp.sum(a, 1) for _ in range(OPERATIONS)]


def product(a, b):
    return [a @ b for _ in range(OPERATIONS)]


def full(a, b):
    return [xp.full(a.shape, 2.0) for _ in range(OPERATIONS)]


FUNCTIONS = {f.__name__: f for f in (add, chain, exp, total, product, full)}
SIDES = {"small": 10, "large": 400}
OPERANDS = {size: (xp.ones((n, n)), xp.ones((n, n))) for size, n in SIDES.items()}
EXPECTED = {"add": 2.0, "chain": 1.0, "full": 2.0}


def nanoseconds(function, size, way):
    """An operation; values are dropped after each call."""
    a, b = OPERANDS[size]
    repetitions = REPETITIONS[size]
    start = time.perf_counter_ns()
    for _ in range(repetitions):
        made = function(a, b)
        if way == "eval":
            xp.eval(made)
    return (time.perf_counter_ns() - start) / repetitions / OPERATIONS


def microseconds(operation):
    """One evaluation of one operation on large arrays."""
    start = time.perf_counter_ns()
    xp.eval(operation())
    return (time.perf_counter_ns() - start) / 1e3


def check():
    for name, function in FUNCTIONS.items():
        for a, b in OPERANDS.values():
            made = function(a, b)[0]
            expected = {"total": float(b.shape[0]), "product": float(b.shape[0])}.get(
                name, EXPECTED.get(name, 2.7182817)
            )
            assert abs(made.min().item() - expected) < 1e-3, (name, made.min().item())
            assert abs(made.max().item() - expected) < 1e-3, name


def main():
    xp.eval(OPERANDS["small"], OPERANDS["large"])
    check()
    times = {}
    large = {} if CONFIG == "on" else kernels.operations(xp)
    for batch in range(BATCHES + 1):
        for name, function in FUNCTIONS.items():
            for size in SIDES:
                for way in ("build", "eval"):
                    took = nanoseconds(function, size, way)
                    if batch > 0:  # the first warms up
                        times.setdefault(f"{size}/{way}/{name}", []).append(took)
        for name, operation in large.items():
            for _ in range(5):
                took = microseconds(operation)
                if batch > 0:
                    times.setdefault(f"kernel/{name}", []).append(took)
    print(json.dumps(times))


main()
