# SPDX-License-Identifier: Apache-2.0
"""Arrays that share a buffer: views, splits, small views of weights, donation."""

import mlx.core as mx
from support.results import show


def views():
    x = mx.arange(48, dtype=mx.float32).reshape(4, 12)
    mx.eval(x)
    show("reshape", [x.reshape(2, 24), x.T.reshape(-1), x.flatten(), mx.unflatten(x, 1, (3, 4))])
    show(
        "axes",
        [
            x.T,
            mx.expand_dims(x, (0, 2)),
            x[None].squeeze(0),
            mx.moveaxis(x.reshape(2, 2, 12), 0, 2),
        ],
    )
    show(
        "strided",
        [
            x[1:3, ::4],
            mx.as_strided(x, (5, 3), (2, 7), 1),
            mx.diagonal(x),
            mx.broadcast_to(x[0], (3, 12)),
        ],
    )
    show(
        "bits",
        [x.view(mx.uint32), x.view(mx.uint8), mx.contiguous(x.T), x.view(mx.float16)[:, ::2]],
    )
    show(
        "rearranged",
        [mx.roll(x, 3), mx.flip(x, 0), mx.tile(x, (1, 2)), mx.repeat(x, 2, 0), mx.pad(x, 1)],
    )
    show(
        "joined",
        [mx.concatenate([x, x[:1]]), mx.stack([x[0], x[1]], 1), mx.meshgrid(x[0, :2], x[1, :3])],
    )


def views_outlive_their_parents():
    weight = mx.random.normal((256, 256), key=mx.random.key(1))
    mx.eval(weight)
    corner, row, column = weight[:2, :2], weight[7], weight[:, 9]
    mx.eval(corner, row, column)
    del weight
    show("views of the dead", [corner, row, column])
    small = mx.array(corner)
    del corner, row, column
    show("the copy", small)
    chain = mx.arange(1000)
    for _ in range(50):
        chain = chain[1:]
        mx.eval(chain)
    show("view of view", chain)


def several_outputs():
    x = mx.random.normal((6, 12), key=mx.random.key(2))
    show("split", [mx.split(x, 3, axis=1), mx.split(x, [1, 4]), mx.unstack(x[:2])])
    a, b, c = mx.split(x * 1, 3, axis=1)
    del a, c
    show("one of three", b + 1)
    show("divmod", mx.divmod(x, 0.3))
    first, second = mx.split(mx.exp(x), 2)
    mx.eval(first)
    show("second later", second)


def donation():
    x = mx.ones((300, 300))
    for step in range(40):
        x = mx.sin(x * 1.01) + step
    show("one chain", x)
    mx.eval(x)
    for _ in range(20):
        x = x + 1
        mx.eval(x)
    show("evaluated chain", x)
    kept = mx.exp(x * 0.001)
    both = kept + kept
    show("kept and used", [kept, both])
    y = mx.ones((64, 64))
    y = (y + 1).reshape(32, 128).T * 2
    show("through a view", y)


views()
views_outlive_their_parents()
several_outputs()
donation()
