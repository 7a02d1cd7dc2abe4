# SPDX-License-Identifier: Apache-2.0
"""Threads that share arrays: right values, no deadlock with the interpreter's lock, nothing lost.

Each program runs in a process of its own: what goes wrong here ends a process, or never ends.
"""

import subprocess
import sys

import pytest

pytest.importorskip("numpy")

PROLOGUE = """
import gc, io, random, sys, threading
import numpy as np
import strandline as sl
import strandline.array as sa

sys.setswitchinterval(1e-5)
WRONG = []

def all_at_once(*functions):
    start = threading.Barrier(len(functions))
    def run(function):
        try:
            start.wait()
            function()
        except BaseException as error:
            WRONG.append(repr(error))
    threads = [threading.Thread(target=run, args=(f,)) for f in functions]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""

ONE_GRAPH = """
def grow(rng):
    arrays, expected = [], []
    def add(array, values):
        arrays.append(array); expected.append(values)
    for i in range(3):
        values = np.array([i, 2 * i + 1, 3 - i, 5], "int32")
        add(sa.asarray(values.copy()), values)  # over memory of Python's
    while len(arrays) < 30:
        i, j = rng.randrange(len(arrays)), rng.randrange(len(arrays))
        a, b, x, y = arrays[i], arrays[j], expected[i], expected[j]
        kind = rng.randrange(4)
        if kind == 0: add((a + b) % 1000, (x + y) % 1000)
        elif kind == 1: add(sa.maximum(a, b), np.maximum(x, y))
        elif kind == 2: add(a.reshape(2, 2).T.reshape(4), x.reshape(2, 2).T.reshape(4))
        else:
            first, second = sa.split(a, 2)
            add(sa.concatenate([second, first]), np.roll(x, 2))
    return arrays, expected

def use(arrays, expected, rng, device):
    def act(one, other):
        kind = rng.randrange(10)
        if kind == 0: sa.eval(one, [other])
        elif kind == 1: sa.async_eval(one, other)
        elif kind == 2: sa.export_to_dot(io.StringIO(), one, other)
        elif kind == 3: sa.print_graph(one, other, file=io.StringIO())
        elif kind == 4: sa.evaluation_plan(one, other)
        elif kind == 5: one.is_available(), one.status, one.primitive, other.address
        elif kind == 6: gc.collect(0)
        elif kind == 7:
            gradient = sa.grad(lambda x: (x * x).sum())(one.astype(sa.float32))
            assert np.array_equal(gradient, 2 * np.asarray(one, "float32"))
        elif kind == 8: one += 0  # the object goes on to another array of the same values
        else: one + other
    with sa.stream(device):
        while arrays:
            i = rng.randrange(len(arrays))
            act(arrays[i], rng.choice(arrays))
            got = np.asarray(arrays[i]) if rng.random() < 0.5 else np.array(arrays[i].tolist())
            if not np.array_equal(got, expected[i]): WRONG.append((got, expected[i]))
            del arrays[i], expected[i]

for seed in range(ROUNDS):
    device = DEVICE
    with sa.stream(device):
        arrays, expected = grow(random.Random(seed))
    copies = [(list(arrays), list(expected), random.Random(seed * 7 + i)) for i in range(4)]
    arrays = expected = None
    all_at_once(*[lambda c=copy: use(*c, device) for copy in copies])
    assert not WRONG, (seed, WRONG)
print("done")
"""

PYTHON_WORK = """
machine = sl.sim.Device(1 << 30)
allocator = sl.UnifiedAllocator(machine)
device = sa.Device(allocator)
with sa.stream(device):
    shared = sa.arange(1000, dtype=sa.float32) * 2
ran = []

def queue_work():
    stream = machine.stream()
    for i in range(100):
        stream.work("python", body=lambda i=i: ran.append(i) or [None] * 100)
        stream.wait()

def evaluate():
    for i in range(100):
        with sa.stream(device):
            assert (shared + i).sum().item() == 999000 + 1000 * i

all_at_once(queue_work, queue_work, evaluate, evaluate)
assert not WRONG, WRONG
assert len(ran) == 200 and machine.findings() == []
print("done")
"""

STEPS = """
def train(seed, losses):
    with sa.stream(sa.new_stream()):
        w = sa.array(np.random.default_rng(seed).normal(size=(8, 8)).astype("float32"))
        for _ in range(20):
            loss, gradient = sa.value_and_grad(lambda w: sa.square(sa.tanh(data @ w) - 1).mean())(w)
            w = w - 0.1 * gradient
            sa.eval(loss, w)
            losses.append(loss.item())

data = sa.ones((16, 8)) * 0.5  # lazy, and everybody's
alone, together = [[] for _ in range(4)], [[] for _ in range(4)]
all_at_once(*[lambda i=i: train(i, together[i]) for i in range(4)])
for i in range(4): train(i, alone[i])
assert not WRONG, WRONG
assert together == alone
print("done")
"""


def run(folder, program):
    file = folder / "program.py"
    file.write_text(PROLOGUE + program)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout == "done\n"


@pytest.mark.parametrize(
    "device",
    ["sa.Device()", "sa.Device(sl.UnifiedAllocator())",
     "sa.Device(sl.UnifiedAllocator(sl.sim.Device(1 << 30, interleaving='seeded', seed=seed)))"],
    ids=["host", "unified", "sim"],
)  # fmt: skip
def test_threads_use_one_graph(tmp_path, device):
    run(tmp_path, ONE_GRAPH.replace("DEVICE", device).replace("ROUNDS", "30"))


@pytest.mark.full
@pytest.mark.parametrize(
    "device", ["sa.Device()", "sa.Device(sl.UnifiedAllocator(sl.sim.Device()))"]
)
def test_threads_use_one_graph_for_long(tmp_path, device):
    run(tmp_path, ONE_GRAPH.replace("DEVICE", device).replace("ROUNDS", "600"))


def test_work_of_python_and_evaluations_run_side_by_side(tmp_path):
    """B-26: an evaluation that kept the interpreter's lock would wait for ever."""
    run(tmp_path, PYTHON_WORK)


def test_threads_that_train_over_one_lazy_array_get_what_each_gets_alone(tmp_path):
    run(tmp_path, STEPS)
