# SPDX-License-Identifier: Apache-2.0
"""Where functions have corners: infinities, NaN, zeros, ties, ends of integers, huge steps. What
stock MLX says of them is asked in a process of its own; NumPy and Python are asked here."""

import json
import math
import subprocess
import sys
import warnings

import pytest

np = pytest.importorskip("numpy")
import strandline.array as sa  # noqa: E402

INF, NAN = math.inf, math.nan

# Functions of a module m, which is MLX or ours.
PROGRAM = """
import math
INF, NAN = math.inf, math.nan
CORNERS = [-INF, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, INF, NAN]
PAIRS = [(a, b) for a in CORNERS for b in CORNERS]

def gradients(m):
    told = {}
    def tell(name, function, *operands):
        which = tuple(range(len(operands)))
        loss = lambda *xs: function(*xs).astype(m.float32).sum()
        made = m.grad(loss, argnums=which)(*(m.array(x) for x in operands))
        made = made if isinstance(made, (tuple, list)) else [made]
        told[name] = [g.tolist() for g in made]
    for name in ("abs", "sign", "sqrt", "rsqrt", "log", "exp", "tanh", "sigmoid", "erf", "erfinv",
                 "square", "sin", "cos", "floor", "round"):
        tell(name, getattr(m, name), CORNERS)
    left, right = [a for a, b in PAIRS], [b for a, b in PAIRS]
    for name in ("divide", "power", "maximum", "minimum", "logaddexp", "remainder", "multiply"):
        tell(name, getattr(m, name), left, right)
    for power in (-1, 0, 1, 2, 3):
        tell(f"** {power}", lambda x: x ** power, CORNERS)
    tell("2 **", lambda x: 2.0 ** x, CORNERS)
    tell("clip", lambda x: m.clip(x, -1.0, 1.0), CORNERS)
    tell("clip below", lambda x: m.clip(x, -1.0, None), CORNERS)
    tell("clip between arrays", m.clip, [-1.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [1.0, 0.0, 1.0])
    tell("where not taken", lambda x: m.where(x > 0, m.log(x), 0.0), [0.0, 1.0, -1.0])
    tell("where of nan", lambda x: m.where(x > 0, x, x * NAN), [0.0, 1.0, -1.0])
    for name in ("max", "min", "prod", "logsumexp"):
        for values in ([1.0, 3.0, 3.0, 1.0], [3.0], [1.0, NAN, 3.0], [INF, INF, 3.0], [-0.0, 0.0],
                       [0.0, 3.0, 4.0], [0.0, 0.0, 4.0], [0.0], [INF, 2.0], [-INF, 1.0],
                       [-INF, -INF]):
            tell(f"{name} {values}", getattr(m, name), values)
        tell(f"{name} of columns", lambda x: getattr(m, name)(x, axis=0), [[1.0, 0.0], [1.0, 3.0]])
    tell("softmax", lambda x: m.softmax(x)[0], [-INF, 1.0, 2.0])
    tell("var of one", lambda x: m.var(x, ddof=1), [1.0])
    tell("deviation of equals", lambda x: m.sqrt(m.var(x)), [1.0, 1.0])
    tell("norm of zeros", lambda x: m.sqrt(m.sum(x * x)), [0.0, 0.0])
    tell("large logits", m.logsumexp, [1e4, 1e4 + 1, 1e4 - 2])
    return told

def folds(m):
    rows = [[[-INF, 1.0], [-INF, 2.0]], [[INF, 1.0], [1.0, INF]], [[-INF, -INF], [1.0, 2.0]],
            [[INF, -INF], [NAN, 1.0]], [[INF, INF], [0.0, 1.0]], [[1e4, 1e4], [-1e4, 3.0]]]
    told = {}
    for values in rows:
        a = m.array(values)
        for axis in (None, 0, 1, -1, (0, 1)):
            for name in ("softmax", "logsumexp", "max", "min", "sum", "prod", "argmax"):
                if name == "argmax" and isinstance(axis, tuple):
                    continue
                told[f"{name} {values} {axis}"] = getattr(m, name)(a, axis=axis).tolist()
    for ddof in (-1, 0, 1, 2, 3, 4, 5):
        told[f"var {ddof}"] = m.var(m.array([1.0, 2.0, 4.0]), ddof=ddof).tolist()
        told[f"var of rows {ddof}"] = m.var(m.array([[1.0, 2.0]] * 2), axis=1, ddof=ddof).tolist()
    for at in ([3, 1], [1, 3], [0, 0], [7], [-2], [-9], [2, 2], [4, 2, 5], [], [10, 3], [-1, -3]):
        told[f"split {at}"] = [part.tolist() for part in m.split(m.arange(6), at)]
    return told

def ranges(m):
    told = {}
    for bounds in ((5,), (2**31, 2**31 + 3), (2**31 - 2, 2**31), (-2**31, 0, 2**30),
                   (0, 2**31, 2**30), (-2**40, -2**40 + 3), (2**40, 2**40 + 4, 2),
                   (0, -3, -1), (3, 0), (0.0, 5),
                   (0, 1.0, 0.25), (1, 2, 0.3)):
        made = m.arange(*bounds)
        told[str(bounds)] = [str(made.dtype).rpartition(".")[2], made.tolist()]
    for bounds, dtype in (((0, 1.5, 0.5), "int32"), ((0, 5, 1.5), "int32"), ((-3.7, 3), "int64"),
                          ((0, 300, 100), "uint8"), ((5,), "float16"), ((1, 10, 3), "bfloat16")):
        made = m.arange(*bounds, dtype=getattr(m, dtype))
        told[str((bounds, dtype))] = made.astype(m.float32).tolist()
    return told
"""


