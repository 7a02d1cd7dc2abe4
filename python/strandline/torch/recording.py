# SPDX-License-Identifier: Apache-2.0
"""``with sl.torch.record() as r:`` for notebooks and for a part of a program."""

import os
import shutil
import tempfile
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from .. import _arguments, _output, _process
from ..answers import OutOfMemory, Report
from ..files import Snapshot
from . import calls, dump, observer

Path = str | os.PathLike[str]


_MOST_FAILURES = 10  # of which a snapshot is taken: a program may try and fail for ever


class Recording:
    """What torch allocated on its devices inside the ``with`` block.

    On entering torch's recorder is switched on, on leaving a snapshot is taken and the recorder is
    off again. Where it was on before, as in the program's own recording or under ``strandline
    run``, it is left as it is, and the history reaches back to when it was switched on.

    `snapshot`, `report` and `oom` may be called inside the block too, and tell of that moment then.
    """

    def __init__(self, max_entries: int = calls.MAX_ENTRIES) -> None:
        self._max_entries = _arguments.count("torch.record", "max_entries", max_entries, 1)
        self._calls: calls.Calls | None = None
        self._is_ours = False
        self._folder = tempfile.TemporaryDirectory(prefix="strandline-")
        self._end: _Taken | None = None
        self._failure: _Taken | None = None
        self._failures = 0
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        _process.require_first("torch.record")
        if self._calls is not None:
            message = "recording; got one that was entered before, expected a new one"
            raise RuntimeError(f"[torch.record] {message}")
        torch = calls.required("record")
        found = calls.Calls(torch)
        torch.cuda.init()
        self._is_ours = not found.is_on()
        if self._is_ours:
            found.start(self._max_entries)
        observer.listen(found, self._keep_failure)
        self._calls = found
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._calls is not None
        observer.forget(self._keep_failure)
        try:
            self._end = self._take("end.pickle")
        finally:
            if self._is_ours:
                self._calls.stop()

    def snapshot(self, path: Path | None = None) -> Snapshot:
        """State and history at the block's end; written to `path` too, for memory_viz.

        Raises RuntimeError before the block, OSError where the file cannot be written.
        """
        taken = self._now()
        if path is not None:
            target = _arguments.path("torch.Recording.snapshot", path)
            _output.write(target, lambda partial: shutil.copyfile(taken.path, partial))
        return taken.snapshot

    def report(self) -> Report:
        """What held the peak of each device, by line."""
        return self._now().snapshot.report()

    def oom(self) -> OutOfMemory | None:
        """Why the last allocation failed that torch had no memory for; None when none did."""
        return None if self._failure is None else self._failure.snapshot.oom()

    def _now(self) -> "_Taken":
        return self._end or self._take("now.pickle")

    def _take(self, name: str) -> "_Taken":
        if self._calls is None:
            raise RuntimeError(
                "[torch.record] recording; got one not entered yet, expected it to be"
            )
        path = os.path.join(self._folder.name, name)
        return _Taken(path, dump.write(self._calls.take(), path))

    def _keep_failure(self, failure: observer.OutOfMemory) -> None:
        with self._lock:
            self._failures += 1
            if self._failures <= _MOST_FAILURES:
                self._failure = self._take("failure.pickle")


@dataclass(frozen=True)
class _Taken:
    """A snapshot, and the file it was read from."""

    path: str
    snapshot: Snapshot


def record(max_entries: int = calls.MAX_ENTRIES) -> Recording:
    """Record torch's device memory inside a ``with`` block; the last ``max_entries`` events of each
    device are kept.

    Entering raises RuntimeError before torch is imported and for a torch without CUDA or without a
    recorder (before 2.1), and initialises CUDA.
    """
    return Recording(max_entries)
