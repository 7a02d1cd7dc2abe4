# SPDX-License-Identifier: Apache-2.0
"""Every operation on arrays as a case: a function of a module, our arrays or NumPy, with the shapes
it is asked on. test_array_operations.py runs them over dtypes, shapes and strides."""

import math
from dataclasses import dataclass, field

import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "uint32", "int32", "int64")
NUMBERS = (*INTEGERS, *FLOATS)
ALL = ("bool", *NUMBERS)


REAL = {"exp", "tanh", "sin", "cos", "log", "sqrt", "logaddexp"}  # of integers float32, here


class Reference:
    """NumPy, with what it calls otherwise or has not. Floats come in float64."""

    erf = staticmethod(np.vectorize(math.erf, otypes=["float64"]))

    def __getattr__(self, name):
        function = getattr(np, name)
        if name not in REAL:
            return function
        return lambda *operands: function(*(a.astype("float64") for a in operands))

    def sigmoid(self, a):
        return 1 / (1 + np.exp(-a.astype("float64")))

    def rsqrt(self, a):
        return 1 / np.sqrt(a.astype("float64"))

    def prod(self, a, axis, keepdims):
        return np.prod(a, axis=axis, keepdims=keepdims, dtype=self.counting(a))

    def sum(self, a, axis, keepdims):
        return np.sum(a, axis=axis, keepdims=keepdims, dtype=self.counting(a))

    def counting(self, a):
        return {"bool": "int32", "uint8": "uint32"}.get(str(a.dtype), a.dtype)

    def softmax(self, a, axis):
        wide = a.astype("float64")
        e = np.exp(wide - wide.max(axis=axis, keepdims=True, initial=-1e9))
        return e / e.sum(axis=axis, keepdims=True)

    def logsumexp(self, a, axis, keepdims):
        return np.log(self.exp(a).sum(axis=axis, keepdims=keepdims))

    def var(self, a, axis, keepdims, ddof):
        return np.var(a.astype("float64"), axis=axis, keepdims=keepdims, ddof=ddof)

    def mean(self, a, axis, keepdims):
        return np.mean(a.astype("float64"), axis=axis, keepdims=keepdims)

    def divide(self, a, b):
        return a.astype("float64") / b.astype("float64")

    def floor_divide(self, a, b):
        return np.floor_divide(a, b) if a.dtype.kind in "iu" else np.floor(a / b)

    def matmul(self, a, b):
        small = a.dtype == bool
        return np.matmul(a.astype("int32"), b.astype("int32")) if small else np.matmul(a, b)

    def scatter_add(self, a, indices, updates, axis):
        result = a.copy()
        where = (slice(None),) * axis + (np.array(indices, dtype="int64"),)
        assert axis == 0, "else the axes of the updates move"
        np.add.at(result, where, updates)
        return result

    def pad(self, a, widths, value):
        return np.pad(a, widths, constant_values=value)

    def flatten(self, a):
        return a.reshape(-1)


REFERENCE = Reference()


@dataclass
class Case:
    """`shapes(random)` gives the operands' shapes and what else the function takes."""

    function: object
    shapes: object
    dtypes: tuple = ALL
    low: float = -3.0
    high: float = 3.0
    has_gradient: bool = True
    has_kinks: bool = False  # equal operands have no slope
    nonzero: bool = False
    more: dict = field(default_factory=dict)


def any_shape(random, least=0, ranks=(0, 4)):
    return tuple(int(n) for n in random.integers(least, 5, random.integers(*ranks)))


def one(random):
    return [any_shape(random)], {}


def two(random):
    """Shapes that broadcast."""
    shape = any_shape(random)
    other = tuple(n if random.random() < 0.7 else 1 for n in shape)
    other = other[int(random.integers(0, len(shape) + 1)) :]
    return ([shape, other] if random.random() < 0.5 else [other, shape]), {}


def three(random):
    shape = any_shape(random)
    return [tuple(n if random.random() < 0.8 else 1 for n in shape) for _ in range(3)], {}


