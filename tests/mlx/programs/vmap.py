# SPDX-License-Identifier: Apache-2.0
"""`mx.vmap`: axes in and out, nesting, and in combination with the other transforms."""

import mlx.core as mx
from support.results import show, show_error

x = mx.random.normal((4, 5, 6), key=mx.random.key(1))
y = mx.random.normal((4, 6), key=mx.random.key(2))
index = mx.array([[0, 2], [1, 1], [5, 3], [4, 0]])

show("one argument", mx.vmap(lambda a: a.sum(axis=0))(x))
show(
    "axes", [mx.vmap(mx.add, in_axes=(0, None))(y, y[0]), mx.vmap(mx.exp, in_axes=1, out_axes=2)(x)]
)
show("matmul", [mx.vmap(mx.matmul)(x, y), mx.vmap(mx.matmul, in_axes=(1, None))(x, y[0])])
show("nested", mx.vmap(mx.vmap(lambda a, b: mx.outer(a, b), in_axes=(0, None)))(x, y))
show("several outputs", mx.vmap(lambda a: (a.max(), mx.softmax(a), mx.split(a, 2)))(y))
show("tree", mx.vmap(lambda d: {"sum": d["a"] + d["b"][0].sum()})({"a": y, "b": [x]}))
show("gather", mx.vmap(lambda a, i: a[i])(y, index))
show("take", mx.vmap(mx.take, in_axes=(0, None))(y, index[0]))
show("order", [mx.vmap(mx.sort)(x), mx.vmap(mx.argmax)(x), mx.vmap(mx.cumsum)(y)])
show(
    "shapes",
    mx.vmap(lambda a: mx.concatenate([a[:, :2], a[:, 2:] * 2], axis=1).T.reshape(3, 10))(x),
)
show("where", mx.vmap(lambda a: mx.where(a > 0, a, 0 * a))(x))
show("conv", mx.vmap(lambda s: mx.conv1d(s[None, :, None], mx.ones((2, 3, 1))))(y))
show("linalg", mx.vmap(lambda a: mx.linalg.inv(a @ a.T + mx.eye(5), stream=mx.cpu))(x))
show("norm", mx.vmap(lambda a: mx.fast.layer_norm(a, None, None, 1e-5))(x))
show("grad in vmap", mx.vmap(mx.grad(lambda a: (a * a.sum()).sum()))(y))
show("vmap in grad", mx.grad(lambda a: mx.vmap(lambda r: mx.tanh(r).prod())(a).sum())(y))
show("jacobian", mx.vmap(lambda v: mx.vjp(mx.sin, [y[0]], [v])[1][0])(mx.eye(6)))
show("compiled", [mx.compile(mx.vmap(lambda a: mx.exp(a) * 2 + 1))(y + i) for i in range(3)])
show("empty", mx.vmap(lambda a: a + 1)(mx.zeros((3, 0))))
show_error("sizes that differ", lambda: mx.vmap(mx.add)(mx.ones(3), mx.ones(4)))
