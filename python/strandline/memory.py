# SPDX-License-Identifier: Apache-2.0
"""MLX's memory functions, by its names and rules, of the default allocator.

Until one is chosen, by `set_default_allocator` or beneath MLX by ``strandline.mlx.use_allocator``,
`get_active_memory` and `get_peak_memory` tell what the recorder has seen, whoever allocated it, and
the other functions act on the host's default allocator. Sizes are bytes; setters return the value
before.
"""

from typing import Literal

from . import _arguments, _native
from .allocators import Allocator, Kind, named

__all__ = [
    "clear_cache",
    "get_active_memory",
    "get_cache_memory",
    "get_default_allocator",
    "get_memory_limit",
    "get_peak_memory",
    "reset_peak_memory",
    "set_cache_limit",
    "set_default_allocator",
    "set_memory_limit",
    "set_wired_limit",
]

Measure = Literal["capacity", "requested"]

_chosen: Allocator | None = None


def set_default_allocator(allocator: Allocator | Kind) -> Allocator | None:
    """Make it the default of the functions here, and of C++ if it is over the host's memory.

    ``"host"``, ``"unified"`` and ``"segment"`` make a new one. May be changed at any time: buffers
    return to the allocator they came from. Returns the one chosen before, None for none.
    """
    global _chosen
    before = _chosen
    chosen = named("set_default_allocator", allocator)
    chosen._native.set_default()
    _chosen = chosen
    return before


def get_default_allocator() -> Allocator | None:
    """The one chosen; None before any was."""
    return _chosen


def get_active_memory(measure: Measure = "capacity") -> int:
    """Bytes handed out and not freed, by capacity of their blocks or as requested."""
    if _is_requested("get_active_memory", measure):
        if _chosen is not None:
            return _chosen.statistics()["requested_bytes"]
        return _native.active_memory(True)
    return _native.active_memory(False) if _chosen is None else _chosen.get_active_memory()


def get_peak_memory(measure: Measure = "capacity") -> int:
    """The largest active since the last `reset_peak_memory`; as requested only by the recorder."""
    if _is_requested("get_peak_memory", measure):
        return _native.peak_memory(True)
    return _native.peak_memory(False) if _chosen is None else _chosen.get_peak_memory()


def reset_peak_memory() -> None:
    """The recorder's peak becomes what is active now, an allocator's 0 until its next malloc."""
    _native.reset_peak()
    if _chosen is not None:
        _chosen.reset_peak_memory()


def get_cache_memory() -> int:
    """Bytes kept for reuse and not given back to the device."""
    return _functions().get_cache_memory()


def get_memory_limit() -> int:
    return _functions().get_memory_limit()


def set_memory_limit(limit: int, *, hard: bool = False) -> int:
    """A guideline, unless ``hard``: then an allocation past it raises OutOfMemoryError."""
    return _functions().set_memory_limit(
        _arguments.count("set_memory_limit", "limit", limit, 0), bool(hard)
    )


def set_cache_limit(limit: int) -> int:
    """What exceeds the new limit leaves the cache at once; 0 keeps nothing."""
    return _functions().set_cache_limit(_arguments.count("set_cache_limit", "limit", limit, 0))


def set_wired_limit(limit: int) -> int:
    """What may be kept resident; 0 where there is no residency. ValueError past the working set."""
    return _functions().set_wired_limit(_arguments.count("set_wired_limit", "limit", limit, 0))


def clear_cache() -> None:
    """Give everything that is cached back to the device."""
    _functions().clear_cache()


def _functions():  # type: ignore[no-untyped-def]  # the two have the same functions
    return _native.memory if _chosen is None else _chosen._native


def _is_requested(function: str, measure: object) -> bool:
    return _arguments.choice(function, "measure", measure, ("capacity", "requested")) == "requested"
