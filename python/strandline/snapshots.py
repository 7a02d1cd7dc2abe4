# SPDX-License-Identifier: Apache-2.0
"""Snapshots for docs.pytorch.org/memory_viz, and the report of what held the peak."""

import os
import sysconfig
from typing import Any, overload

from . import _arguments, _native, _process, _refresh
from ._native import MemoryReport
from .recording import Event

__all__ = ["MemoryReport", "dump_snapshot", "memory_report"]

Path = str | os.PathLike[str]


@overload
def dump_snapshot(path: Path, /) -> None: ...
@overload
def dump_snapshot(events: list[Event], path: Path, /) -> None: ...
def dump_snapshot(first: Any, second: Any = None, /) -> None:
    """Write a snapshot that docs.pytorch.org/memory_viz opens.

    ``dump_snapshot(path)`` writes the recorder's history together with all segments and blocks that
    exist now. ``dump_snapshot(events, path)`` writes events that `get_memory_events` returned; the
    state at their end is what they say of it. The file appears whole or not at all.

    Raises DeviceError where it cannot be written.
    """
    if second is None:
        path = _arguments.path("dump_snapshot", first)
        take("dump_snapshot", mark=True).write_pickle(path)
        return
    if not isinstance(first, list):
        got = f"an object of type {type(first).__name__}"
        raise TypeError(_arguments.message("dump_snapshot", "events", got, "a list of events"))
    path = _arguments.path("dump_snapshot", second)
    _native.snapshot_of_events(first).write_pickle(path)


def memory_report() -> MemoryReport:
    """What held memory at the peak since `reset_peak_memory`: by line, operation, label, phase.

    The value is a copy; print its ``text()``, keep its ``json()``, or read its attributes.
    """
    return report_of(take("memory_report"))


def take(function: str, *, mark: bool = False) -> _native.Snapshot:
    """A snapshot of now, with labels of trees brought up to date; ``mark`` puts an event of it
    into the history."""
    _process.require_first(function)
    _refresh.run()
    if mark:
        _native.mark_snapshot()
    return _native.take_snapshot()


def report_of(
    snapshot: _native.Snapshot,
    program: str = "",
    exit_status: int | None = None,
    seconds: float | None = None,
    started_children: int = 0,
) -> MemoryReport:
    return snapshot.report(program, exit_status, seconds, started_children, _LIBRARY_FOLDERS)


def _library_folders() -> list[str]:
    """Where code lies that is not the user's: the standard library, what is installed, and us."""
    paths = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return sorted({*(paths[name] for name in names), os.path.dirname(__file__)})


# Asked for now: a program may change sys.path, by which sysconfig finds its data.
_LIBRARY_FOLDERS = _library_folders()
