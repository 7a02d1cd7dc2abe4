# SPDX-License-Identifier: Apache-2.0
"""Snapshot files, PyTorch's and ours: read, checked, reported."""

import json
import os
from typing import Any

from . import _arguments, _native

Path = str | os.PathLike[str]


class Snapshot:
    """A snapshot file in memory. Nothing of the file is run: pickles with code are refused."""

    def __init__(self, file: _native.SnapshotFile, path: str) -> None:
        self._file = file
        self._path = path

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        events: tuple[int | None, int | None] = (None, None),
        time_us: tuple[int | None, int | None] = (None, None),
        device: int | None = None,
    ) -> "Snapshot":
        """Read a pickle of any protocol, plain, gzip or zstd; ``"-"`` is standard input.

        ``events=(a, b)`` reads the events a to b, without b, of each trace; ``time_us=(a, b)``
        those from Unix microsecond a to before b; ``device`` one device alone. What is left out
        takes no memory: blocks alive where the range begins are known by their allocs, segments
        and blocks are those at its end.

        Raises FormatError, with the offset, for what is no snapshot, and DeviceError for what
        cannot be read.
        """
        name = _arguments.path("Snapshot.load", path)
        return cls(_native.read_snapshot(name, *events, *time_us, device), name)

    def check(self) -> dict[str, Any]:
        """The books of each device: what ``strandline check --json`` prints."""
        return json.loads(self._file.check_json(self._path))

    def report(self) -> dict[str, Any]:
        """What held the peak: what ``strandline report --json`` prints."""
        return json.loads(self._file.report_json(self._path))

    def report_text(self, top: int = 10) -> str:
        """The report as ``strandline report`` prints it."""
        return self._file.report_text(self._path, top)

    def __repr__(self) -> str:
        return f"<strandline.Snapshot of {self._path!r}>"


def run(words: list[str]) -> int:
    """Run a verb on files; the exit status."""
    return _native.run_verb(words)


def is_verb(word: str) -> bool:
    return _native.is_file_verb(word)


def help_text() -> str:
    return _native.file_verbs_help()