@pytest.fixture(scope="module")
def both():
    """What each function tells: ours and MLX's."""
    pytest.importorskip("mlx.core")
    theirs = """
import json, mlx.core as mx
mx.set_default_device(mx.cpu)
print(json.dumps([f(mx) for f in (gradients, folds, ranges)]))
"""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + theirs], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    scope = {}
    exec(PROGRAM, scope)
    ours = [json.loads(json.dumps(scope[n](sa))) for n in ("gradients", "folds", "ranges")]
    return list(zip(ours, json.loads(done.stdout), strict=True))


def flat(values):
    return [x for v in values for x in flat(v)] if isinstance(values, list) else [values]


def different(ours, theirs):
    def is_same(a, b):
        if isinstance(a, str) or isinstance(b, str):
            return a == b
        return a == b or (a != a and b != b) or abs(a - b) <= 1e-5 * max(1, abs(b))

    assert ours.keys() == theirs.keys()
    for what in ours:
        a, b = flat(ours[what]), flat(theirs[what])
        if len(a) != len(b):
            yield what, ours[what], theirs[what]
        yield from (
            (what, i, x, y) for i, (x, y) in enumerate(zip(a, b, strict=False)) if not is_same(x, y)
        )


def test_gradients_at_corners_are_mlxs(both):
    # A NaN stays one: MLX has the sign of NaN, and so the slope of abs there, as 0.
    found = [d for d in different(*both[0]) if not (d[0] == "abs" and d[1] == 8)]
    assert found == []


def test_folds_of_corners_and_parts_are_mlxs(both):
    assert list(different(*both[1])) == []


def test_ranges_are_mlxs(both):
    assert list(different(*both[2])) == []


# -- NumPy ----------------------------------------------------------------------------------------

ENDS = {
    "uint8": [0, 1, 2, 5, 7, 255], "uint32": [0, 1, 2, 7, 2**31, 2**32 - 1],
    "int32": [0, 1, -1, 2, -2, 7, -7, 2**31 - 1, -(2**31)],
    "int64": [0, 1, -1, 2, -2, 7, -7, 2**63 - 1, -(2**63)],
}  # fmt: skip
CORNERS = [-INF, -7.5, -2.5, -2, -1.5, -1, -0.5, -0.0, 0.0, 0.5, 1, 1.5, 2, 2.5, 7.5, INF, NAN]
FLOATS = {"float16": CORNERS, "float32": CORNERS, "float64": CORNERS}


