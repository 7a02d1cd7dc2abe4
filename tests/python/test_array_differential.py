# SPDX-License-Identifier: Apache-2.0
"""Every operation on our arrays against NumPy over random shapes, strides and dtypes, and its
gradient against central differences that NumPy computes in float64."""

import math

import pytest

np = pytest.importorskip("numpy")
import strandline.array as sa  # noqa: E402
from array_cases import ALL, CASES, FLOATS, REFERENCE  # noqa: E402

# Of the largest element of a result.
TOLERANCE = {"float16": 6e-3, "bfloat16": 4e-2, "float32": 2e-5, "float64": 1e-11}


class View:
    """A way to look at more memory: steps, also backwards, along axes in another order, some of
    them repeated; the same for our arrays and NumPy's."""

    def __init__(self, random, shape, repeats=True):
        self.shape = shape
        self.order = [int(i) for i in random.permutation(len(shape))]
        kinds = [int(k) for k in random.integers(0, 6 if repeats else 5, len(shape))]
        if random.random() < 0.3:
            self.order, kinds = list(range(len(shape))), [0] * len(shape)
        steps = {0: 1, 1: 1, 2: 2, 3: -1, 4: -3, 5: 1}
        self.index, base = [], []
        for n, kind in zip(shape, kinds, strict=True):
            step = steps[kind]
            extent = 1 if kind == 5 and n > 0 else n * abs(step) + (kind == 1)
            base.append(extent)
            # What is left of a step at the end keeps the count at n.
            self.index.append(slice(None, n if kind == 1 else None, step))
        self.base = tuple(base[i] for i in self.order)

    def __call__(self, m, base):
        back = [self.order.index(i) for i in range(len(self.order))]
        x = m.transpose(base, back) if self.shape else base
        return m.broadcast_to(x[tuple(self.index)] if self.shape else x, self.shape)


def values_of(random, shape, dtype, case):
    """On a grid of quarters, which every dtype holds and no quotient misses by rounding."""
    values = np.round(random.uniform(case.low, case.high, shape) * 4) / 4
    if dtype == "bool":
        return (values > 0) | case.nonzero
    if dtype.startswith("uint"):
        values = np.abs(values)
    if dtype not in FLOATS:
        values = np.ceil(values) if case.low > 0 else np.trunc(values)
    values = np.where(values == 0, 1, values) if case.nonzero else values
    return values.astype("float64" if dtype in FLOATS else dtype)


def check_values(name, dtype, seed):
    case = CASES[name]
    random = np.random.default_rng([seed, sum(map(ord, name + dtype))])
    shapes, more = case.shapes(random)
    views = [View(random, shape) for shape in shapes]
    bases = [values_of(random, view.base, dtype, case) for view in views]
    ours = [view(sa, sa.array(b, dtype=dtype)) for view, b in zip(views, bases, strict=True)]
    theirs = [view(np, b) for view, b in zip(views, bases, strict=True)]
    got = case.function(sa, *ours, **more)
    expected = np.asarray(case.function(REFERENCE, *theirs, **more))
    assert got.shape == expected.shape
    tolerance = TOLERANCE.get(got.dtype.name, 0)
    wide = sa.astype(got, sa.float64) if got.dtype.name == "bfloat16" else got
    largest = float(np.abs(expected.astype("float64")).max(initial=1))
    np.testing.assert_allclose(
        np.asarray(wide).astype("float64"), expected.astype("float64"),
        rtol=tolerance, atol=tolerance * largest,
    )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys(name):
    for dtype in ALL:
        if dtype not in CASES[name].dtypes:
            continue
        for seed in range(12):
            try:
                check_values(name, dtype, seed)
            except Exception as error:
                raise AssertionError(f"{name} of {dtype} with seed {seed}") from error


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys_long(name):
    for dtype in CASES[name].dtypes:
        for seed in range(12, 300):
            try:
                check_values(name, dtype, seed)
            except Exception as error:
                raise AssertionError(f"{name} of {dtype} with seed {seed}") from error


def apart(random, shape, case):
    """No two equal, so that steps of the differences cross no kink."""
    count = math.prod(shape)
    places = (random.permutation(count) + random.uniform(0.2, 0.8, count)) / max(count, 1)
    values = case.low + (case.high - case.low) * places
    return np.where(np.abs(values) < 0.02, 0.5, values).reshape(shape)


