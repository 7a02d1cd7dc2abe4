# SPDX-License-Identifier: Apache-2.0
"""`mx.checkpoint` and `nn.utils.checkpoint`: the same gradients, by computing the inside again."""

import mlx.core as mx
import mlx.nn as nn
from support.results import show

x = mx.random.normal((32, 16), key=mx.random.key(1))
w = [mx.random.normal((16, 16), key=mx.random.key(i)) * 0.3 for i in range(2, 8)]


def layer(a, weight):
    return mx.tanh(a @ weight) + mx.sin(a) * mx.exp(-mx.square(a))


def stack(function):
    def loss(a, weights):
        for weight in weights:
            a = function(a, weight)
        return a.square().mean()

    return mx.value_and_grad(loss, argnums=(0, 1))


plain, checkpointed = stack(layer)(x, w), stack(mx.checkpoint(layer))(x, w)
show("plain", plain)
show("checkpointed", checkpointed)
show("equal", [mx.array_equal(a, b) for a, b in zip(plain[1][1], checkpointed[1][1], strict=True)])
show("nested", stack(mx.checkpoint(mx.checkpoint(layer)))(x, w))
show(
    "every second",
    stack(lambda a, weight: mx.checkpoint(lambda b: layer(layer(b, weight), weight))(a))(x, w),
)
show("value only", mx.checkpoint(layer)(x, w[0]))
show("compiled", [mx.compile(stack(mx.checkpoint(layer)))(x + i, w)[0] for i in range(3)])
show(
    "second order", mx.grad(lambda a: mx.grad(lambda b: mx.checkpoint(mx.sin)(b).sum())(a).sum())(x)
)

mx.random.seed(9)
block = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16), nn.LayerNorm(16))
inner = nn.utils.checkpoint(block)
step = nn.value_and_grad(block, lambda a: inner(a).square().sum())
show("module", step(x))