def expect_same(got, expected, tolerance=0.0):
    got, expected = np.asarray(got).astype("float64"), np.asarray(expected).astype("float64")
    np.testing.assert_allclose(got, expected, rtol=tolerance)
    zeros = (got == 0) & (expected == 0)
    assert (np.signbit(got) == np.signbit(expected))[zeros].all()


def pairs_of(dtype, values):
    left, right = np.meshgrid(np.array(values, dtype), np.array(values, dtype))
    return left.ravel(), right.ravel()


@pytest.mark.parametrize("dtype", ENDS)
def test_integers_at_their_ends_are_numpys(dtype):
    p, q = pairs_of(dtype, ENDS[dtype])
    x, y = sa.array(p, dtype=dtype), sa.array(q, dtype=dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("add", "subtract", "multiply", "floor_divide", "remainder", "maximum",
                     "minimum", "less", "equal"):  # fmt: skip
            assert np.asarray(getattr(sa, name)(x, y)).tolist() == getattr(np, name)(p, q).tolist()
        for name in ("negative", "abs", "sign", "square", "logical_not"):
            assert np.asarray(getattr(sa, name)(x)).tolist() == getattr(np, name)(p).tolist(), name


@pytest.mark.parametrize("dtype", ENDS)
def test_powers_of_integers_are_pythons_modulo_their_width(dtype):
    bits = 8 * np.dtype(dtype).itemsize
    for base in ENDS[dtype]:
        for exponent in (0, 1, 2, 3, 7, 63, 255):
            expected = pow(base, exponent, 2**bits)
            if dtype.startswith("int") and expected >= 2 ** (bits - 1):
                expected -= 2**bits
            x = sa.array([base], dtype=getattr(sa, dtype))
            got = sa.power(x, sa.array([exponent], dtype=getattr(sa, dtype))).item()
            assert got == expected, (base, exponent)
    if dtype.startswith("int"):
        bases = sa.array([1, -1, -1, 2, -7, 0], dtype=getattr(sa, dtype))
        exponents = sa.array([-3, -3, -2, -1, -1, -1], dtype=getattr(sa, dtype))
        assert sa.power(bases, exponents).tolist() == [1, -1, 1, 0, 0, 0]


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_at_their_corners_are_numpys(dtype):
    p, q = pairs_of(dtype, CORNERS)
    x, y = sa.array(p, dtype=dtype), sa.array(q, dtype=dtype)
    with np.errstate(all="ignore"):
        for name in ("add", "subtract", "multiply", "divide", "remainder", "less", "less_equal",
                     "greater", "equal", "not_equal", "logical_and", "logical_or"):  # fmt: skip
            expect_same(getattr(sa, name)(x, y), getattr(np, name)(p, q))
        # Of zeros of two signs either is the largest.
        for name in ("maximum", "minimum"):
            np.testing.assert_array_equal(
                np.asarray(getattr(sa, name)(x, y)), getattr(np, name)(p, q)
            )
        expect_same(
            sa.floor_divide(x, y), np.floor(p / q)
        )  # as MLX: infinite where the quotient is
        tolerance = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14}[dtype]
        for name in ("power", "logaddexp"):
            expect_same(getattr(sa, name)(x, y), getattr(np, name)(p, q), tolerance)
        for name in ("negative", "abs", "square", "floor", "ceil", "round", "sign", "logical_not"):
            expect_same(
                getattr(sa, name)(x), np.sign(p) if name == "sign" else getattr(np, name)(p)
            )
        for name in ("exp", "log", "sqrt", "tanh", "sin", "cos"):
            expect_same(getattr(sa, name)(x), getattr(np, name)(p), tolerance)


