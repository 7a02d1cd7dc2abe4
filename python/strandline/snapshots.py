# SPDX-License-Identifier: Apache-2.0
"""Snapshots for docs.pytorch.org/memory_viz, and the report of what held the peak."""

import os
from typing import Any, overload

from . import _arguments, _native, _process, _refresh
from .recording import Event

__all__ = ["dump_snapshot"]

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
        _process.require_first("dump_snapshot")
        _refresh.run()
        _native.mark_snapshot()
        _native.write_snapshot(path)
        return
    if not isinstance(first, list):
        got = f"an object of type {type(first).__name__}"
        raise TypeError(_arguments.message("dump_snapshot", "events", got, "a list of events"))
    _native.write_events(first, _arguments.path("dump_snapshot", second))
