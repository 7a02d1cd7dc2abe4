# SPDX-License-Identifier: Apache-2.0
"""Gradients of random compositions against central differences that NumPy computes in float64."""

import random

import pytest

np = pytest.importorskip("numpy")
import strandline as sl  # noqa: E402
import strandline.array as sa  # noqa: E402
from array_cases import REFERENCE  # noqa: E402

STEP = 1e-5
TOLERANCE = 1e-6  # of the largest value in sight


class Composition:
    """A function of two matrices to a number, drawn once, that either module computes."""

    def __init__(self, seed, length=12):
        choose = random.Random(seed)
        self.steps = [choose.choice(STEPS)(choose) for _ in range(length)]
        self.picks = [(choose.random(), choose.random()) for _ in self.steps]

    def __call__(self, m, a, b):
        values = [a, b, a * b]
        for step, (first, second) in zip(self.steps, self.picks, strict=True):
            x = values[int(first * len(values))]
            y = values[int(second * len(values))]
            values.append(step(m, x, y))
        total = m.sum(values[-1], None, False)
        for value in values[3:-1]:
            total = total + m.sum(m.tanh(value), None, False) * 0.25
        return total


# Each step keeps the shape (3, 4), so that all compose; inside it takes another.
def apart(choose):
    cut = choose.randint(0, 4)
    return lambda m, x, y: m.concatenate([x[:, cut:], m.sin(y[:, :cut])], 1)


def backwards(choose):
    step = choose.choice((-1, 1))
    return lambda m, x, y: x[::step] * y[:, ::-1]


def turned(choose):
    return lambda m, x, y: m.transpose(m.reshape(m.transpose(x), (4, 3))) * m.tanh(y)


def product(choose):
    return lambda m, x, y: m.tanh(x @ m.transpose(y)) @ y * 0.3


def folded(choose):
    axis = choose.randint(0, 1)
    name = choose.choice(("sum", "mean", "logsumexp"))
    return lambda m, x, y: x * m.tanh(getattr(m, name)(y, axis, True))


def spread(choose):
    return lambda m, x, y: m.broadcast_to(x[:1], (3, 4)) + y[:, :1]


def softened(choose):
    axis = choose.choice((0, 1, (0, 1)))
    return lambda m, x, y: m.softmax(x, axis) * y


def picked(choose):
    rows = [choose.randint(-3, 2) for _ in range(3)]

    def step(m, x, y):
        at = sa.array(rows) if m is sa else np.array(rows)
        return x[at] + m.sin(y)

    return step


def chosen(choose):
    mask = [[choose.random() < 0.5 for _ in range(4)] for _ in range(3)]

    def step(m, x, y):
        of = sa.array(mask) if m is sa else np.array(mask)
        return m.where(of, x, m.sigmoid(y))

    return step


def parted(choose):
    def step(m, x, y):
        first, second = m.split(x, 2, 1)
        return m.concatenate([second, first * 0.5], 1) * m.cos(y)

    return step


def stacked(choose):
    axis = choose.randint(0, 2)
    return lambda m, x, y: m.mean(m.stack([x, m.sin(y), x * y], axis), axis, False)


def padded(choose):
    return lambda m, x, y: m.pad(x[1:, 1:], ((1, 0), (0, 1)), 0.0) + m.exp(m.tanh(y))


def smooth(choose):
    name = choose.choice(("sin", "tanh", "sigmoid", "square", "erf"))
    return lambda m, x, y: m.tanh(getattr(m, name)(x) - y)


def quotient(choose):
    return lambda m, x, y: x / (1.5 + m.square(m.tanh(y))) + m.sqrt(1.0 + m.square(m.sin(x)))


STEPS = (
    apart, backwards, turned, product, folded, spread, softened, picked, chosen, parted, stacked,
    padded, smooth, quotient,
)  # fmt: skip


def check(seed):
    composed = Composition(seed)
    values = np.random.default_rng(seed)
    a, b, to_a, to_b = (values.uniform(-1.2, 1.2, (3, 4)) for _ in range(4))
    ours = [sa.array(x, dtype=sa.float64) for x in (a, b)]
    value, (of_a, of_b) = sa.value_and_grad(lambda a, b: composed(sa, a, b), argnums=(0, 1))(*ours)
    told = float((np.asarray(of_a) * to_a + np.asarray(of_b) * to_b).sum())

    def along(t):
        return composed(REFERENCE, a + t * to_a, b + t * to_b)

    # Of the fourth order, so that what is left is rounding.
    near, far = along(STEP) - along(-STEP), along(2 * STEP) - along(-2 * STEP)
    slope = (8 * near - far) / (12 * STEP)
    assert value.item() == pytest.approx(along(0.0), rel=1e-10), f"seed {seed}"
    assert told == pytest.approx(slope, rel=TOLERANCE, abs=TOLERANCE), f"seed {seed}"
    return of_a, of_b


def test_gradients_of_compositions_are_slopes():
    for seed in range(150):
        check(seed)


def test_gradients_on_the_simulated_device_are_the_hosts_to_the_bit():
    for seed in range(20):
        expected = [np.asarray(g) for g in check(seed)]
        machine = sl.sim.Device(1 << 30, interleaving="seeded", seed=seed)
        with sa.stream(sa.Device(sl.UnifiedAllocator(machine))):
            for ours, theirs in zip(check(seed), expected, strict=True):
                np.testing.assert_array_equal(np.asarray(ours), theirs, err_msg=f"seed {seed}")
        assert not machine.findings()


@pytest.mark.full
def test_gradients_of_many_compositions_are_slopes():
    for seed in range(1000, 9000):
        check(seed)
