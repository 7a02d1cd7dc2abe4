# SPDX-License-Identifier: Apache-2.0
"""Forward mode: `jvp` through the families of primitives, alone and with the other transforms."""

import mlx.core as mx
from support.results import show, show_error

x = mx.random.uniform(0.5, 1.5, (4, 6), key=mx.random.key(1))
t = mx.random.normal((4, 6), key=mx.random.key(2))
w = mx.random.normal((6, 3), key=mx.random.key(3))

ROUTES = {
    "exp": mx.exp,
    "log": mx.log,
    "tanh": mx.tanh,
    "erf": mx.erf,
    "sigmoid": mx.sigmoid,
    "divide": lambda a: 1 / a,
    "power": lambda a: a**2.5,
    "sum": lambda a: a.sum(axis=1),
    "softmax": lambda a: mx.softmax(a, axis=-1),
    "cumsum": lambda a: mx.cumsum(a, axis=0),
    "sort": lambda a: mx.sort(a, axis=1),
    "matmul": lambda a: a @ w,
    "slices": lambda a: a[1:, ::2],
    "gather": lambda a: a[mx.array([0, 2, 2])],
    "split": lambda a: mx.split(a, 3, axis=1)[1] * 2,
    "transposed": lambda a: a.T.reshape(3, 8),
    "joined": lambda a: mx.concatenate([a, a * a], axis=1),
    "where": lambda a: mx.where(a > 1, a * 2, a * a),
    "layer_norm": lambda a: mx.fast.layer_norm(a, None, None, 1e-5),
    "rope": lambda a: mx.fast.rope(a[None], 6, traditional=False, base=1e4, scale=1.0, offset=0),
}

for name, function in ROUTES.items():
    show(f"route {name}", mx.jvp(lambda a, function=function: [function(a)], [x], [t]))

show("two inputs", mx.jvp(lambda a, b: [a @ b, a.sum() * b.sum()], [x, w], [t, mx.ones_like(w)]))
show("derivative of grad", mx.jvp(mx.grad(lambda a: (a**3).sum()), [x], [t]))
show("grad of derivative", mx.grad(lambda a: mx.jvp(mx.sin, [a], [t])[1][0].sum())(x))
show("vmap", mx.vmap(lambda v: mx.jvp(mx.sin, [x[0]], [v])[1][0])(mx.eye(6)))
show(
    "compiled",
    [
        mx.compile(lambda a, v: mx.jvp(lambda b: b * mx.exp(b), [a], [v])[1][0])(x * i, t)
        for i in range(3)
    ],
)
show_error("shapes that differ", lambda: mx.jvp(mx.sin, [x], [t[0]]))
