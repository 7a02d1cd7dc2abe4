# SPDX-License-Identifier: Apache-2.0
"""torch's snapshot as a file that memory_viz opens, and as `strandline.Snapshot`.

The pickle is written in protocol 4, the newest that memory_viz reads. Frames that lie outside of
the program (the command `strandline run` and what started it) are left out.
"""

import contextlib
import gc
import os
import pickle
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO, Any

from .. import _output
from ..files import Snapshot
from ..program import execute

_PROTOCOL = 4
_ENTRY = (execute.__code__.co_filename, execute.__name__)


def has_history(content: dict[str, Any]) -> bool:
    """Whether anything happened but the taking of snapshots."""
    return any(_is_used(trace) for trace in content.get("device_traces") or ())


def _is_used(trace: list[dict[str, Any]]) -> bool:
    return any(event.get("action") != "snapshot" for event in trace)


def write(content: dict[str, Any], path: str) -> Snapshot:
    """Write torch's snapshot to `path`, whole or not at all, and read it as it was written."""
    _without_idle_devices(content)
    _without_our_frames(content)
    read: list[Snapshot] = []

    def write_to(partial: str) -> None:
        if os.path.isfile(partial) or not os.path.exists(partial):
            with open(partial, "wb") as file:
                _pickle(content, file)
            read.append(_read(partial, path))
            return
        with tempfile.NamedTemporaryFile() as kept, open(partial, "wb") as special:
            _pickle(content, kept)
            kept.flush()
            read.append(_read(kept.name, path))
            kept.seek(0)
            shutil.copyfileobj(kept, special)

    _output.write(path, write_to)
    return read[0]


def _read(path: str, name: str) -> Snapshot:
    """What is at `path`; answers call it `name`, which it will have."""
    return Snapshot(Snapshot.load(path)._file, name)


def _pickle(content: dict[str, Any], file: IO[bytes]) -> None:
    with _without_collection():
        pickle.dump(content, file, protocol=_PROTOCOL)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Millions of objects come to be, none of them garbage: the collector would look at them again
    and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _without_idle_devices(content: dict[str, Any]) -> None:
    """Each snapshot leaves its mark on every device there is; alone it is no history."""
    for trace in content.get("device_traces") or ():
        if not _is_used(trace):
            trace.clear()


def _without_our_frames(content: dict[str, Any]) -> None:
    """Cut stacks, innermost first, off where the program begins. Events share their lists."""
    seen: set[int] = set()
    for frames in _stacks(content):
        if id(frames) in seen:
            continue
        seen.add(id(frames))
        for at in range(len(frames) - 1, -1, -1):
            if (frames[at].get("filename"), frames[at].get("name")) == _ENTRY:
                del frames[at:]
                break


def _stacks(content: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    for trace in content.get("device_traces") or ():
        for event in trace:
            yield event.get("frames") or []
    for segment in content.get("segments") or ():
        yield segment.get("frames") or []
        for block in segment.get("blocks") or ():
            yield block.get("frames") or []