def test_floats_become_the_nearest_integers_that_there_are():
    numbers = [1.9, -1.9, 300.0, -300.0, 3e9, -3e9, 1e20, -1e20, INF, -INF, NAN]
    for dtype, low, high in (("uint8", 0, 255), ("uint32", 0, 2**32 - 1),
                             ("int32", -(2**31), 2**31 - 1),
                             ("int64", -(2**63), 2**63 - 1)):  # fmt: skip
        for source in (sa.float32, sa.float64):
            got = sa.array(numbers, dtype=source).astype(getattr(sa, dtype)).tolist()
            whole = [0 if n != n else n if math.isinf(n) else math.trunc(n) for n in numbers]
            assert got == [int(min(max(n, low), high)) for n in whole], dtype
    assert sa.array([0.5, NAN, -0.0]).astype(sa.bool_).tolist() == [True, True, False]
    assert sa.array([256, -1], dtype=sa.int64).astype(sa.uint8).tolist() == [0, 255]


def test_ranges_are_exact_where_mlx_goes_through_doubles():
    for start in (2**53 + 1, 2**62 + 1, -(2**63), 2**63 - 4):
        expected = list(range(start, start + 3))
        for made in (sa.arange(start, start + 3), sa.arange(start, start + 3, dtype=sa.int64)):
            assert (made.dtype, made.tolist()) == (sa.int64, expected)
    wide = sa.arange(-(2**63), 2**63 - 1, 2**62)
    assert wide.tolist() == list(range(-(2**63), 2**63 - 1, 2**62))
    assert sa.arange(np.int64(3)).dtype is sa.int32
    assert sa.arange(2045, 2051, dtype=sa.float16).tolist() == [2045, 2046, 2047, 2048, 2048, 2050]


BOUNDS = [0, 1, 5, 2**31, 2**62, 2**63 - 1, 2**63, 2**80]
SLICES = [None, *BOUNDS, *(-n for n in BOUNDS[1:])]


def test_slices_are_pythons_however_huge():
    for extent in (0, 1, 5):
        numbers = list(range(extent))
        ours = sa.array(numbers, dtype=sa.int32)
        grid = sa.array(np.arange(extent * 3).reshape(extent, 3)) if extent else None
        for start in SLICES:
            for stop in SLICES:
                for step in [n for n in SLICES if n != 0]:
                    part = slice(start, stop, step)
                    assert ours[part].tolist() == numbers[part], (extent, part)
        for step in (2**62, -(2**62), 2**63 - 1, -(2**63)):
            if grid is not None:
                expected = np.arange(extent * 3).reshape(extent, 3)[::step, ::step]
                assert grid[::step, ::step].tolist() == expected.tolist()


def test_parts_that_overlap_share_their_gradient():
    def loss(x):
        first, none, last = sa.split(x, [3, 1])
        return first.sum() + 10 * last.sum() + none.sum()

    assert sa.grad(loss)(sa.ones(6)).tolist() == [1, 11, 11, 10, 10, 10]


def test_gradients_of_products_have_gradients():
    def slope(x):
        return sa.grad(lambda y: sa.prod(y))(x)[0]

    x = sa.array([2.0, 0.0, 5.0])
    assert slope(x).item() == 0
    assert sa.grad(slope)(x).tolist() == [0, 5, 0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_gradients_of_large_logits_keep_their_digits(dtype):
    logits = np.array([10000.0, 10008.0, 9992.0, 10004.0])
    e = np.exp(logits - logits.max())
    x = sa.array(logits, dtype=getattr(sa, dtype))
    kept = np.asarray(x.astype(sa.float32)).astype("float64")
    e = np.exp(kept - kept.max())
    got = sa.grad(lambda a: sa.logsumexp(a))(x).astype(sa.float32).tolist()
    tolerance = {"float16": 1e-3, "bfloat16": 1e-2, "float32": 1e-6}[dtype]
    assert got == pytest.approx((e / e.sum()).tolist(), rel=tolerance, abs=1e-6)
