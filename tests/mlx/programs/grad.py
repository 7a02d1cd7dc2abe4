# SPDX-License-Identifier: Apache-2.0
"""Reverse mode: `grad`, `value_and_grad` and `vjp` through every family of primitives."""

import mlx.core as mx
from support.results import show, show_error

x = mx.random.normal((4, 6), key=mx.random.key(1))
y = mx.random.uniform(0.5, 1.5, (4, 6), key=mx.random.key(2))
w = mx.random.normal((6, 3), key=mx.random.key(3))

UNARY = (
    "exp log sqrt rsqrt sin cos tanh sigmoid square erf log1p reciprocal abs arctan sinh".split()
)
for name in UNARY:
    show(f"{name}", mx.grad(lambda a, name=name: getattr(mx, name)(a).sum())(y))
for name in "add subtract multiply divide power maximum minimum logaddexp arctan2".split():
    show(
        name,
        mx.grad(lambda a, b, name=name: getattr(mx, name)(a, b).sum(), argnums=(0, 1))(
            y, y[0] + 0.1
        ),
    )

ROUTES = {
    "sum": lambda a: (a.sum(axis=0) ** 2).sum(),
    "max": lambda a: a.max(axis=1).sum(),
    "prod": lambda a: a.prod(axis=1).sum(),
    "var": lambda a: a.var(axis=0).sum(),
    "logsumexp": lambda a: mx.logsumexp(a, axis=1).sum(),
    "softmax": lambda a: (mx.softmax(a, axis=-1) * y).sum(),
    "cumsum": lambda a: (mx.cumsum(a, axis=1) * y).sum(),
    "cumprod": lambda a: mx.cumprod(a, axis=1).sum(),
    "sort": lambda a: (mx.sort(a, axis=1) * y).sum(),
    "matmul": lambda a: mx.square(a @ w).sum(),
    "einsum": lambda a: mx.einsum("ij,jk,ik->", a, w, a @ w),
    "slices": lambda a: (a[1:, ::2] * 3).sum() + a[0, 0] * a[-1, -1],
    "gather": lambda a: (a[mx.array([0, 2, 2])] ** 2).sum(),
    "take_along": lambda a: (mx.take_along_axis(a, mx.argsort(y, axis=1), axis=1) * y).sum(),
    "scatter": lambda a: (y.at[mx.array([1, 1])].add(a[:2]) ** 2).sum(),
    "assign": lambda a: assigned(a),
    "split": lambda a: sum((part * i).sum() for i, part in enumerate(mx.split(a, 3, axis=1))),
    "joined": lambda a: (mx.concatenate([a, a.T.reshape(4, 6)], axis=0) ** 2).sum(),
    "pad": lambda a: (mx.pad(a, 2, constant_values=1.0) ** 3).sum(),
    "where": lambda a: mx.where(a > 0, a * 2, a * a).sum(),
    "broadcast": lambda a: (mx.broadcast_to(a[:, None], (4, 5, 6)) * a[0]).sum(),
    "cast": lambda a: a.astype(mx.float16).astype(mx.float32).sum(),
    "stop": lambda a: (mx.stop_gradient(a) * a).sum(),
    "conv": lambda a: (
        mx.conv1d(a[:, :, None], mx.ones((2, 3, 1)), stride=2, padding=1) ** 2
    ).sum(),
    "many uses": lambda a: sum((a * (i + 1)).sin().sum() for i in range(30)),
}


def assigned(a):
    copy = mx.zeros_like(a)
    copy[1:3] = a[:2] * a[2:]
    return (copy * copy).sum()


for name, function in ROUTES.items():
    show(f"route {name}", mx.value_and_grad(function)(x))

show("second", mx.grad(lambda a: (mx.grad(lambda b: (b**3).sum())(a) * y).sum())(x))
show("third", mx.grad(mx.grad(mx.grad(mx.sin)))(mx.array(0.5)))
show("vjp", mx.vjp(lambda a, b: [a @ b, a.sum()], [x, w], [mx.ones((4, 3)), mx.array(2.0)]))
show("tree", mx.grad(lambda p: (p["a"] * p["b"]["c"][0]).sum())({"a": x, "b": {"c": [y]}}))
show("argnames", mx.grad(lambda a, *, k: (a * k).sum(), argnums=(), argnames="k")(x, k=y))
show("aux", mx.value_and_grad(lambda a: (a.sum(), a * 2, {"n": a.size}))(x))
show("no path", mx.grad(lambda a: y.sum())(x))
inverse = mx.grad(lambda a: mx.linalg.inv(a, stream=mx.cpu).sum())
show_error("no gradient of inv", lambda: inverse(x @ x.T + 5 * mx.eye(4)))
show_error("not a scalar", lambda: mx.grad(lambda a: a * 2)(x))
show_error("integers", lambda: mx.grad(lambda a: a.sum())(mx.arange(3)))
