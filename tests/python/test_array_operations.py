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


def check_dtype(name, got, dtype, reference):
    """Truth values and integers as NumPy's; floats keep their width, real functions of others are
    float32. The dtypes of mixed operands are MLX's: test_array_promotion.py."""
    if name in ("argmax", "argmin"):
        assert got == "uint32"
    elif reference.kind == "f":
        assert got == (dtype if dtype in FLOATS else "float32")
    else:
        assert got == reference.name


def check_values(name, dtype, seed):
    random = np.random.default_rng([seed, sum(map(ord, name + dtype))])
    shapes, more = CASES[name].shapes(random)
    check_case(name, dtype, shapes, more, random)


def check_case(name, dtype, shapes, more, random):
    case = CASES[name]
    views = [View(random, shape) for shape in shapes]
    bases = [values_of(random, view.base, dtype, case) for view in views]
    ours = [view(sa, sa.array(b, dtype=dtype)) for view, b in zip(views, bases, strict=True)]
    theirs = [view(np, b) for view, b in zip(views, bases, strict=True)]
    got = case.function(sa, *ours, **more)
    expected = np.asarray(case.function(REFERENCE, *theirs, **more))
    assert got.shape == expected.shape
    check_dtype(name, got.dtype.name, dtype, expected.dtype)
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


# Shorter, as long, and longer than the stretches that kernels work on.
LONG = [(511,), (512,), (513,), (1500,), (3, 1000), (1000, 3), (40, 30, 50)]


@pytest.mark.parametrize("shape", LONG, ids=str)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "bfloat16", "float32", "float64"])
def test_long_rows_are_numpys(dtype, shape):
    random = np.random.default_rng(7)
    for name in ("add", "exp", "less", "where"):
        operands, _ = CASES[name].shapes(random)
        check_case(name, dtype, [shape] * len(operands), {}, random)
    for axis in [None, *range(len(shape))]:
        for name in ("sum", "max", "logsumexp", "argmax"):
            check_case(name, dtype, [shape], {"axis": axis, "keepdims": False}, random)
        check_case("softmax", dtype, [shape], {"axis": axis}, random)
    columns = (*shape[:-2], shape[-1], 2) if len(shape) > 1 else shape
    check_case("matmul", dtype, [shape, columns], {}, random)


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


def test_numbers_of_python_take_after_the_array():
    assert (sa.zeros((2,), sa.float16) + 1.5).dtype is sa.float16
    assert (sa.zeros((2,), sa.uint8) + 1).dtype is sa.uint8
    assert (sa.zeros((2,), sa.int32) + 1.5).dtype is sa.float32
    assert (sa.zeros((2,), sa.bool_) + 1).dtype is sa.int32
    assert (2 ** sa.array([1, 2])).tolist() == [2, 4]
    with pytest.raises(ValueError, match="got -10, expected one that uint8"):
        sa.array([250], sa.uint8) - (-10)


def test_bfloat16_keeps_eight_bits():
    x = sa.array([1.0, 1.00390625, 1.01171875], sa.bfloat16)
    assert x.tolist() == [1.0, 1.0, 1.015625]  # halfway: to the even one
    assert (x[:2] + x[:2]).dtype is sa.bfloat16
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(x)


INDICES = [
    np.s_[0], np.s_[-1], np.s_[1:3], np.s_[::-1], np.s_[..., 0], np.s_[None], np.s_[:, None, 1],
    np.s_[5:1], np.s_[1, 2, 3], np.s_[-3:, ::2], np.s_[..., None], np.s_[3:0:-2, ..., -1],
    np.s_[[2, 0, -1]], np.s_[:, [1, 0]], np.s_[[0, 1], [2, 0]], np.s_[[0, 1], :, [3, 0]],
    np.s_[:, [[0], [2]], [1, 3]], np.s_[1, :, [0, 2]], np.s_[..., [[1]]], np.s_[None, [1, 1], None],
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indices_are_numpys(index):
    theirs = np.arange(4 * 3 * 5).reshape(4, 3, 5)
    assert sa.array(theirs)[index].tolist() == theirs[index].tolist()
    wrapped = sa.array(np.ascontiguousarray(theirs.T)).T  # strided
    assert wrapped[index].tolist() == theirs[index].tolist()


def test_numbers_and_lists_have_their_dtypes():
    assert sa.array([[True], [False]]).dtype is sa.bool_
    assert sa.array([1, 2**40]).dtype is sa.int64
    assert sa.array([1, 2.5]).dtype is sa.float32
    assert sa.array(np.zeros(2)).dtype is sa.float32  # as MLX
    assert sa.array([]).shape == (0,)
    assert sa.array([sa.ones((2,)), [3.0, 4.0]]).tolist() == [[1, 1], [3, 4]]
    assert sa.clip(sa.array([-2.0, 0.5, 9.0]), high=1).tolist() == [-2.0, 0.5, 1.0]


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
