# SPDX-License-Identifier: Apache-2.0
"""Switching the recorder on and off, and reading what it holds.

There is one recorder a process. Off, it costs its allocators next to nothing.
"""

import os
from typing import Any, Literal, TypedDict

from . import _arguments, _native, _process, _streaming

__all__ = [
    "CaptureInfo",
    "Event",
    "TracebackFrame",
    "capture_info",
    "clear_history",
    "get_counters",
    "get_memory_events",
    "is_recording",
    "record_memory_events",
]

MAX_ENTRIES = 1_000_000
MAX_ENTRIES_LIMIT = 2**32

TracebackFrame = tuple[str, str, int]
"""(filename, function, line)"""

Stacks = Literal["python", "native", "all", "site"]


class Event(TypedDict):
    """One event; what the fields mean by action stands in docs/recorder-python.md.

    Tracebacks are outermost first. Events share their lists: read them, do not change them.
    """

    action: str
    device: int
    stream: int
    address: int
    size: int
    requested_size: int
    time_us: int
    op: str | None
    traceback: list[TracebackFrame] | None
    forward_traceback: list[TracebackFrame] | None
    shape: tuple[int, ...] | None
    dtype: str | None
    label: str | None
    thread: int
    pool: tuple[int, int]
    owner: str | None


class ThreadCaptures(TypedDict):
    """What one thread, by its number in events, has captured since the process began."""

    thread: int
    captures: int
    new_stacks: int
    failed: int


class CaptureInfo(TypedDict):
    """How stacks and times are taken; ``fallback`` says why stacks are taken the slow way."""

    sources: str
    fallback: str | None
    clock: str
    can_capture: bool
    native: str
    threads: list[ThreadCaptures]


def record_memory_events(
    enabled: bool = True,
    max_entries: int = MAX_ENTRIES,
    min_size: int = 0,
    stacks: Stacks | None = "python",
    file: str | os.PathLike[str] | None = None,
) -> None:
    """Switch recording on, or off with ``enabled=False``.

    The last ``max_entries`` events are kept, 64 bytes each. Allocations smaller than ``min_size``
    bytes are left out of the events and counted; they stay in segments and sums.

    ``stacks`` is what tracebacks are made of: Python frames, C++ frames (``"native"``), both in the
    order of the calls (``"all"``), or the innermost Python frame alone (``"site"``); None takes no
    tracebacks. What was recorded stays when recording goes off, until `clear_history`;
    switching on again continues it, unless ``max_entries`` changes.

    With ``file`` the record is streamed to a native file (.slt) from now on, for runs of any
    length: every event is in it 0.3 seconds after it happened, so that the file of a program that
    was killed lacks no more than its end. It is completed when recording goes off, another ``file``
    is named, or the program exits; without ``file`` a stream goes on as it is. A disk that is full
    ends the stream, which is said on standard error, and not the program.

    Raises RuntimeError where the recorder is off for good: in a forked child, and after a fault;
    DeviceError where ``file`` cannot be written.
    """
    function = "record_memory_events"
    entries = _arguments.count(function, "max_entries", max_entries, 1, MAX_ENTRIES_LIMIT)
    smallest = _arguments.count(function, "min_size", min_size, 0)
    _arguments.choice(function, "stacks", stacks, ("python", "native", "all", "site", None))
    path = None if file is None else os.path.abspath(_arguments.path(function, file))
    if not enabled:
        if path is not None:
            raise ValueError(_arguments.message(function, "file", repr(path), "None to switch off"))
        _native.stop()
        _streaming.stop()
        return
    _process.require_first(function)
    if path is not None:
        _streaming.start(path)  # before the first event
    _native.start(entries, smallest, stacks or "")


def is_recording() -> bool:
    """Whether events are recorded now."""
    return _native.recording()


def get_memory_events() -> list[Event]:
    """The events that the ring still holds, oldest first."""
    _process.require_first("get_memory_events")
    return _native.events()  # type: ignore[return-value]


def clear_history(*, tables: bool = False) -> None:
    """Forget events, phases and counters; live blocks and the peak stay.

    With ``tables=True`` the tables of tracebacks, names and labels are emptied as well: what is
    live then has no traceback any more. The label of the calling thread stays in force.
    """
    _process.require_first("clear_history")
    label = _native.label()
    _native.clear_history(tables)
    if tables and label is not None:
        _native.set_label(label)


def get_counters() -> dict[str, Any]:
    """Events and bytes written by action, and everything lost, dropped or capped."""
    _process.require_first("get_counters")
    return _native.counters()


def capture_info() -> CaptureInfo:
    """How tracebacks and times are taken in this process."""
    clock = "CPU counter" if _native.clock_uses_cpu_counter() else "CLOCK_MONOTONIC"
    return {
        "sources": _native.capture_sources(),
        "fallback": _native.capture_fallback() or None,
        "clock": clock,
        "can_capture": _native.can_capture(),
        "native": _native.native_capture(),
        "threads": _native.capture_counts(),  # type: ignore[typeddict-item]
    }
