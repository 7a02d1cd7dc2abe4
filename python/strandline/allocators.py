# SPDX-License-Identifier: Apache-2.0
"""The allocators, over the host's memory or a simulated device.

::

    import strandline as sl

    device = sl.sim.Device(1 << 30)
    allocator = sl.UnifiedAllocator(device, cache_limit=1 << 20)
    buffer = allocator.malloc(100_000)
    buffer.free()
    assert allocator.get_cache_memory() == buffer.size  # kept for reuse

Sizes are bytes. Messages of errors read ``[function] what; got X, expected Y``.
"""

from typing import Any, Literal

from . import _arguments, _native
from ._native import Buffer
from .sim import Device

__all__ = ["Allocator", "HostAllocator", "SegmentAllocator", "UnifiedAllocator", "named"]

KINDS = ("host", "unified", "segment")
Kind = Literal["host", "unified", "segment"]


class Allocator:
    """What the allocators share. It lives as long as a buffer of it."""

    def __init__(self, native: _native.Allocator) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """``"HostAllocator"``, ``"UnifiedAllocator"`` or ``"SegmentAllocator"``."""
        return self._native.name

    def malloc(self, size: int, alignment: int = 0) -> Buffer:
        """At least ``size`` bytes with undefined contents; alignment 0 is 64 bytes or more.

        Raises OutOfMemoryError, which names the limit and what holds the rest, and ValueError for
        an alignment that is no power of two or exceeds the device's.
        """
        return self._native.malloc(
            _arguments.count("malloc", "size", size, 0),
            _arguments.count("malloc", "alignment", alignment, 0),
        )

    def free(self, buffer: Buffer) -> bool:
        """Give it back, to the cache or the device. See `Buffer.free`."""
        return buffer.free()

    def get_active_memory(self) -> int:
        """Bytes handed out, by capacity."""
        return self._native.get_active_memory()

    def get_peak_memory(self) -> int:
        """The largest active since the start or `reset_peak_memory`."""
        return self._native.get_peak_memory()

    def reset_peak_memory(self) -> None:
        """The peak is 0 until the next malloc."""
        self._native.reset_peak_memory()

    def get_cache_memory(self) -> int:
        """Bytes of whole buffers kept for reuse."""
        return self._native.get_cache_memory()

    def get_memory_limit(self) -> int:
        return self._native.get_memory_limit()

    def set_memory_limit(self, limit: int, *, hard: bool = False) -> int:
        """The limit before. A guideline, unless ``hard``: then malloc past it raises."""
        return self._native.set_memory_limit(
            _arguments.count("set_memory_limit", "limit", limit, 0), bool(hard)
        )

    def set_cache_limit(self, limit: int) -> int:
        """The limit before. What exceeds the new one leaves at once; 0 keeps nothing."""
        return self._native.set_cache_limit(_arguments.count("set_cache_limit", "limit", limit, 0))

    def set_wired_limit(self, limit: int) -> int:
        """The limit before; 0 where there is no residency. ValueError past the working set."""
        return self._native.set_wired_limit(_arguments.count("set_wired_limit", "limit", limit, 0))

    def set_buffer_limit(self, count: int) -> int:
        """The limit before, of the device's buffer objects: active, cached and wrapped."""
        return self._native.set_buffer_limit(
            _arguments.count("set_buffer_limit", "count", count, 0)
        )

    def clear_cache(self) -> None:
        """Give everything that is cached back to the device."""
        self._native.clear_cache()

    def statistics(self) -> dict[str, int]:
        """Bytes and counts of one moment: ``allocated <= active <= reserved = active + cached``."""
        return self._native.statistics()

    def limits(self) -> dict[str, int]:
        """``memory``, ``gc``, ``cache`` and ``wired`` in bytes, ``buffers`` as a count."""
        return self._native.limits()

    def segments(self) -> list[dict[str, Any]]:
        """What is reserved now, by address, each with its blocks and their ``state``."""
        return self._native.segments()

    def validate(self) -> None:
        """Check every invariant; RuntimeError names the first that does not hold."""
        self._native.validate()

    def __repr__(self) -> str:
        active = self.get_active_memory()
        return f"<strandline.{self.name} on {self._native.device}, {active} bytes active>"


class HostAllocator(Allocator):
    """For arrays of the CPU: page-rounded buffers, cached when freed; slots of 256 bytes for the
    smallest. ``device=None`` is the process's host memory; a limit of None is the allocator's own.
    """

    def __init__(
        self,
        device: Device | None = None,
        *,
        memory_limit: int | None = None,
        cache_limit: int | None = None,
        buffer_limit: int | None = None,
        page: int = 0,
    ) -> None:
        super().__init__(
            _make("HostAllocator", "host", device, memory_limit, cache_limit, buffer_limit, page)
        )


class UnifiedAllocator(Allocator):
    """For memory that host and accelerator share, after MLX's design for Metal: as `HostAllocator`,
    with a gc limit and a wired limit. Arguments as there.
    """

    def __init__(
        self,
        device: Device | None = None,
        *,
        memory_limit: int | None = None,
        cache_limit: int | None = None,
        buffer_limit: int | None = None,
        page: int = 0,
    ) -> None:
        super().__init__(
            _make(
                "UnifiedAllocator", "unified", device, memory_limit, cache_limit, buffer_limit, page
            )
        )


class SegmentAllocator(Allocator):
    """Segments of 2 MiB, 20 MiB and more that are cut into blocks, after PyTorch's design for CUDA.
    Limits as those of `HostAllocator`; they count segments, and the cache is not limited unless
    asked.
    """

    def __init__(
        self,
        device: Device | None = None,
        *,
        memory_limit: int | None = None,
        cache_limit: int | None = None,
        buffer_limit: int | None = None,
    ) -> None:
        super().__init__(
            _make("SegmentAllocator", "segment", device, memory_limit, cache_limit, buffer_limit, 0)
        )


_CLASSES = {"host": HostAllocator, "unified": UnifiedAllocator, "segment": SegmentAllocator}


def named(function: str, allocator: object, **limits: int | None) -> Allocator:
    """A name of `KINDS` as a new one over the host's memory; an allocator as it is."""
    if isinstance(allocator, Allocator):
        given = [name for name, limit in limits.items() if limit is not None]
        if given:
            expected = "None: an allocator that exists has its own"
            raise ValueError(_arguments.message(function, given[0], limits[given[0]], expected))
        return allocator
    if not isinstance(allocator, str) or allocator not in KINDS:
        expected = "'host', 'unified', 'segment' or an Allocator"
        error = ValueError if isinstance(allocator, str) else TypeError
        raise error(_arguments.message(function, "allocator", repr(allocator), expected))
    return _CLASSES[allocator](None, **limits)  # type: ignore[arg-type]


def _make(
    function: str,
    kind: Kind,
    device: Device | None,
    memory_limit: int | None,
    cache_limit: int | None,
    buffer_limit: int | None,
    page: int,
) -> _native.Allocator:
    if device is not None and not isinstance(device, Device):
        raise TypeError(
            _arguments.message(function, "device", repr(device), "a strandline.sim.Device or None")
        )
    limits = {
        "memory_limit": memory_limit, "cache_limit": cache_limit, "buffer_limit": buffer_limit,
    }  # fmt: skip
    checked = {
        what: None if limit is None else _arguments.count(function, what, limit, 0)
        for what, limit in limits.items()
    }
    return _native.make_allocator(
        kind,
        None if device is None else device._machine,
        checked["memory_limit"],
        checked["cache_limit"],
        checked["buffer_limit"],
        _arguments.count(function, "page", page, 0),
    )
