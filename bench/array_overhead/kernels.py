# SPDX-License-Identifier: Apache-2.0
"""One operation of each kind on arrays of (512, 512), the same for MLX and ours."""

import numpy as np

SIDE = 512


def operations(xp):
    """Functions by name; their operands are evaluated."""
    random = np.random.default_rng(0)

    def normal(*shape):
        return xp.array(random.standard_normal(shape).astype("float32"))

    a, b, row, column = normal(SIDE, SIDE), normal(SIDE, SIDE), normal(1, SIDE), normal(SIDE, 1)
    heads = normal(8, 16, 64, 64)
    positive, half, brain = xp.abs(a) + 0.1, a.astype(xp.float16), a.astype(xp.bfloat16)
    mask, whole = a > 0, (a * 100).astype(xp.int32)
    places = xp.array(random.integers(0, SIDE, SIDE).astype("int32"))
    key = xp.random.key(1)
    xp.eval(a, b, row, column, heads, positive, half, brain, mask, whole, places, key)
    return {
        "a + b": lambda: a + b,
        "a + row": lambda: a + row,
        "a + column": lambda: a + column,
        "a + b.T": lambda: a + b.transpose(),
        "a[::2, ::2] + 1": lambda: a[::2, ::2] + 1.0,
        "float16 sum of two": lambda: half + half,
        "bfloat16 sum of two": lambda: brain + brain,
        "int32 product": lambda: whole * whole,
        "less": lambda: a < b,
        "maximum": lambda: xp.maximum(a, b),
        "where": lambda: xp.where(mask, a, b),
        "clip": lambda: xp.clip(a, -1, 1),
        "to bfloat16": lambda: a.astype(xp.bfloat16),
        "from bfloat16": lambda: brain.astype(xp.float32),
        "to int32": lambda: a.astype(xp.int32),
        "exp": lambda: xp.exp(a),
        "log": lambda: xp.log(positive),
        "rsqrt": lambda: xp.rsqrt(positive),
        "tanh": lambda: xp.tanh(a),
        "sigmoid": lambda: xp.sigmoid(a),
        "erf": lambda: xp.erf(a),
        "sin": lambda: xp.sin(a),
        "power": lambda: xp.power(positive, b),
        "sum, first axis": lambda: xp.sum(a, 0),
        "sum, last axis": lambda: xp.sum(a, 1),
        "max, first axis": lambda: xp.max(a, 0),
        "max, last axis": lambda: xp.max(a, 1),
        "argmax, first axis": lambda: xp.argmax(a, 0),
        "argmax, last axis": lambda: xp.argmax(a, 1),
        "var": lambda: xp.var(a, -1),
        "softmax, first axis": lambda: xp.softmax(a, 0),
        "softmax, last axis": lambda: xp.softmax(a, -1),
        "logsumexp": lambda: xp.logsumexp(a, -1),
        "take rows": lambda: xp.take(a, places, 0),
        "take columns": lambda: xp.take(a, places, 1),
        "a[i, i]": lambda: a[places, places],
        "concatenate": lambda: xp.concatenate([a, b], 1),
        "pad": lambda: xp.pad(a, ((1, 1), (1, 1))),
        "transposed copy": lambda: a.transpose().reshape(-1),
        "heads to rows": lambda: heads.transpose(0, 2, 1, 3).reshape(8, 64, -1),
        "matmul": lambda: a @ b,
        "matmul of heads": lambda: heads @ heads,
        "uniform": lambda: xp.random.uniform(0, 1, (SIDE, SIDE), key=key),
        "normal": lambda: xp.random.normal((SIDE, SIDE), key=key),
        "arange": lambda: xp.arange(SIDE * SIDE),
        "eye": lambda: xp.eye(SIDE),
    }