def axes_of(random, rank):
    if rank == 0 or random.random() < 0.3:
        return None
    count = int(random.integers(1, rank + 1))
    signs = random.integers(0, 2, count) * rank
    return tuple(int(i) - int(s) for i, s in zip(random.permutation(rank)[:count], signs))  # noqa: B905


def folded(least, **more):
    def shapes(random):
        shape = any_shape(random, least)
        said = {"axis": axes_of(random, len(shape)), "keepdims": bool(random.integers(0, 2))}
        return [shape], {**said, **more}

    return shapes


def softened(random):
    shape = any_shape(random)
    return [shape], {"axis": axes_of(random, len(shape))}


def one_axis(random):
    shape = any_shape(random, 1, (1, 4))
    axis = None if random.random() < 0.3 else int(random.integers(-len(shape), len(shape)))
    return [shape], {"axis": axis, "keepdims": bool(random.integers(0, 2))}


def matrices(random):
    m, n, k = (int(i) for i in random.integers(0, 5, 3))
    batch = any_shape(random, 0, (0, 3))
    a = (*batch, m, k) if random.random() < 0.8 else (k,)
    b = (*batch[1:], k, n) if random.random() < 0.8 else (k,)
    return [a, b], {}


def reshaped(random):
    shape = any_shape(random)
    flat = list(shape) + [1] * int(random.integers(0, 2))
    random.shuffle(flat)
    if flat and math.prod(flat) > 0 and random.random() < 0.5:
        flat[int(random.integers(0, len(flat)))] = -1
    return [shape], {"shape": tuple(int(n) for n in flat)}


def permuted(random):
    shape = any_shape(random)
    return [shape], {"axes": tuple(int(i) for i in random.permutation(len(shape)))}


def spread(random):
    shape = any_shape(random)
    narrow = tuple(n if random.random() < 0.6 else 1 for n in shape)
    return [narrow[int(random.integers(0, len(shape) + 1)) :]], {"shape": shape}


def expanded(random):
    shape = any_shape(random)
    return [shape], {"axis": int(random.integers(-len(shape) - 1, len(shape) + 1))}


def squeezed(random):
    return [(1, *any_shape(random, 0, (0, 3)), 1)], {"axis": (0, -1)}


def two_axes(random):
    shape = any_shape(random, 0, (1, 4))
    return [shape], {"first": int(random.integers(-len(shape), len(shape))),
                     "second": int(random.integers(0, len(shape)))}  # fmt: skip


def index_part(random, extent):
    def bound():
        return None if random.random() < 0.3 else int(random.integers(-7, 8))

    kind = random.random()
    if kind < 0.15 and extent > 0:
        return int(random.integers(-extent, extent))
    if kind < 0.4 and extent > 0:
        return [int(i) for i in random.integers(-extent, extent, random.integers(1, 4))]
    return slice(bound(), bound(), int(random.choice([-3, -2, -1, 1, 2, 3])))


def indexed(random):
    shape = any_shape(random, 0, (1, 4))
    count = int(random.integers(1, len(shape) + 1))
    parts = [index_part(random, n) for n in shape[:count]]
    lists = [i for i, part in enumerate(parts) if isinstance(part, list)]
    for i in lists[1:]:  # of one length
        parts[i] = (parts[i] * 3)[: len(parts[lists[0]])]
    if random.random() < 0.2:
        parts.append(Ellipsis)
    if random.random() < 0.2:
        parts.insert(0, None)
    return [shape], {"index": tuple(parts)}


def taken(random):
    shape = any_shape(random, 1, (1, 4))
    axis = int(random.integers(-len(shape), len(shape)))
    indices = random.integers(-shape[axis], shape[axis], any_shape(random, 0, (1, 3)))
    return [shape], {"indices": indices.tolist(), "axis": axis}


def scattered(random):
    shape = any_shape(random, 1, (1, 4))
    indices = random.integers(-shape[0], shape[0], any_shape(random, 1, (1, 3)))
    return [shape, (*indices.shape, *shape[1:])], {"indices": indices.tolist()}


def parted(random):
    shape = any_shape(random, 0, (1, 4))
    at = [int(i) for i in random.integers(-4, 5, random.integers(1, 3))]
    return [shape], {"at": at, "axis": int(random.integers(-len(shape), len(shape)))}


