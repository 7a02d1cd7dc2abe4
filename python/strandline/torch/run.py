# SPDX-License-Identifier: Apache-2.0
"""What ``strandline run`` keeps of a program that uses torch.cuda.

A *stretch* is a part of the run with one history of torch's recorder: the whole run, unless the
program uses that recorder itself. The last stretch ends with the run. Snapshots are written at the
end of each, and when an allocation fails, before torch raises.
"""

import os
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .. import _output
from ..files import Snapshot
from . import dump, import_hook, observer
from .calls import Calls, Unavailable
from .switch import Switch

_MOST_STRETCHES = 8
_MOST_FAILURES = 10  # of which a snapshot is taken: a program may try and fail for ever

SUFFIXES = ("oom", *(f"stretch-{number}" for number in range(1, _MOST_STRETCHES + 1)))
"""Of the names of files beside the user's own."""


@dataclass(frozen=True)
class Kept:
    """A snapshot and where it was written, if anywhere."""

    snapshot: Snapshot
    path: str | None


@dataclass
class Result:
    """What there is at the end of a run, of one stretch at least."""

    version: str
    stretches: list[Kept] = field(default_factory=list)
    failure: Kept | None = None


class TorchRun:
    """Waits for the program to import torch, and for torch to begin with CUDA."""

    def __init__(self, path: str, max_entries: int, warn: Callable[[str], None]) -> None:
        """`path`: the user's for snapshots, from which all names are made."""
        self._path = path
        self._max_entries = max_entries
        self._warn = warn
        self._calls: Calls | None = None
        self._switch: Switch | None = None
        self._stretches: list[Kept] = []
        self._cuts = 0
        self._failure: Kept | None = None
        self._failures = 0
        self._lock = threading.Lock()
        self._idle: str | None = None

    def install(self) -> None:
        import_hook.after_import(self._attach)

    def has_begun(self) -> bool:
        return self._switch is not None and self._switch.is_on

    def idle(self) -> str | None:
        """Why there is nothing of a torch that was imported; None where there was none, or the
        reason has been told."""
        return self._idle

    def finish(self, path: str | None) -> Result:
        """Write the last stretch to `path`. Only where torch `has_begun`; raises what writing
        raises."""
        assert self._calls is not None
        result = Result(self._calls.version, self._stretches, self._failure)
        self._stretches, self._failure = [], None  # nothing native outlives the report
        content = self._calls.take()
        if dump.has_history(content) or not result.stretches:
            result.stretches.append(_keep(content, path))
        if self._cuts > _MOST_STRETCHES:
            self._warn(f"{self._cuts - _MOST_STRETCHES} stretches of torch's record were not kept")
        if self._failures > _MOST_FAILURES:
            self._warn(
                f"{self._failures:,} allocations failed in torch; "
                f"the last snapshot is of number {_MOST_FAILURES}"
            )
        return result

    def _attach(self, torch: Any) -> None:
        """The program's import goes on whatever happens here."""
        try:
            self._calls = Calls(torch)
            self._switch = Switch(self._calls, self._max_entries, self)
            self._switch.install()
            self._idle = f"{self._calls.version} did not use CUDA: nothing of it was recorded"
        except Unavailable as error:
            self._idle = str(error)
        except Exception as error:
            self._warn(f"torch cannot be recorded: {error}")
            self._idle = None

    # What the switch tells.

    def began(self) -> None:
        assert self._calls is not None
        try:
            observer.listen(self._calls, self._keep_failure)
        except Exception as error:
            self._warn(f"failed allocations of torch leave no snapshot: {error}")

    def cut(self) -> None:
        assert self._calls is not None
        try:
            content = self._calls.take()
            if not dump.has_history(content):
                return
            self._cuts += 1
            if self._cuts <= _MOST_STRETCHES:
                path = _output.suffixed(self._path, f"stretch-{self._cuts}")
                self._stretches.append(_keep(content, path))
        except Exception as error:
            self._warn(f"a stretch of torch's record is lost: {error}")

    def failed(self, error: Exception) -> None:
        self._warn(f"torch's recorder cannot be switched on: {error}")
        self._idle = None

    def _keep_failure(self, failure: observer.OutOfMemory) -> None:
        assert self._calls is not None
        with self._lock:
            self._failures += 1
            if self._failures <= _MOST_FAILURES:
                path = _output.suffixed(self._path, "oom")
                self._failure = _keep(self._calls.take(), path)


def _keep(content: dict[str, Any], path: str | None) -> Kept:
    if path is not None:
        return Kept(dump.write(content, path), path)
    with tempfile.TemporaryDirectory(prefix="strandline-") as folder:
        return Kept(dump.write(content, os.path.join(folder, "snapshot.pickle")), None)
