# SPDX-License-Identifier: Apache-2.0
"""Reductions, scans, sorting and searching, over axes, layouts, dtypes and empty arrays."""

import mlx.core as mx
from support.results import show, show_error

REDUCTIONS = "sum prod mean min max any all logsumexp var std argmin argmax median".split()
SCANS = "cumsum cumprod cummax cummin logcumsumexp".split()


def axes_and_layouts():
    x = mx.random.normal((4, 5, 6), key=mx.random.key(1))
    layouts = {
        "row": x,
        "transposed": x.transpose(2, 0, 1),
        "sliced": x[:, ::2, 1:],
        "spread": x[:, :1] + 0 * x,
    }
    for layout, value in layouts.items():
        for name in REDUCTIONS:
            reduce = getattr(mx, name)
            show(
                f"{name} {layout}",
                [reduce(value), reduce(value, axis=0), reduce(value, axis=-1, keepdims=True)],
            )
        show(
            f"two axes {layout}",
            [mx.sum(value, axis=(0, 2)), mx.max(value, axis=(1, 2), keepdims=True)],
        )
        for name in SCANS:
            show(f"{name} {layout}", getattr(mx, name)(value, axis=1))
    show("reverse scan", mx.cumsum(x, axis=2, reverse=True, inclusive=False))


def dtypes():
    for dtype in (mx.int8, mx.uint32, mx.int64, mx.float16, mx.bfloat16, mx.bool_, mx.complex64):
        x = (mx.arange(24) % 5).astype(dtype).reshape(4, 6)
        show(f"sum {dtype}", [x.sum(), x.sum(axis=0), x.sum(axis=1)])
        show(f"prod {dtype}", x[:2].prod(axis=0))
    show(
        "count",
        [
            mx.count_nonzero(mx.arange(5)),
            (mx.arange(9) > 3).sum(),
            mx.allclose(mx.ones(3), mx.ones(3)),
        ],
    )


def empties():
    empty = mx.zeros((0, 3))
    show(
        "empty",
        [
            empty.sum(),
            empty.sum(axis=0),
            empty.prod(),
            mx.all(empty),
            mx.any(empty),
            mx.cumsum(empty),
        ],
    )
    show("scalar", [mx.array(2.0).sum(), mx.array(2.0).max(), mx.mean(mx.array(3))])
    show_error("max of nothing", lambda: mx.max(empty))


def order():
    x = mx.random.uniform(shape=(7, 33), key=mx.random.key(2))
    show("sort", [mx.sort(x, axis=0), mx.sort(x), mx.argsort(x, axis=-1), mx.sort(x.T, axis=0)])
    # The order inside a part is free: only what the operation promises is printed.
    show("partition", mx.sort(mx.partition(x, 8, axis=-1)[:, :8]))
    show("topk", mx.sort(mx.topk(x, 5, axis=-1)))
    show(
        "softmax",
        [
            mx.softmax(x, axis=-1),
            mx.softmax(x, axis=0),
            mx.softmax(x.astype(mx.float16), precise=True),
        ],
    )
    show("searchsorted", mx.searchsorted(mx.sort(x[0]), x[1]))
    show("differences", [mx.diff(x, axis=1), mx.trace(x)])
    show(
        "large",
        [mx.sum(mx.ones((1 << 20,))), mx.arange(1 << 20).sum(), mx.ones((1024, 1024)).sum(axis=0)],
    )


axes_and_layouts()
dtypes()
empties()
order()
