# SPDX-License-Identifier: Apache-2.0
"""``python -m strandline.mlx_selftest ADAPTER [ALLOCATOR]``: does this adapter agree with the
installed MLX, on MLX's own allocator or on the one of ours that is named?

Run in a process of its own, since an adapter that was built for another version may break the one
it is loaded into. Exits 0 when all checks hold, else 1 with the first that does not.
"""

import ctypes
import os
import sys
from typing import Any

from . import _native
from .allocators import named
from .recording import get_memory_events, record_memory_events


def main(library: str, allocator: str | None = None) -> int:
    ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    adapter = next(a for a in _native.adapters() if a.name == "mlx")
    if allocator is not None:
        adapter.use_allocator(named("selftest", allocator)._native)
    import mlx.core as mx

    adapter.attach()
    record_memory_events(True)
    failures = [name for name, holds in _checks(mx, adapter) if not holds]
    if allocator is not None and adapter.refusal:
        failures.insert(0, f"it keeps its own allocator: {adapter.refusal}")
    for name in failures[:1]:
        print(f"error: self-test: {name}", file=sys.stderr)
    return 1 if failures else 0


def _checks(mx: Any, adapter: _native.Adapter) -> list[tuple[str, bool]]:
    a = mx.ones((64, 64))
    b = mx.array([[1.0] * 64] * 64)
    c = a + b
    gradient = mx.grad(lambda x: mx.exp(x).sum())(b)
    compiled = mx.compile(lambda x: mx.tanh(x) * 2 + 1)
    fused = [compiled(b) for _ in range(3)]
    products = mx.vjp(mx.exp, [b], [c]), mx.jvp(mx.sin, [b], [c])
    mapped = mx.vmap(mx.cos)(b)
    mx.eval(c, gradient, fused, mapped, *products, mx.linalg.qr(b, stream=mx.cpu))
    mx.synchronize()
    calls = adapter.hook_calls()
    events = get_memory_events()
    ops = {event["op"] for event in events if event["action"].startswith("alloc")}
    return [
        *[(f"hook {hook} was not reached", count > 0) for hook, count in calls.items()],
        ("active memory differs from mx.get_active_memory()",
         _native.active_memory() == mx.get_active_memory()),
        ("peak differs from mx.get_peak_memory()",
         _native.peak_memory() == mx.get_peak_memory()),
        ("operations have no name", {"Add", "Array", "QRF"} <= ops),
        ("a fused operation has no name", any(op.startswith("Compiled") for op in ops if op)),
        ("a gradient has no forward line",
         any(event["forward_traceback"] for event in events)),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
