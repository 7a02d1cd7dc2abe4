# SPDX-License-Identifier: Apache-2.0
"""Exceptions from MLX and from user code in transforms and in eval; the program goes on."""

import gc
from functools import partial

import mlx.core as mx
import mlx.nn as nn
from support.results import show, show_error

x = mx.random.normal((6, 6), key=mx.random.key(1))


class Refused(Exception):
    pass


def refuse(after):
    """A function that builds some nodes and then raises."""

    def function(a):
        for step in range(after):
            a = mx.sin(a) * step
        raise Refused(f"after {after} steps")

    return function


def graph_construction():
    show_error("shapes", lambda: mx.ones((2, 3)) + mx.ones((4,)))
    show_error("reshape", lambda: x.reshape(7, 7))
    show_error("axis", lambda: x.sum(axis=5))
    show_error("concatenate", lambda: mx.concatenate([x, mx.ones((1, 5))]))
    show_error("dtype", lambda: mx.bitwise_and(x, x))
    show_error("no such attribute", lambda: x.nothing)
    show_error("split", lambda: mx.split(x, 4))
    show_error("not an array", lambda: type(mx.exp("text")).__name__)
    show_error("item of many", lambda: x.item())


def transforms():
    model = nn.Linear(6, 6)
    show_error("grad", lambda: mx.grad(refuse(3))(x))
    show_error("value_and_grad", lambda: mx.value_and_grad(refuse(1))(x))
    show_error("vjp", lambda: mx.vjp(refuse(2), [x], [x]))
    show_error("jvp", lambda: mx.jvp(refuse(2), [x], [x]))
    show_error("vmap", lambda: mx.vmap(refuse(2))(x))
    show_error("checkpoint", lambda: mx.checkpoint(refuse(2))(x))
    show_error("nested", lambda: mx.grad(lambda a: mx.vmap(mx.grad(refuse(2)))(a).sum())(x))
    show_error("module", lambda: nn.value_and_grad(model, lambda m, a: refuse(1)(m(a)))(model, x))
    show_error("eval inside vmap", lambda: mx.vmap(lambda a: mx.array(a.sum().item()))(x))
    show("eval inside grad", mx.grad(lambda a: (a * a.sum().item()).sum())(x))
    show("grad after errors", mx.grad(lambda a: (a**3).sum())(x))


def compiling():
    calls = []

    def third_time_lucky(a):
        calls.append(None)
        if len(calls) < 3:
            raise Refused(f"call {len(calls)}")
        return mx.exp(a) * 2

    function = mx.compile(third_time_lucky)
    for attempt in range(4):
        show_error(f"compile {attempt}", lambda: type(function(x)).__name__)
    show("compiled at last", [function(x + call) for call in range(12)])
    show_error("not an array", lambda: mx.compile(lambda a: "text")(x))


def evaluating():
    zeros = mx.zeros((3, 3))
    show_error("inverse", lambda: mx.linalg.inv(zeros, stream=mx.cpu))
    show_error("solve", lambda: mx.linalg.solve(zeros, mx.ones((3,)), stream=mx.cpu))
    show_error("svd of nan", lambda: mx.linalg.svd(zeros + mx.nan, stream=mx.cpu)[0])
    show("eval after errors", mx.exp(x).sum(axis=0))
    broken = mx.linalg.inv(zeros, stream=mx.cpu) @ mx.ones((3, 3))
    show_error("first eval of a graph", partial(mx.eval, broken))
    show("its inputs", zeros)
    del broken
    show("other graphs", (mx.sin(x) @ x)[0])


def garbage():
    for _ in range(200):
        cycle = [x * 2]
        cycle.append(cycle)
    gc.collect()
    try:
        mx.grad(refuse(50))(x)
    except Refused as error:
        frame = error.__traceback__
    show("held by a traceback", mx.tanh(x))
    del frame
    gc.collect()
    show("at the end", x @ x)


graph_construction()
transforms()
compiling()
evaluating()
garbage()
