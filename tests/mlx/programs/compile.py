# SPDX-License-Identifier: Apache-2.0
"""`mx.compile`: fused kernels, replays, new shapes, shapeless, state, nesting."""

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim
from support.results import show, show_error

CALLS = 12
x = mx.random.normal((33, 17), key=mx.random.key(1))


def fused():
    chain = mx.compile(lambda a: mx.exp(-mx.square(a)) * mx.sin(a) + a / (1 + mx.abs(a)))
    shared = mx.compile(lambda a: (mx.tanh(a) + 1, mx.tanh(a) * 2, a.sum(axis=0)))
    mixed = mx.compile(
        lambda a, b: mx.softmax(mx.maximum(a @ b, 0) + 0.5, axis=-1).astype(mx.float16) * 2
    )
    for call in range(CALLS):
        show(f"chain {call}", chain(x + call))
        show(f"shared {call}", shared(x * call))
        show(f"mixed {call}", mixed(x, x.T + call))
    show(
        "layouts",
        [chain(x.T), chain(x[::2]), chain(x[:, :1]), chain(mx.zeros((0, 3))), chain(mx.array(0.5))],
    )
    show("dtypes", [chain(x.astype(dtype)) for dtype in (mx.float16, mx.bfloat16)])


def shapes():
    scale = mx.compile(lambda a: (a * 2 + 1) * mx.sigmoid(a), shapeless=True)
    normal = mx.compile(
        lambda a: (a - a.mean(axis=-1, keepdims=True)) * mx.rsqrt(a.var(axis=-1, keepdims=True) + 1)
    )
    for size in (1, 2, 16, 1000, 3, 2):
        show(f"shapeless {size}", scale(mx.arange(size * 4, dtype=mx.float32).reshape(4, size) / 7))
        show(f"retraced {size}", normal(mx.arange(size * 4, dtype=mx.float32).reshape(4, size)))
    constants = mx.compile(lambda a, factor: a * factor)
    show("python constants", [constants(x, factor) for factor in (1, 2.5, 1, True)])
    tree = mx.compile(
        lambda d, *rest, key=None: {
            "out": d["a"] + d["b"][0],
            "rest": [r * 2 for r in rest],
            "key": key,
        }
    )
    show("trees", [tree({"a": x, "b": [x]}, x[0], x[1], key=x[2]) for _ in range(2)])


def state():
    counter = [mx.array(0), mx.zeros((3,))]

    def bump(step):
        counter[0] = counter[0] + 1
        counter[1] = counter[1] * 0.5 + step
        return counter[0] * 10

    compiled = mx.compile(bump, inputs=counter, outputs=counter)
    show("state", [compiled(mx.array(float(call))) for call in range(CALLS)])
    show("state after", counter)
    mx.random.seed(3)
    drop = mx.compile(lambda a: nn.Dropout(0.5)(a), inputs=mx.random.state, outputs=mx.random.state)
    show("random state", [drop(mx.ones((5, 5))) for _ in range(3)])


def training():
    mx.random.seed(4)
    model = nn.Sequential(nn.Linear(17, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 2))
    optimizer = optim.AdamW(learning_rate=1e-2)
    loss = nn.value_and_grad(model, lambda m, a, b: nn.losses.mse_loss(m(a), b))

    def step(a, b):
        value, gradients = loss(model, a, b)
        optimizer.update(model, gradients)
        return value

    tracked = [model.state, optimizer.state]
    optimizer.init(model.trainable_parameters())
    compiled = mx.compile(step, inputs=tracked, outputs=tracked)
    for call in range(CALLS):
        show(f"loss {call}", compiled(x, x[:, :2] * call))
        mx.eval(tracked)
    show("weights", dict(nn.utils.tree_flatten(model.parameters())))


def nesting():
    inner = mx.compile(lambda a: mx.sin(a) * 2)
    show(
        "compiled in compiled", [mx.compile(lambda a: inner(a) + inner(a * 2))(x) for _ in range(2)]
    )
    show("grad of compiled", [mx.grad(lambda a: inner(a).sum())(x * i) for i in range(3)])
    show("compiled grad", [mx.compile(mx.grad(lambda a: (a**3).sum()))(x * i) for i in range(3)])
    show("vmap of compiled", mx.vmap(inner)(x))
    mx.disable_compile()
    show("switched off", mx.compile(lambda a: mx.exp(a) + 1)(x))
    mx.enable_compile()
    show_error("eval inside", lambda: mx.compile(lambda a: a * a.sum().item())(x))
    show_error("raise inside", lambda: mx.compile(lambda a: a @ a)(x))
    show("after errors", inner(x))


fused()
shapes()
state()
training()
nesting()
