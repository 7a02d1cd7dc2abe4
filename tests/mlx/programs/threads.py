# SPDX-License-Identifier: Apache-2.0
"""Threads with streams of their own, two streams in one graph, arrays passed between threads.

Threads print nothing: each leaves its results under its number, and they are printed in order.
"""

import queue
import threading

import mlx.core as mx
from support.results import show

THREADS = 4
ROUNDS = 30


def run_all(work):
    """Start `work(number)` on every thread at once; the results (or errors) in order of number."""
    results, start = [None] * THREADS, threading.Barrier(THREADS)

    def body(number):
        start.wait()
        try:
            results[number] = work(number)
        except Exception as error:  # the kind of error is the result
            results[number] = f"{type(error).__name__}: {error}"

    threads = [threading.Thread(target=body, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def own_stream(number):
    with mx.stream(mx.new_stream(mx.cpu)):
        weight = mx.random.normal((40, 40), key=mx.random.key(number))
        x = weight
        for step in range(ROUNDS):
            x = mx.sin(x @ weight / 6 + step)
            mx.eval(x)
        q, r = mx.linalg.qr(x)
        total = x.sum() + (q @ r).sum() * 0
        mx.eval(total, x)
        return x, total


def default_stream(number):
    x = mx.arange(1000, dtype=mx.float32) + number
    values = []
    for step in range(ROUNDS):
        values.append((mx.sin(x) * step).sum().item())
    return values


def gradients(number):
    with mx.stream(mx.new_stream(mx.cpu)):
        w = mx.random.normal((16, 16), key=mx.random.key(100 + number))
        for _ in range(ROUNDS):
            w = w - 0.1 * mx.grad(lambda v: mx.square(mx.tanh(v @ v)).mean())(w)
            mx.eval(w)
        return w


def compiled(number):
    function = mx.compile(lambda a: mx.exp(-a * a) + number)
    return [function(mx.linspace(0, 1, 50) * call).sum().item() for call in range(12)]


def many_short_threads():
    collected = []
    for number in range(25):
        thread = threading.Thread(
            target=lambda n=number: collected.append(mx.ones((n + 1, 8)).sum().item())
        )
        thread.start()
        thread.join()
    return collected


def handed_over():
    arrays = queue.Queue()

    def produce():
        for number in range(ROUNDS):
            x = mx.full((64,), number) * 2
            mx.eval(x)
            arrays.put(x)
        arrays.put(None)

    producer = threading.Thread(target=produce)
    producer.start()
    totals = []
    while (x := arrays.get()) is not None:
        totals.append((x + 1).sum().item())
    producer.join()
    return totals


def two_streams():
    first, second = mx.new_stream(mx.cpu), mx.new_stream(mx.cpu)
    x = mx.ones((128, 128))
    for step in range(20):
        a = mx.add(x, step, stream=first)
        b = mx.multiply(x, step, stream=second)
        x = mx.minimum(a, b, stream=first if step % 2 else second)
    mx.eval(x)
    mx.synchronize(first)
    mx.synchronize(second)
    return x


def foreign_stream():
    streams = []
    thread = threading.Thread(target=lambda: streams.append(mx.new_stream(mx.cpu)))
    thread.start()
    thread.join()
    try:
        return mx.add(mx.array(1), 2, stream=streams[0]).item()
    except RuntimeError:  # its text holds the stream's number
        return "RuntimeError"


show("own stream", run_all(own_stream))
show("default stream", run_all(default_stream))
show("gradients", run_all(gradients))
show("compiled", run_all(compiled))
show("short threads", many_short_threads())
show("handed over", handed_over())
show("two streams", two_streams())
show("a stream of another thread", foreign_stream())
