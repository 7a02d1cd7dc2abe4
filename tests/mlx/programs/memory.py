# SPDX-License-Identifier: Apache-2.0
"""MLX's memory functions in mid-work: limits, cache, bytes active after synchronising.

With no cache a buffer is as large as was asked for, so these bytes do not depend on which thread
freed first. With a cache they do, and only what stays exact is printed: differences that come back
to zero, and the cache after it was cleared.
"""

import gc

import mlx.core as mx
from support.results import show


def active(name):
    mx.synchronize()
    print(f"active {name} {mx.get_active_memory()}", flush=True)


def settle():
    """Let MLX's and Python's last references go, and empty the cache."""
    gc.collect()
    mx.synchronize()
    mx.clear_cache()


def without_a_cache():
    mx.set_cache_limit(0)
    active("at the start")
    kept = []
    for power in range(0, 24, 2):
        kept.append(mx.full((1 << power,), power, mx.uint8))
        mx.eval(kept[-1])
        active(f"with 2^{power} bytes")
    for index in (3, 11, 0, 7):
        kept[index] = None
        active(f"without number {index}")
    print("cache", mx.get_cache_memory())
    kept.clear()
    active("with nothing")


def peaks():
    mx.reset_peak_memory()
    large = mx.ones((1 << 20,))
    mx.eval(large)
    active("large")
    print("peak", mx.get_peak_memory())
    del large
    active("large gone")
    print("peak stays", mx.get_peak_memory())
    mx.reset_peak_memory()
    print("peak after reset", mx.get_peak_memory())
    small = mx.ones((100,))
    mx.eval(small)
    print("peak of the small", mx.get_peak_memory())


def limits():
    print("cache limit was", mx.set_cache_limit(1 << 20), "then", mx.set_cache_limit(1 << 22))
    default = mx.get_memory_limit()
    print(
        "memory limit is positive",
        default > 0,
        mx.set_memory_limit(1 << 24) == default,
        mx.get_memory_limit(),
    )
    x = mx.random.normal((512, 512), key=mx.random.key(1))
    for round_ in range(12):
        x = mx.tanh(x @ x / 512 + mx.ones((512, 512)) * round_)
        mx.eval(x)
        if round_ % 4 == 3:
            mx.clear_cache()
            active(f"round {round_}")
    show("far over the limit", [x, mx.ones((1 << 23,)).sum()])
    print(
        "memory limit was",
        mx.set_memory_limit(default),
        "cache at most",
        mx.get_cache_memory() <= 1 << 22,
    )


def cached_reuse():
    settle()
    mx.set_cache_limit(1 << 26)
    before = mx.get_active_memory()
    for round_ in range(40):
        buffers = [mx.full((size * 1000 + round_,), size) for size in range(1, 30)]
        mx.eval(buffers)
        del buffers
        if round_ == 20:
            mx.synchronize()
            mx.set_cache_limit(1 << 16)
            mx.set_cache_limit(1 << 26)
    mx.synchronize()
    print("back to", mx.get_active_memory() - before)
    mx.clear_cache()
    print("cache cleared", mx.get_cache_memory())


def shared_buffers():
    mx.set_cache_limit(0)
    settle()
    before = mx.get_active_memory()

    def held(name):
        mx.synchronize()
        print(f"held {name} {mx.get_active_memory() - before}", flush=True)

    weight = mx.zeros((1000, 1000)) + 1
    mx.eval(weight)
    held("by a weight")
    corner, rows = weight[:2, :2], mx.split(weight, 4)
    mx.eval(corner, rows)
    held("with views")
    del weight, rows
    held("by a small view")
    copied = mx.contiguous(corner) + 0
    mx.eval(copied)
    del corner
    held("by a copy")
    print("size of the copy", copied.nbytes)
    q, r = mx.linalg.qr(mx.ones((64, 32)), stream=mx.cpu)
    mx.eval(q, r)
    held("with q and r")
    del q
    held("with r")
    parameters = {"a": mx.zeros((300,)), "b": [mx.zeros((200,)), mx.zeros((0, 5)), mx.array(1)]}
    mx.eval(parameters)
    held("with a tree")


without_a_cache()
peaks()
limits()
cached_reuse()
shared_buffers()
