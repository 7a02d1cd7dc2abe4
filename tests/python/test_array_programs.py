# SPDX-License-Identifier: Apache-2.0
"""Random programs on our arrays beside NumPy: views of views, buffers taken over, arrays kept and
dropped, evaluated at once, later or never, on several streams, under seeded interleavings.

Values are small whole numbers, so that every operation is exact and each element must be equal. A
buffer that is reused while somebody still needs it, or read before it is written, shows.
"""

import random

import pytest

np = pytest.importorskip("numpy")
import strandline as sl  # noqa: E402
import strandline.array as sa  # noqa: E402

BOUND = 50  # of the values of an array
LARGEST = 400  # elements of an array
DTYPES = ("int32", "int64", "float32", "float64")


class Program:
    """Arrays in pairs, ours and NumPy's, that random steps make more of."""

    def __init__(self, seed, streams):
        self.choose = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.streams = streams
        self.pairs = []
        self.told = []  # what was done, for who reads a failure

    def run(self, steps):
        for _ in range(steps):
            kinds = ("operation",) * 10 + ("drop",) * 3 + ("evaluate", "schedule", "check", "leaf")
            kind = "leaf" if len(self.pairs) < 3 else self.choose.choice(kinds)
            with sa.stream(self.choose.choice(self.streams)):
                getattr(self, kind)()
        while self.pairs:
            self.check()

    def leaf(self):
        shape = tuple(
            self.choose.choice((0, 1, 2, 3, 4, 6)) for _ in range(self.choose.randint(0, 3))
        )
        dtype = self.choose.choice(DTYPES)
        values = self.values.integers(-BOUND, BOUND, shape).astype(dtype)
        self.keep("leaf", sa.array(values, dtype=dtype), values)

    def keep(self, name, ours, theirs):
        self.told.append(f"{name} {theirs.shape} {theirs.dtype}")
        assert ours.shape == theirs.shape, self.told
        assert str(ours.dtype).endswith(str(theirs.dtype)), (ours.dtype, self.told)
        if np.abs(theirs).max(initial=0) > BOUND:
            ours, theirs = sa.clip(ours, -BOUND, BOUND), np.clip(theirs, -BOUND, BOUND)
        self.pairs.append((ours, theirs))

    def pick(self, keep=0.7):
        """One of the pairs, which then is often gone: only such buffers are taken over."""
        place = self.choose.randrange(len(self.pairs))
        return self.pairs[place] if self.choose.random() < keep else self.pairs.pop(place)

    def drop(self):
        self.pairs.pop(self.choose.randrange(len(self.pairs)))

    def evaluate(self):
        sa.eval(*(ours for ours, _ in self.some()))

    def schedule(self):
        sa.async_eval(*(ours for ours, _ in self.some()))

    def some(self):
        return self.choose.sample(self.pairs, self.choose.randint(1, min(4, len(self.pairs))))

    def check(self):
        ours, theirs = self.pairs.pop(self.choose.randrange(len(self.pairs)))
        np.testing.assert_array_equal(np.asarray(ours), theirs, err_msg="; ".join(self.told))

    # -- operations -------------------------------------------------------------------------------

    def operation(self):
        made = self.choose.choice(OPERATIONS)(self, *self.pick())
        if made is not None and made[1].size <= LARGEST:
            self.keep(*made)

    def unary(self, ours, theirs):
        name = self.choose.choice(("negative", "abs", "sign"))
        return name, getattr(sa, name)(ours), getattr(np, name)(theirs)

    def binary(self, ours, theirs):
        other, their_other = self.pick()
        other, their_other = other.astype(ours.dtype), their_other.astype(theirs.dtype)
        try:
            shape = np.broadcast_shapes(theirs.shape, their_other.shape)
        except ValueError:
            return None
        if np.prod(shape) > LARGEST:
            return None
        name = self.choose.choice(("add", "subtract", "multiply", "maximum", "minimum"))
        made = getattr(sa, name)(ours, other)
        return name, made, getattr(np, name)(theirs, their_other)

    def number(self, ours, theirs):
        number = self.choose.randint(-3, 3)
        ways = (
            ("a + n", lambda a: a + number),
            ("n - a", lambda a: number - a),
            ("a * n", lambda a: a * number),
        )
        name, way = self.choose.choice(ways)
        return name, way(ours), way(theirs)

    def in_place(self, ours, theirs):
        """Who else holds the object sees it."""
        place = [i for i, (held, _) in enumerate(self.pairs) if held is ours]
        ours += 2
        ours -= theirs.dtype.type(1)
        for i in place:
            self.pairs[i] = (ours, theirs + 1)
        return "in place", ours * 2, (theirs + 1) * 2

    def where(self, ours, theirs):
        limit = self.choose.randint(-BOUND, BOUND)
        return (
            "where",
            sa.where(ours > limit, ours, limit),
            np.where(theirs > limit, theirs, limit).astype(theirs.dtype),
        )

    def transpose(self, ours, theirs):
        axes = list(range(theirs.ndim))
        self.choose.shuffle(axes)
        return f"transpose {axes}", sa.transpose(ours, axes), theirs.transpose(axes)

    def reshape(self, ours, theirs):
        factors = [n for n in theirs.shape if n != 1]
        self.choose.shuffle(factors)
        while len(factors) > 1 and self.choose.random() < 0.5:
            factors.append(factors.pop() * factors.pop())
        shape = tuple(factors)
        return f"reshape {shape}", ours.reshape(shape), theirs.reshape(shape)

    def slice(self, ours, theirs):
        def part(n):
            step = self.choose.choice((1, 1, 2, -1, -2, 3))
            bounds = (self.choose.choice((None, self.choose.randint(-n - 1, n + 1))) for _ in "ab")
            return slice(*bounds, step)

        index = tuple(part(n) for n in theirs.shape)
        return f"slice {index}", ours[index], theirs[index]

    def broadcast(self, ours, theirs):
        shape = (self.choose.randint(1, 3), *theirs.shape)
        if np.prod(shape) > LARGEST:
            return None
        return f"broadcast {shape}", sa.broadcast_to(ours, shape), np.broadcast_to(theirs, shape)

    def new_axis(self, ours, theirs):
        axis = self.choose.randint(0, theirs.ndim)
        return f"axis {axis}", sa.expand_dims(ours, axis), np.expand_dims(theirs, axis)

    def split(self, ours, theirs):
        if not theirs.ndim:
            return None
        axis = self.choose.randrange(theirs.ndim)
        at = sorted(self.choose.randint(0, theirs.shape[axis]) for _ in range(2))
        parts = zip(sa.split(ours, at, axis), np.split(theirs, at, axis), strict=True)
        for mine, other in self.choose.sample(list(parts), 2):
            self.keep(f"split {at} {axis}", mine, other)
        return None

    def concatenate(self, ours, theirs):
        if not theirs.ndim or 2 * theirs.size > LARGEST:
            return None
        axis = self.choose.randrange(theirs.ndim)
        made = sa.concatenate([ours, -ours], axis)
        return f"concatenate {axis}", made, np.concatenate([theirs, -theirs], axis)

    def pad(self, ours, theirs):
        widths = [(self.choose.randint(0, 2), self.choose.randint(0, 2)) for _ in theirs.shape]
        if not widths:
            return None
        return f"pad {widths}", sa.pad(ours, widths), np.pad(theirs, widths)

    def take(self, ours, theirs):
        if not theirs.ndim or not theirs.shape[0]:
            return None
        n = theirs.shape[0]
        at = self.values.integers(-n, n, self.choose.randint(1, 4)).astype("int32")
        return f"take {at.tolist()}", ours[sa.array(at)], theirs[at]

    def scatter(self, ours, theirs):
        if not theirs.ndim or not theirs.shape[0]:
            return None
        at = self.values.integers(0, theirs.shape[0], 3).astype("int32")
        updates = self.values.integers(-3, 3, (3, *theirs.shape[1:])).astype(theirs.dtype)
        expected = theirs.copy()
        np.add.at(expected, at, updates)
        made = sa.scatter_add(ours, sa.array(at), sa.array(updates, dtype=ours.dtype))
        return f"scatter {at.tolist()}", made, expected

    def reduce(self, ours, theirs):
        if not theirs.ndim or not theirs.size:
            return None
        axis = self.choose.randrange(theirs.ndim)
        name = self.choose.choice(("sum", "max", "min"))
        kept = self.choose.random() < 0.5
        made = getattr(sa, name)(ours, axis, kept)
        expected = getattr(np, name)(theirs, axis, keepdims=kept).astype(theirs.dtype)
        return f"{name} {axis}", made, np.asarray(expected)

    def matmul(self, ours, theirs):
        if theirs.ndim != 2:
            return None
        made = ours @ ours.T
        return "matmul", made, theirs @ theirs.T

    def cast(self, ours, theirs):
        dtype = self.choose.choice(DTYPES)
        return f"to {dtype}", ours.astype(dtype), theirs.astype(dtype)

    def copy(self, ours, theirs):
        name = self.choose.choice(("contiguous", "stop_gradient"))
        return name, getattr(sa, name)(ours), theirs


