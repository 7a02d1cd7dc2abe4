# SPDX-License-Identifier: Apache-2.0
"""Operations on our arrays against NumPy, over random shapes, strides and dtypes."""

import math

import pytest

np = pytest.importorskip("numpy")
import strandline.array as sa  # noqa: E402

DTYPES = ["bool", "uint8", "uint32", "int32", "int64", "float16", "float32", "float64"]
TOLERANCE = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-12}


def tolerance_of(dtype):
    return TOLERANCE.get(str(dtype), 0)


class Maker:
    """Random arrays, ours and NumPy's of the same values, some of them strided views."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def shape(self):
        return tuple(int(n) for n in self.random.integers(0, 5, self.random.integers(0, 4)))

    def values(self, shape, dtype, low=-3.0, high=3.0):
        values = self.random.uniform(low, high, shape)
        if dtype.startswith("uint"):
            values = np.abs(values) * 20
        elif dtype.startswith("int"):
            values = values * 20
        return (values > 0) if dtype == "bool" else values.astype(dtype)

    def pair(self, shape, dtype, low=-3.0, high=3.0):
        kind = self.random.integers(0, 4)
        if kind == 1 and len(shape) >= 2:  # transposed
            theirs = self.values(shape[::-1], dtype, low, high)
            return sa.array(theirs, dtype).T, theirs.T
        if kind == 2 and len(shape) >= 1 and shape[-1] > 0:  # every other, backwards
            theirs = self.values((*shape[:-1], 2 * shape[-1]), dtype, low, high)
            return sa.array(theirs, dtype)[..., ::-2], theirs[..., ::-2]
        if kind == 3 and len(shape) >= 1:  # spread over an axis
            theirs = self.values((1, *shape[1:]), dtype, low, high)
            return sa.broadcast_to(sa.array(theirs, dtype), shape), np.broadcast_to(theirs, shape)
        theirs = self.values(shape, dtype, low, high)
        return sa.array(theirs, dtype), theirs


def expect(ours, theirs, tolerance=None):
    got = np.asarray(ours)
    assert got.shape == np.shape(theirs)
    tolerance = tolerance_of(got.dtype) if tolerance is None else tolerance
    np.testing.assert_allclose(
        got.astype("float64"), np.asarray(theirs).astype("float64"), tolerance, tolerance
    )


UNARY = {
    "negative": np.negative, "abs": np.abs, "sign": np.sign, "square": np.square,
    "logical_not": np.logical_not, "floor": np.floor, "ceil": np.ceil, "round": np.round,
}  # fmt: skip
REAL = {
    "exp": np.exp, "tanh": np.tanh, "sin": np.sin, "cos": np.cos,
    "sigmoid": lambda a: 1 / (1 + np.exp(-a)),
    "erf": np.vectorize(math.erf, otypes=["float64"]),
}  # fmt: skip
POSITIVE = {"log": np.log, "sqrt": np.sqrt, "rsqrt": lambda a: 1 / np.sqrt(a)}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number_are_numpys(name, dtype):
    maker = Maker(1)
    if dtype == "bool" and name in ("negative", "sign", "square", "floor", "ceil", "round"):
        return
    for _ in range(20):
        ours, theirs = maker.pair(maker.shape(), dtype)
        got = getattr(sa, name)(ours)
        assert got.dtype.name == ("bool" if name == "logical_not" else dtype)
        expect(got, UNARY[name](theirs), 0)


@pytest.mark.parametrize("dtype", ["int32", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", [*REAL, *POSITIVE])
def test_functions_of_real_numbers_are_numpys(name, dtype):
    maker = Maker(2)
    for _ in range(20):
        low, high = (0.2, 3.0) if name in POSITIVE else (-3.0, 3.0)
        ours, theirs = maker.pair(maker.shape(), dtype, low, high)
        if name in POSITIVE and dtype == "int32":
            ours, theirs = sa.abs(ours) + 1, np.abs(theirs) + 1
        got = getattr(sa, name)(ours)
        assert got.dtype.name == (dtype if dtype.startswith("float") else "float32")
        expect(got, {**REAL, **POSITIVE}[name](theirs.astype("float64")))


BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "maximum": np.maximum,
    "minimum": np.minimum, "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
    "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    "logical_and": np.logical_and, "logical_or": np.logical_or,
}  # fmt: skip


def broadcast_pair(maker):
    shape = maker.shape()
    other = tuple(n if maker.random.random() < 0.7 else 1 for n in shape)
    return shape, other[int(maker.random.integers(0, len(shape) + 1)) :]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers_broadcast_as_numpys(name, dtype):
    maker = Maker(3)
    if dtype == "bool" and name == "subtract":
        return  # NumPy has none
    for _ in range(20):
        a, b = broadcast_pair(maker)
        (x, p), (y, q) = maker.pair(a, dtype), maker.pair(b, dtype)
        if maker.random.random() < 0.3:
            x, p, y, q = y, q, x, p
        got = getattr(sa, name)(x, y)
        expected = BINARY[name](p, q)
        assert got.dtype.name == str(expected.dtype)
        expect(got, expected, tolerance_of(dtype))


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "divide", "power"])
def test_divisions_are_pythons(name, dtype):
    maker = Maker(4)
    for _ in range(20):
        a, b = broadcast_pair(maker)
        (x, p), (y, q) = maker.pair(a, dtype), maker.pair(b, dtype)
        if name == "power":
            y, q = sa.abs(y) / 20, np.abs(q) / 20
            if not dtype.startswith("float"):
                y, q = sa.astype(y, dtype), q.astype(dtype)
            x, p = sa.abs(x), np.abs(p)
        else:
            y, q = sa.where(y == 0, 1, y), np.where(q == 0, 1, q).astype(dtype)
        expected = {"divide": np.true_divide, "power": np.power}.get(name, getattr(np, name))(p, q)
        if name == "floor_divide" and dtype.startswith("float"):
            expected = np.floor(p / q)
        expect(getattr(sa, name)(x, y), expected, 1e-4 if dtype != "float64" else 1e-10)


def test_numbers_of_python_take_after_the_array():
    assert (sa.zeros((2,), sa.float16) + 1.5).dtype is sa.float16
    assert (sa.zeros((2,), sa.uint8) + 1).dtype is sa.uint8
    assert (sa.zeros((2,), sa.int32) + 1.5).dtype is sa.float32
    assert (sa.zeros((2,), sa.bool_) + 1).dtype is sa.int32
    assert (2 ** sa.array([1, 2])).tolist() == [2, 4]
    with pytest.raises(ValueError, match="got -10, expected one that uint8"):
        sa.array([250], sa.uint8) - (-10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_are_numpys(dtype):
    maker = Maker(5)
    for source in DTYPES:
        ours, theirs = maker.pair((3, 4), source)
        if source.startswith(("int", "float")) and dtype.startswith("uint"):
            ours, theirs = sa.abs(ours), np.abs(theirs)
        got = sa.astype(ours, dtype)
        assert got.dtype.name == dtype
        expect(got, theirs.astype(dtype), 1e-3 if dtype == "float16" else 0)


def test_bfloat16_keeps_eight_bits():
    x = sa.array([1.0, 1.00390625, 1.01171875], sa.bfloat16)
    assert x.tolist() == [1.0, 1.0, 1.015625]  # halfway: to the even one
    assert (x[:2] + x[:2]).dtype is sa.bfloat16
    with pytest.raises(BufferError, match="bfloat16"):
        memoryview(x)


REDUCTIONS = {"sum": np.sum, "prod": np.prod, "mean": np.mean, "max": np.max, "min": np.min}


def random_axes(maker, rank):
    if rank == 0 or maker.random.random() < 0.3:
        return None
    count = int(maker.random.integers(1, rank + 1))
    return tuple(int(i) for i in maker.random.permutation(rank)[:count])


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float16", "float32", "float64"])
@pytest.mark.parametrize("name", [*REDUCTIONS, "var", "logsumexp", "softmax"])
def test_reductions_are_numpys(name, dtype):
    maker = Maker(6)
    for _ in range(40):
        shape = maker.shape()
        axes = random_axes(maker, len(shape))
        empty = name in ("max", "min", "mean", "var", "logsumexp", "softmax") and 0 in shape
        if empty or (name in ("var", "softmax", "logsumexp") and dtype == "bool"):
            continue
        ours, theirs = maker.pair(shape, dtype, -1.2, 1.2)
        keep = bool(maker.random.integers(0, 2))
        wide = theirs.astype("float64")
        if name == "softmax":
            e = np.exp(wide - wide.max(initial=-100))
            expect(sa.softmax(ours, axes), e / e.sum(axis=axes, keepdims=True), 2e-3)
            continue
        if name == "logsumexp":
            expected = np.log(np.exp(wide).sum(axis=axes, keepdims=keep))
        elif name == "var":
            expected = np.var(wide, axis=axes, keepdims=keep)
        elif name == "prod" and dtype.startswith("int"):
            expected = np.prod(theirs, axis=axes, keepdims=keep, dtype=dtype)
        else:
            expected = REDUCTIONS[name](
                wide if dtype.startswith("float") else theirs, axis=axes, keepdims=keep
            )
        got = getattr(sa, name)(ours, axes, keep)
        expect(got, expected, 3e-2 if dtype == "float16" else 1e-4)


@pytest.mark.parametrize("name", ["sum", "max"])
@pytest.mark.parametrize("shape", [(1000,), (3, 1000), (1000, 3), (40, 50, 60)])
def test_long_reductions_are_numpys_along_each_axis(name, shape):
    theirs = np.random.default_rng(7).standard_normal(shape)
    for ours in (sa.array(theirs, sa.float64), sa.array(theirs.T.copy(), sa.float64).T):
        for axis in [None, *range(len(shape))]:
            got = getattr(sa, name)(ours, axis)
            expect(got, getattr(np, name)(theirs, axis=axis), 1e-10)


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float32", "float64"])
def test_argmax_and_argmin_are_numpys(dtype):
    maker = Maker(8)
    for _ in range(20):
        shape = tuple(max(n, 1) for n in maker.shape())
        ours, theirs = maker.pair(shape, dtype)
        axis = int(maker.random.integers(0, len(shape))) if shape else None
        for name in ("argmax", "argmin"):
            got = getattr(sa, name)(ours, axis)
            assert got.dtype is sa.uint32
            expect(got, getattr(np, name)(theirs, axis=axis), 0)
    assert sa.argmax(sa.array([1.0, math.nan, 2.0])).item() == 1


def test_matmul_is_numpys_over_shapes_strides_and_dtypes():
    maker = Maker(9)
    for dtype in ("int32", "float16", "float32", "float64"):
        for _ in range(25):
            m, n, k = (int(i) for i in maker.random.integers(0, 6, 3))
            batch = maker.shape()[:2]
            a_shape = (*batch, m, k) if maker.random.random() < 0.8 else (k,)
            b_shape = (*batch[1:], k, n) if maker.random.random() < 0.8 else (k,)
            (x, p), (y, q) = maker.pair(a_shape, dtype), maker.pair(b_shape, dtype)
            wide = "float64" if dtype.startswith("float") else dtype
            expected = np.matmul(p.astype(wide), q.astype(wide))
            expect(x @ y, expected, {"float16": 5e-2, "float32": 1e-4}.get(dtype, 1e-10))


def test_where_and_clip_are_numpys():
    maker = Maker(10)
    for dtype in DTYPES:
        for _ in range(10):
            shape, other = broadcast_pair(maker)
            (c, r), (x, p), (y, q) = (
                maker.pair(shape, "bool"), maker.pair(other, dtype), maker.pair(shape, dtype),
            )  # fmt: skip
            expect(sa.where(c, x, y), np.where(r, p, q), 0)
    x = sa.array([-2.0, 0.5, 9.0])
    assert sa.clip(x, -1, 1).tolist() == [-1.0, 0.5, 1.0]
    assert sa.clip(x, high=1).tolist() == [-2.0, 0.5, 1.0]


INDICES = [
    np.s_[0], np.s_[-1], np.s_[1:3], np.s_[::-1], np.s_[..., 0], np.s_[None], np.s_[:, None, 1],
    np.s_[5:1], np.s_[1, 2, 3], np.s_[-3:, ::2], np.s_[..., None], np.s_[3:0:-2, ..., -1],
    np.s_[[2, 0, -1]], np.s_[:, [1, 0]], np.s_[[0, 1], [2, 0]], np.s_[[0, 1], :, [3, 0]],
    np.s_[:, [[0], [2]], [1, 3]], np.s_[1, :, [0, 2]], np.s_[..., [[1]]], np.s_[None, [1, 1], None],
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_indices_are_numpys(index):
    theirs = np.arange(4 * 3 * 5).reshape(4, 3, 5)
    expect(sa.array(theirs)[index], theirs[index], 0)
    wrapped = sa.array(np.ascontiguousarray(theirs.T)).T  # strided
    expect(wrapped[index], theirs[index], 0)


def test_moves_are_numpys():
    maker = Maker(11)
    for _ in range(20):
        shape = tuple(int(n) for n in maker.random.integers(1, 5, 3))
        (x, p), (y, q) = maker.pair(shape, "float32"), maker.pair(shape, "float32")
        axis = int(maker.random.integers(-3, 3))
        expect(sa.concatenate([x, y], axis), np.concatenate([p, q], axis), 0)
        expect(sa.stack([x, y], axis), np.stack([p, q], axis), 0)
        indices = maker.random.integers(-shape[axis], shape[axis], (2, 3))
        expect(sa.take(x, sa.array(indices), axis), np.take(p, indices, axis), 0)
        widths = [tuple(int(n) for n in maker.random.integers(0, 3, 2)) for _ in range(3)]
        expect(sa.pad(x, widths, 7), np.pad(p, widths, constant_values=7), 0)
        expect(sa.moveaxis(x, 0, axis), np.moveaxis(p, 0, axis), 0)
        expect(x.reshape(-1, shape[0]), p.reshape(-1, shape[0]), 0)
        for ours, theirs in zip(sa.split(x, [1, 2], axis), np.split(p, [1, 2], axis), strict=True):
            expect(ours, theirs, 0)
    total = np.zeros((4, 2), "float32")
    np.add.at(total, [3, 0, 3], 1)
    expect(sa.scatter_add(sa.zeros((4, 2)), [3, 0, 3], sa.ones((3, 2))), total, 0)


def test_creation_is_numpys():
    expect(sa.arange(5), np.arange(5), 0)
    expect(sa.arange(1, 2, 0.25), np.arange(1, 2, 0.25), 0)
    expect(sa.arange(5, 0, -2), np.arange(5, 0, -2), 0)
    expect(sa.eye(3, 4, 1), np.eye(3, 4, 1), 0)
    expect(sa.full((2, 2), 7), np.full((2, 2), 7), 0)
    assert sa.array([[True], [False]]).dtype is sa.bool_
    assert sa.array([1, 2**40]).dtype is sa.int64
    assert sa.array([1, 2.5]).dtype is sa.float32
    assert sa.array(np.zeros(2)).dtype is sa.float32  # as MLX
    assert sa.array([]).shape == (0,)
    assert sa.array([sa.ones((2,)), [3.0, 4.0]]).tolist() == [[1, 1], [3, 4]]