def joined(random):
    shape = any_shape(random, 0, (1, 4))
    axis = int(random.integers(-len(shape), len(shape)))
    parts = []
    for _ in range(int(random.integers(1, 4))):
        part = list(shape)
        part[axis] = int(random.integers(0, 4))
        parts.append(tuple(part))
    return parts, {"axis": axis}


def stacked(random):
    shape = any_shape(random)
    count = int(random.integers(1, 4))
    return [shape] * count, {"axis": int(random.integers(-len(shape) - 1, len(shape) + 1))}


def padded(random):
    shape = any_shape(random, 0, (1, 4))
    return [shape], {"widths": [tuple(int(n) for n in random.integers(0, 3, 2)) for _ in shape]}


def called(name):
    return lambda m, *operands, **more: getattr(m, name)(*operands, **more)


def of_split(m, a, at, axis):
    return m.concatenate(list(reversed(m.split(a, at, axis))), axis)


def simple(names, shapes=one, **more):
    return {name: Case(called(name), shapes, **more) for name in names}


CASES = {
    **simple(["exp", "tanh", "sigmoid", "erf", "sin", "cos"]),
    **simple(["log", "sqrt", "rsqrt"], low=0.3, dtypes=NUMBERS),
    **simple(["negative", "square"], dtypes=NUMBERS),
    **simple(["abs"], dtypes=ALL, nonzero=True),
    **simple(["sign", "floor", "ceil", "round"], dtypes=NUMBERS, has_gradient=False),
    **simple(["logical_not"], has_gradient=False),
    **simple(["add", "multiply"], two),
    **simple(["subtract"], two, dtypes=NUMBERS),
    **simple(["maximum", "minimum"], two, has_kinks=True),
    **simple(["logaddexp"], two),
    **simple(["divide"], two, nonzero=True),
    **simple(["floor_divide"], two, nonzero=True, dtypes=NUMBERS, has_gradient=False),
    **simple(["remainder"], two, nonzero=True, dtypes=NUMBERS, has_gradient=False),
    **simple(["power"], two, low=0.3, high=2.6, dtypes=NUMBERS),
    **simple(["equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
              "logical_and", "logical_or"], two, has_gradient=False),
    "where": Case(lambda m, c, a, b: m.where(c > 0, a, b), three, has_kinks=True),
    "clip": Case(lambda m, a, low, high: m.clip(a, low, high), three, has_kinks=True),
    **simple(["sum"], folded(0)),
    **simple(["mean"], folded(1)),
    **simple(["prod"], folded(0), low=-1.4, high=1.4),
    **simple(["max", "min"], folded(1), has_kinks=True),
    "var": Case(called("var"), folded(1, ddof=0)),
    **simple(["logsumexp"], folded(1)),
    **simple(["softmax"], softened),
    **simple(["argmax", "argmin"], one_axis, has_gradient=False),
    **simple(["matmul"], matrices),
    **simple(["reshape"], reshaped),
    **simple(["transpose"], permuted),
    **simple(["broadcast_to"], spread),
    **simple(["expand_dims"], expanded),
    **simple(["squeeze"], squeezed),
    "swapaxes": Case(lambda m, a, first, second: m.swapaxes(a, first, second), two_axes),
    "moveaxis": Case(lambda m, a, first, second: m.moveaxis(a, first, second), two_axes),
    **simple(["flatten"]),
    "indexing": Case(lambda m, a, index: a[index], indexed),
    "take": Case(lambda m, a, indices, axis: m.take(a, np.array(indices, "int64"), axis), taken),
    "scatter_add": Case(lambda m, a, b, indices: m.scatter_add(a, indices, b, 0), scattered),
    "split": Case(of_split, parted),
    "concatenate": Case(lambda m, *parts, axis: m.concatenate(list(parts), axis), joined),
    "stack": Case(lambda m, *parts, axis: m.stack(list(parts), axis), stacked),
    "pad": Case(lambda m, a, widths: m.pad(a, widths, 1), padded),
}  # fmt: skip