def check_gradient(name, seed):
    case = CASES[name]
    random = np.random.default_rng([seed, sum(map(ord, name))])
    shapes, more = case.shapes(random)
    views = [View(random, shape, repeats=not case.has_kinks) for shape in shapes]
    bases = [apart(random, view.base, case) for view in views]

    def result(m, inputs):
        return case.function(m, *(v(m, x) for v, x in zip(views, inputs, strict=True)), **more)

    shape = np.shape(result(REFERENCE, bases))
    weights = random.uniform(0.5, 1.5, shape)

    def loss(*inputs):
        return sa.sum(result(sa, inputs) * sa.array(weights, dtype=sa.float64))

    inputs = [sa.array(b, dtype=sa.float64) for b in bases]
    gradients = sa.grad(loss, argnums=tuple(range(len(inputs))))(*inputs)
    for which, gradient in enumerate(gradients if len(inputs) > 1 else [gradients]):
        gradient = gradient[0] if isinstance(gradient, (tuple, list)) else gradient
        got = np.asarray(gradient)
        assert got.shape == bases[which].shape
        for place in np.ndindex(got.shape):
            moved = []
            for step in (1e-6, -1e-6):
                shifted = [b.copy() for b in bases]
                shifted[which][place] += step
                moved.append(float((np.asarray(result(REFERENCE, shifted)) * weights).sum()))
            expected = (moved[0] - moved[1]) / 2e-6
            assert got[place] == pytest.approx(expected, rel=2e-5, abs=2e-6), (which, place)


SMOOTH = [name for name, case in CASES.items() if case.has_gradient]


@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_central_differences(name):
    for seed in range(8):
        try:
            check_gradient(name, seed)
        except Exception as error:
            raise AssertionError(f"{name} with seed {seed}") from error


@pytest.mark.full
@pytest.mark.parametrize("name", SMOOTH)
def test_gradients_are_central_differences_long(name):
    for seed in range(8, 150):
        try:
            check_gradient(name, seed)
        except Exception as error:
            raise AssertionError(f"{name} with seed {seed}") from error


@pytest.mark.parametrize("dtype", ALL)
def test_casts_are_numpys(dtype):
    for source in ALL:
        case = CASES["add"]
        for seed in range(6):
            random = np.random.default_rng([seed, ALL.index(source)])
            view = View(random, tuple(int(n) for n in random.integers(0, 5, 3)))
            base = values_of(random, view.base, source, case)
            if "uint" in dtype:  # below 0 it is NumPy that leaves the answer to the processor
                base = np.abs(base) if source != "bool" else base
            got = view(sa, sa.array(base, dtype=source)).astype(dtype)
            assert got.dtype.name == dtype
            wide = np.asarray(got.astype("float64"))
            plain = "float64" if dtype in FLOATS else dtype
            np.testing.assert_array_equal(wide, view(np, base).astype(plain).astype("float64"))


@pytest.mark.parametrize("dtype", ALL)
def test_what_is_made_of_nothing_is_numpys(dtype):
    kept = "float64" if dtype in FLOATS else dtype

    def expect(ours, theirs):
        assert ours.dtype.name == dtype
        np.testing.assert_array_equal(np.asarray(ours.astype("float64")), theirs.astype(kept))

    for shape in ((), (0,), (3,), (2, 0, 3), (2, 3, 4)):
        expect(sa.zeros(shape, dtype), np.zeros(shape))
        expect(sa.ones(shape, dtype), np.ones(shape))
        expect(sa.full(shape, 1, dtype), np.ones(shape))
        like = sa.ones(shape, dtype)
        expect(sa.zeros_like(like), np.zeros(shape))
        expect(sa.ones_like(sa.zeros_like(like)), np.ones(shape))
    for rows, columns, diagonal in ((3, 3, 0), (2, 4, 1), (4, 2, -1), (0, 3, 0), (2, 2, 5)):
        expect(sa.eye(rows, columns, diagonal, dtype), np.eye(rows, columns, diagonal))
    if dtype != "bool":
        for bounds in ((5,), (1, 9, 2), (3, 3), (7, 0, -3)):
            expect(sa.arange(*bounds, dtype=dtype), np.arange(*bounds))


def test_erfinv_undoes_erf():
    x = np.random.default_rng(1).uniform(-2.5, 2.5, 500)
    back = sa.erfinv(sa.erf(sa.array(x, dtype=sa.float64)))
    np.testing.assert_allclose(np.asarray(back), x, rtol=1e-9)


def test_every_operation_has_a_case():
    others = {  # asked elsewhere
        "array", "zeros", "ones", "full", "zeros_like", "ones_like", "arange", "eye", "erfinv",
        "stop_gradient", "astype", "contiguous", "copy", "broadcast_arrays", "gather", "scalar",
    }  # fmt: skip
    cases = {"indexing": "slice"}
    names = {cases.get(name, name) for name in CASES}
    functions = {n for n in dir(sa) if callable(getattr(sa, n)) and not n.startswith("_")}
    known = {*names, *others}
    missing = {n for n in functions if n in dir(np) and n not in known and n.islower()}
    assert missing - {"array_equal", "asarray", "from_dlpack"} == set()
