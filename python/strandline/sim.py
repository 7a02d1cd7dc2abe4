# SPDX-License-Identifier: Apache-2.0
"""A simulated accelerator for experiments: any capacity, chosen orders, faults, a virtual clock.

::

    import numpy as np
    import strandline as sl

    device = sl.sim.Device(80_000_000_000)  # pages are committed when touched
    buffer = device.malloc(4096)
    np.frombuffer(buffer, np.float32)[:] = 1.0
    device.fail("allocate", nth=2)  # the second allocation from now on fails

Nothing queued on a stream runs before somebody waits, one piece after another on the waiting
thread, so the same program gives the same run. What each rule assumes of real devices stands in
docs/assumptions.md. Bytes are bytes, times are nanoseconds. Use it from one thread at a time.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from . import _arguments, _native
from ._native import Buffer
from ._native.sim import Finding

__all__ = ["Buffer", "Device", "Event", "Finding", "Stream"]

Placement = Literal["device", "managed", "pinned_host", "host"]

_PLACEMENTS = ("device", "managed", "pinned_host", "host")
_CHOICES: dict[str, tuple[str, ...]] = {
    "order": ("by_stream", "by_buffer"),
    "interleaving": ("oldest_first", "newest_first", "seeded"),
    "run_at": ("wait", "submit"),
    "reuse": ("at_once", "never"),
    "deallocation": ("at_once", "waits_for_device"),
    "host_access": ("reaches_device", "own_memory_only"),
}
_LARGEST = 2**64 - 1


class Device:
    """One simulated device.

    ``capacity`` bounds what may be allocated, ``max_allocation`` one allocation (0: the capacity),
    ``working_set`` what can be resident at once (0: three quarters). An allocation costs a multiple
    of ``granularity``; reservations are made of ``page``.

    ``order="by_buffer"`` orders the work of one submission only as far as it shares a buffer;
    ``interleaving`` says which of the work that could run does, ``run_at`` whether submitting runs
    it. ``reuse="never"`` gives no address twice. With ``host_access="own_memory_only"`` memory that
    is placed on the device cannot be looked at. A call costs 1000 ns of virtual time unless
    ``costs_ns`` says otherwise by its name, and work a nanosecond for every ``bytes_per_ns``.

    Raises ValueError for what cannot be used.
    """

    def __init__(
        self,
        capacity: int = 80_000_000_000,
        *,
        name: str = "sim",
        max_allocation: int = 0,
        granularity: int = 4096,
        page: int = 2 << 20,
        max_buffers: int = 0,
        max_pinned: int = 0,
        working_set: int = 0,
        order: Literal["by_stream", "by_buffer"] = "by_stream",
        interleaving: Literal["oldest_first", "newest_first", "seeded"] = "oldest_first",
        seed: int = 1,
        run_at: Literal["wait", "submit"] = "wait",
        reuse: Literal["at_once", "never"] = "at_once",
        deallocation: Literal["at_once", "waits_for_device"] = "at_once",
        host_access: Literal["reaches_device", "own_memory_only"] = "reaches_device",
        poison: int = 0xDB,
        costs_ns: Mapping[str, int] | None = None,
        bytes_per_ns: int = 1000,
    ) -> None:
        options = {
            "order": order, "interleaving": interleaving, "run_at": run_at, "reuse": reuse,
            "deallocation": deallocation, "host_access": host_access,
        }  # fmt: skip
        for what, value in options.items():
            _arguments.choice("Device", what, value, _CHOICES[what])
        counts = {
            "capacity": (capacity, 1), "max_allocation": (max_allocation, 0),
            "granularity": (granularity, 1), "page": (page, 1), "max_buffers": (max_buffers, 0),
            "max_pinned": (max_pinned, 0), "working_set": (working_set, 0), "seed": (seed, 0),
            "bytes_per_ns": (bytes_per_ns, 1),
        }  # fmt: skip
        checked = {
            what: _arguments.count("Device", what, value, low)
            for what, (value, low) in counts.items()
        }
        self._machine = _native.sim.Machine(
            {
                **options,
                **checked,
                "name": _arguments.text("Device", "name", name),
                "poison": _arguments.count("Device", "poison", poison, 0, 255),
                "costs_ns": {
                    _arguments.text("Device", "costs_ns", call): _arguments.count(
                        "Device", f"costs_ns of {call}", cost, 0
                    )
                    for call, cost in (costs_ns or {}).items()
                },
            }
        )

    # -- memory ------------------------------------------------------------------------------------

    def malloc(self, size: int, alignment: int = 0, placement: Placement = "device") -> Buffer:
        """``size`` bytes with undefined contents; alignment 0 is the device's own.

        Raises OutOfMemoryError past the capacity, ValueError for what could never work.
        """
        return self._machine.allocate(
            _arguments.count("malloc", "size", size, 0),
            _arguments.count("malloc", "alignment", alignment, 0),
            str(_arguments.choice("malloc", "placement", placement, _PLACEMENTS)),
        )

    def free(self, buffer: Buffer) -> bool:
        """Give it back; False when a fault refused and it lives on. See `Buffer.free`."""
        return buffer.free()

    @property
    def free_bytes(self) -> int:
        return self._machine.free_bytes

    @property
    def total_bytes(self) -> int:
        return self._machine.total_bytes

    @property
    def poisoned_bytes(self) -> int:
        """Freed bytes that were touched and now hold the poison, not yet handed out again."""
        return self._machine.poisoned_bytes

    def offset(self, buffer: Buffer) -> int:
        """Where it starts in the device's address space, which differs from run to run."""
        return buffer.address - self._machine.base

    # -- faults, counters, findings, time ----------------------------------------------------------

    def fail(
        self,
        call: str,
        nth: int = 1,
        *,
        repeat: Literal["once", "from_then_on"] = "once",
        error: Literal["fitting", "out_of_memory", "device_error"] = "fitting",
    ) -> None:
        """The ``nth`` call of this name from now on fails, 1 being the next.

        Calls that free are refused instead; for ``"run"`` the queued work fails, which the next
        wait reports. Names are those of `counters`.
        """
        self._machine.add_fault(
            _arguments.text("fail", "call", call),
            _arguments.count("fail", "nth", nth, 1, _LARGEST),
            str(_arguments.choice("fail", "repeat", repeat, ("once", "from_then_on"))),
            str(_arguments.choice(
                "fail", "error", error, ("fitting", "out_of_memory", "device_error")
            )),
        )  # fmt: skip

    def clear_faults(self) -> None:
        self._machine.clear_faults()

    def counters(self) -> dict[str, int]:
        """Calls made, by name, and ``waits``, ``refused_frees`` and ``errors_lost``."""
        return self._machine.counters()

    def findings(self) -> list[Finding]:
        """Work that read freed or unwritten bytes, or that nothing orders; since the last clear."""
        return self._machine.findings()

    def clear_findings(self) -> None:
        self._machine.clear_findings()

    @property
    def now_ns(self) -> int:
        """The virtual clock: calls cost time, a wait moves it to the end of what was waited for."""
        return self._machine.now_ns

    # -- work --------------------------------------------------------------------------------------

    def stream(self, name: str = "") -> "Stream":
        return Stream(self, _arguments.text("stream", "name", name))

    def event(self) -> "Event":
        return Event(self)

    def wait(self) -> None:
        """Submit and run everything; the first error of the work is raised as DeviceError."""
        self._machine.wait_all()

    def run_all(self) -> None:
        """Run everything queued; errors stay for their waits."""
        self._machine.run_all()

    def __repr__(self) -> str:
        return f"<strandline.sim.Device, {self.free_bytes} of {self.total_bytes} bytes free>"


