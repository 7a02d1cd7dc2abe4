# SPDX-License-Identifier: Apache-2.0
"""The extremes: empty arrays and scalars everywhere, tiny and big buffers, deep and wide graphs."""

import mlx.core as mx
from support.results import show, show_error

DEEP = 100_000


def empty():
    nothing = mx.zeros((0,))
    show(
        "made",
        [
            nothing,
            mx.array([]),
            mx.ones((3, 0, 5), mx.int8),
            mx.arange(0),
            mx.eye(0),
            mx.full((0, 2), 7),
        ],
    )
    show(
        "moved",
        [
            nothing.reshape(0, 4),
            mx.concatenate([nothing, nothing]),
            mx.zeros((2, 0)).T,
            nothing[:, None],
        ],
    )
    show(
        "sliced",
        [mx.arange(5)[3:3], mx.arange(5)[5:], mx.zeros((4, 3))[:0], mx.zeros((4, 3))[:, 2:1]],
    )
    show(
        "joined",
        [mx.concatenate([mx.arange(3), mx.zeros((0,), mx.int32)]), mx.pad(mx.zeros((0, 1)), 1)],
    )
    show(
        "computed",
        [
            nothing + 1,
            nothing @ nothing,
            mx.softmax(mx.zeros((2, 0)), -1),
            mx.where(nothing > 0, 1, 2),
        ],
    )
    show(
        "gathered",
        [
            mx.arange(5)[mx.array([], mx.int32)],
            mx.take(mx.ones((3, 2)), mx.zeros((0,), mx.uint32), axis=0),
        ],
    )
    show("grad", mx.grad(lambda a: a.sum())(nothing))
    show("compiled", mx.compile(lambda a: mx.exp(a) * 2 + a)(nothing))
    show_error("argmax of nothing", lambda: mx.argmax(nothing))


def scalars():
    one = mx.array(3.0)
    show(
        "arithmetic",
        [one + 1, one * one, -one, one**0.5, mx.array(5) % 3, mx.array(True) & mx.array(False)],
    )
    show(
        "shapes",
        [
            one.reshape(1, 1),
            one[None],
            one.squeeze(),
            mx.broadcast_to(one, (2, 2)),
            mx.stack([one, one]),
        ],
    )
    print(
        "python",
        one.item(),
        int(mx.array(4)),
        float(one),
        bool(mx.array(0)),
        mx.array(2).tolist(),
        one.size,
    )
    total = mx.array(0)
    for index in range(3000):
        total = total + index
        if index % 100 == 0:
            mx.eval(total)
    show("total", total)


def buffers():
    for size in (
        1,
        2,
        3,
        7,
        8,
        15,
        16,
        31,
        63,
        64,
        65,
        127,
        1023,
        4095,
        4096,
        4097,
        16383,
        16384,
        16385,
    ):
        show(f"bytes {size}", mx.full((size,), size % 251, mx.uint8) + 1)
    show("big", [mx.arange(1 << 24, dtype=mx.int32), mx.sum(mx.ones((1 << 24,), mx.uint8))])
    show("big and small", [mx.ones((1 << (step % 5 * 5),)).sum() for step in range(40)])


def deep_graphs():
    x = mx.array(1.0)
    for _ in range(DEEP):
        x = x + 1
    del x  # destroyed without ever being evaluated
    y = mx.ones((3,))
    for _ in range(DEEP):
        y = y + 1
    show("deep", y)
    z = mx.ones((2,))
    for _ in range(5_000):
        z = mx.split(z * 1, 2)[0] + mx.concatenate([z[1:], z[:1]])
    del z
    show("after the deep ones", mx.ones((2,)) * 2)


def wide_graphs():
    leaf = mx.arange(16, dtype=mx.float32)
    show("wide", sum((leaf * index for index in range(2_000)), leaf))
    show("one node of many inputs", mx.concatenate([leaf[index % 16 :] for index in range(1_000)]))
    fan = [leaf + index for index in range(500)]
    mx.eval(fan)
    show("fan", fan[::50])
    diamond = leaf / 16
    for _ in range(40):
        diamond = mx.sin(diamond) * diamond + mx.cos(diamond)
    show("diamonds", mx.grad(lambda a: (a * diamond).sum())(leaf))


empty()
scalars()
buffers()
deep_graphs()
wide_graphs()