OPERATIONS = (
    Program.unary, Program.binary, Program.binary, Program.number, Program.in_place, Program.where,
    Program.transpose, Program.reshape, Program.slice, Program.broadcast, Program.new_axis,
    Program.split, Program.concatenate, Program.pad, Program.take, Program.scatter, Program.reduce,
    Program.matmul, Program.cast, Program.copy,
)  # fmt: skip


def run_on_host(seeds):
    device = sa.Device(sl.HostAllocator())
    streams = [device.default_stream, sa.new_stream(device)]
    for seed in seeds:
        Program(seed, streams).run(120)
    sa.synchronize(device)


def run_simulated(seeds):
    for seed in seeds:
        machine = sl.sim.Device(
            1 << 30, interleaving="seeded", seed=seed,
            order=("by_stream", "by_buffer")[seed % 2], run_at=("wait", "submit")[seed // 2 % 2],
        )  # fmt: skip
        allocator = sl.UnifiedAllocator(machine)
        device = sa.Device(allocator)
        Program(seed, [device.default_stream, sa.new_stream(device)]).run(120)
        sa.synchronize(device)
        assert not machine.findings(), f"seed {seed}: {machine.findings()}"
        assert allocator.statistics()["allocated_count"] == 0, f"seed {seed}"


def test_programs_on_the_host_are_numpys():
    run_on_host(range(40))


def test_programs_on_the_simulated_device_are_numpys_under_every_interleaving():
    run_simulated(range(40))


@pytest.mark.full
def test_many_programs_are_numpys():
    run_on_host(range(1000, 4000))
    run_simulated(range(1000, 3000))