class Event:
    """A point on a stream, see `Stream.record`."""

    def __init__(self, device: Device) -> None:
        self._machine = device._machine
        self._number = self._machine.create_event()

    def __del__(self) -> None:
        if hasattr(self, "_number"):
            self._machine.destroy_event(self._number)

    @property
    def is_done(self) -> bool:
        """Also when it was never recorded. Drives nothing."""
        return self._machine.event_is_done(self._number)

    @property
    def time_ns(self) -> int:
        """When it was or would be reached; 0 when it was never recorded."""
        return self._machine.event_ns(self._number)

    def wait(self) -> None:
        self._machine.wait_event(self._number)


class Stream:
    """An in-order queue of device work; destroyed, after its work, with the last reference."""

    def __init__(self, device: Device, name: str = "") -> None:
        self._machine = device._machine
        self._number = self._machine.create_stream(name)

    def __del__(self) -> None:
        if hasattr(self, "_number"):
            self._machine.destroy_stream(self._number)

    def fill(self, to: Buffer, value: int, offset: int = 0, size: int | None = None) -> None:
        """Set ``size`` bytes from ``offset`` on, all that follow when None, to ``value``."""
        start = _arguments.count("fill", "offset", offset, 0)
        self._machine.fill(
            self._number, to, start, _size("fill", to, start, size),
            _arguments.count("fill", "value", value, 0, 255),
        )  # fmt: skip

    def copy(
        self,
        to: Buffer,
        source: Buffer,
        size: int | None = None,
        *,
        to_offset: int = 0,
        source_offset: int = 0,
    ) -> None:
        """Copy ``size`` bytes, by default all of ``source`` from its offset on."""
        start = _arguments.count("copy", "source_offset", source_offset, 0)
        self._machine.copy(
            self._number, to, _arguments.count("copy", "to_offset", to_offset, 0),
            source, start, _size("copy", source, start, size),
        )  # fmt: skip

    def work(
        self,
        name: str,
        reads: Sequence[Buffer] = (),
        writes: Sequence[Buffer] = (),
        body: Callable[[], object] | None = None,
    ) -> None:
        """A piece of work that says what it reads and writes; ``body`` runs when it does."""
        if body is not None and not callable(body):
            raise TypeError(_arguments.message("work", "body", repr(body), "a callable or None"))
        self._machine.enqueue(
            self._number, _arguments.text("work", "name", name), list(reads), list(writes), body
        )

    def record(self, event: Event) -> None:
        """The event becomes the point behind all work of this stream so far."""
        self._machine.record(event._number, self._number)

    def wait_for(self, event: Event) -> None:
        """Later work of this stream runs after the event's point."""
        self._machine.stream_wait_event(self._number, event._number)

    def submit(self) -> None:
        """Hand queued work to the device, without waiting."""
        self._machine.submit(self._number)

    def wait(self) -> None:
        """Submit and run this stream's work; its first error is raised as DeviceError."""
        self._machine.wait(self._number)

    def run_one(self) -> bool:
        """Run one submitted piece, if one can run now."""
        return self._machine.run_one(self._number)

    @property
    def pending(self) -> int:
        """Pieces queued and not done."""
        return self._machine.pending(self._number)


def _size(function: str, buffer: Buffer, offset: int, size: int | None) -> int:
    if size is None:
        return max(0, buffer.size - offset)
    return _arguments.count(function, "size", size, 0)
