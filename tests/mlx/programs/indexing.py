# SPDX-License-Identifier: Apache-2.0
"""Reading and writing through indices: gathers, scatters, masks, slices, in-place forms."""

import mlx.core as mx
from support.results import show, show_error


def read():
    x = mx.arange(120, dtype=mx.float32).reshape(4, 5, 6)
    rows, columns = mx.array([3, 0, 0]), mx.array([[1], [2]])
    show(
        "slices",
        [x[1], x[-1, 2:], x[..., ::-2], x[:, None, 1], x[2:2], x[1, 2, 3], x[::3, ::-1, 5:0:-2]],
    )
    show(
        "gathers",
        [x[rows], x[:, rows], x[rows, mx.array([0, 1, 2])], x[columns, :, rows], x[..., columns]],
    )
    show("mixed", [x[1, rows, ::2], x[rows, None, 2], x[mx.array(2)], x[mx.array([-1])]])
    show("take", [mx.take(x, rows, axis=0), mx.take(x, mx.array([0, 119])), mx.take(x, 3, axis=2)])
    order = mx.argsort(mx.sin(x), axis=-1)
    show("take_along_axis", mx.take_along_axis(x, order, axis=-1))
    show("dynamic", mx.slice(x, mx.array([1, 2]), (0, 2), (2, 5, 3)))
    show_error("out of rank", lambda: x[0, 0, 0, 0])


def write():
    x = mx.zeros((4, 6))
    x[1] = 2
    x[:, 3] = mx.arange(4)
    x[::2, ::-2] = mx.array([1.5, 2.5, 3.5])
    x[mx.array([0, 3]), mx.array([5, 0])] = mx.array([9, 8])
    show("assign", x)
    x[mx.array([0, 0, 2])] += 1
    x[0, 0] *= 7
    show("augmented", x)
    x[x > 3] = -1.0
    show("mask", x)
    ones = mx.ones((3, 4))
    where = mx.array([0, 0, 2])
    show("at add", ones.at[where].add(mx.arange(12).reshape(3, 4)))
    show(
        "at others",
        [ones.at[where].multiply(2), ones.at[:, 1].subtract(3), ones.at[where].maximum(5)],
    )
    show("at last", [ones.at[0].divide(4), ones.at[where, where].minimum(-2), ones])
    show("put", mx.put_along_axis(ones, mx.array([[1], [2], [3]]), mx.array(6.0), axis=1))
    show("slice_update", mx.slice_update(ones, mx.zeros((1, 2)), mx.array([1, 2]), (0, 1)))


def in_place():
    x = mx.arange(6, dtype=mx.float32)
    alias, view = x, x[2:]
    x += 1
    x *= 2
    x -= mx.array(0.5)
    x /= 3
    show("alias follows, view does not", [x, alias, view])
    x **= 2
    x //= 2
    n = mx.array([12, 10], mx.int32)
    n &= 6
    n |= 1
    n ^= 3
    n <<= 2
    n >>= 1
    show("integers", [x, n])


def many_updates():
    table = mx.zeros((64, 8))
    for step in range(200):
        table[step % 64, step % 8 :] = step
        if step % 25 == 0:
            mx.eval(table)
    show("table", table)
    show(
        "boolean counts",
        [mx.sum(table > 100), mx.argmax(table, axis=0), mx.unique(table[:, 7], size=70)],
    )


read()
write()
in_place()
many_updates()
