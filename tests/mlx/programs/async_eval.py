# SPDX-License-Identifier: Apache-2.0
"""`mx.async_eval`: pipelines, reuse while running, arrays dropped before they are ready."""

import mlx.core as mx
from support.results import show

x = mx.random.normal((64, 64), key=mx.random.key(1))


def step(a):
    return mx.tanh(a @ x / 8) + 0.1


def pipeline():
    current = step(x)
    mx.async_eval(current)
    values = []
    for _ in range(50):
        following = step(current)
        mx.async_eval(following)
        values.append(current.sum().item())
        current = following
    show("pipeline", values)
    show("last", current)


def several_at_once():
    parts = [mx.exp(x * index / 10) for index in range(12)]
    mx.async_eval(parts[:6], {"rest": parts[6:]})
    show("used while running", sum(parts[1:], parts[0]))
    show("themselves", parts)


def dropped():
    for index in range(30):
        abandoned = step(step(x + index))
        mx.async_eval(abandoned)
        del abandoned
    mx.synchronize()
    show("after dropping", step(x))
    view = step(x)[3:5, ::7]
    mx.async_eval(view)
    show("view of what is running", view)


def updated_while_running():
    state = mx.zeros((128,))
    for index in range(40):
        state[index] = state[index - 1] + index
        mx.async_eval(state)
    show("state", state)


def decompositions():
    q, r = mx.linalg.qr(x, stream=mx.cpu)
    mx.async_eval(q)
    values, vectors = mx.linalg.eigh(x @ x.T, stream=mx.cpu)
    mx.async_eval(values, vectors)
    show("decompositions", [q @ r, values, mx.abs(vectors)])


def depending():
    first = mx.exp(x)
    second = mx.depends(x + 1, first)
    both = mx.depends([x * 2, x * 3], [second])
    show("depends", [second, both])
    mx.eval(first, second)
    mx.async_eval()
    mx.eval([])
    mx.synchronize()
    print("available", isinstance(first, mx.array))


pipeline()
several_at_once()
dropped()
updated_while_running()
decompositions()
depending()
