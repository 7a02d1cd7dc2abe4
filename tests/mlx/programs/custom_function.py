# SPDX-License-Identifier: Apache-2.0
"""`mx.custom_function`: user's own vjp, jvp and vmap, also compiled, nested, and raising."""

import mlx.core as mx
from support.results import show, show_error

x = mx.random.normal((4, 5), key=mx.random.key(1))
y = mx.random.normal((4, 5), key=mx.random.key(2))


@mx.custom_function
def product(a, b):
    return mx.sin(a) * b


@product.vjp
def product_vjp(primals, cotangent, output):
    a, b = primals
    return cotangent * mx.cos(a) * b + 1, cotangent * mx.sin(a) + output


@product.jvp
def product_jvp(primals, tangents):
    a, b = primals
    return tangents[0] * mx.cos(a) * b + tangents[1] * mx.sin(a)


@product.vmap
def product_vmap(inputs, axes):
    a, b = inputs
    return mx.sin(a) * b + 100, axes[0]


@mx.custom_function
def several(a):
    return mx.exp(a), {"half": a / 2, "parts": mx.split(a, [2], axis=1)}


@mx.custom_function
def straight_through(a):
    return mx.round(a)


@straight_through.vjp
def straight_through_vjp(primals, cotangent, output):
    return cotangent


@mx.custom_function
def refuses(a):
    return a * 2


@refuses.vjp
def refuses_vjp(primals, cotangent, output):
    raise KeyError("no gradient here")


def loss(a, b):
    return product(a, b).sum()


show("value", product(x, y))
show("vjp", mx.grad(loss, argnums=(0, 1))(x, y))
show("jvp", mx.jvp(lambda a, b: [product(a, b)], [x, y], [y, x]))
show("vmap", mx.vmap(product)(x, y))
show("several", several(x))
show("several grad", mx.grad(lambda a: several(a)[0].sum() + several(a)[1]["parts"][1].sum())(x))
show("straight through", mx.grad(lambda a: (straight_through(a * 3) ** 2).sum())(x))
show(
    "compiled",
    [mx.compile(mx.value_and_grad(loss, argnums=(0, 1)))(x * call, y) for call in range(12)],
)
show("chained", mx.grad(lambda a: product(product(a, y), straight_through(a)).sum())(x))
show("checkpointed", mx.grad(lambda a: mx.checkpoint(product)(a, y).sum())(x))
show_error("raises", lambda: mx.grad(lambda a: refuses(a).sum())(x))
show("goes on", [refuses(x), mx.grad(loss)(x, y)])
