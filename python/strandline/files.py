# SPDX-License-Identifier: Apache-2.0
"""Snapshot files, PyTorch's and ours: read, questioned, cut, written anew."""

import os
from collections.abc import Sequence

from . import _arguments, _native, answers
from .columns import TABLES, Columns

Path = str | os.PathLike[str]
_MAX_DEVICE = 254
_INT64_MAX = 2**63 - 1


class Snapshot:
    """A snapshot file in memory. Nothing of the file is run: pickles with code are refused.

    Moments are named by ``event`` (after this event of the trace, -1: before all), ``time_us``
    (Unix microseconds) or ``fraction`` (of the events, 0 to 1); without any it is the peak of
    requested bytes. ``filter`` says what counts, ``"frame~train.py size>=1MiB not label=data"``
    (docs/filters.md); ``own`` names files that hold your code. A moment that is none raises
    IndexError; another value that cannot be used raises ValueError or TypeError.
    """

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

    def check(self) -> answers.Account:
        """The books of each device: does the file add up?"""
        return answers.Account._of(*self._file.check(self._path))

    def report(
        self,
        *,
        event: int | None = None,
        time_us: int | None = None,
        fraction: float | None = None,
        device: int | None = None,
        filter: str = "",
        own: Sequence[str] = (),
    ) -> answers.Report:
        """What held the peak, or another moment, by line, operation, label and phase."""
        query = _query("Snapshot.report", event, time_us, fraction, device, filter, own)
        return answers.Report._of(*self._file.report(self._path, query))

    def report_text(self, top: int = 10) -> str:
        """The report of the peak as ``strandline report`` prints it."""
        top = _arguments.count("Snapshot.report_text", "top", top, 1)
        query = _query("Snapshot.report_text", None, None, None, None, "", (), top)
        return self._file.report_text(self._path, query)

    def diff(
        self,
        other: "Snapshot | None" = None,
        *,
        event_a: int | None = None,
        fraction_a: float | None = None,
        event_b: int | None = None,
        fraction_b: float | None = None,
        device: int = 0,
        filter: str = "",
        own: Sequence[str] = (),
    ) -> answers.Diff:
        """What grew from this file to another, or between two moments of this one, by stack."""
        if other is not None and not isinstance(other, Snapshot):
            got = f"an object of type {type(other).__name__}"
            raise TypeError(_arguments.message("Snapshot.diff", "other", got, "a Snapshot or None"))
        second = self if other is None else other
        query_a = _query("Snapshot.diff", event_a, None, fraction_a, device, filter, own)
        query_b = _query("Snapshot.diff", event_b, None, fraction_b, device, filter, own)
        told = self._file.diff(self._path, query_a, second._file, second._path, query_b)
        return answers.Diff._of(*told)

    def leaks(self, *, device: int = 0, filter: str = "", own: Sequence[str] = ()) -> answers.Leaks:
        """What was allocated in the trace and lives at its end, or grows from phase to phase, by
        stack, largest first; with how long what was freed had lived."""
        query = _query("Snapshot.leaks", None, None, None, device, filter, own)
        return answers.Leaks._of(*self._file.leaks(self._path, query))

    def fragmentation(
        self,
        *,
        event: int | None = None,
        time_us: int | None = None,
        fraction: float | None = None,
        device: int | None = None,
        filter: str = "",
        own: Sequence[str] = (),
    ) -> answers.Fragmentation:
        """What is reserved and serves nobody, what pins it, what each new segment had found."""
        query = _query("Snapshot.fragmentation", event, time_us, fraction, device, filter, own)
        return answers.Fragmentation._of(*self._file.fragmentation(self._path, query))

    def oom(
        self,
        *,
        size: int | None = None,
        stream: int = 0,
        event: int | None = None,
        time_us: int | None = None,
        fraction: float | None = None,
        device: int | None = None,
        filter: str = "",
        own: Sequence[str] = (),
    ) -> answers.OutOfMemory:
        """Why the allocations of the trace that failed did, or whether ``size`` bytes would have
        been served on ``stream`` at a moment."""
        if size is None and (event, time_us, fraction) != (None, None, None):
            got = "a moment without a size"
            raise ValueError(_arguments.message("Snapshot.oom", "size", got, "a size in bytes"))
        if size is not None:
            size = _arguments.count("Snapshot.oom", "size", size, 0, 2**62)
        stream = _arguments.count("Snapshot.oom", "stream", stream, 0)
        query = _query("Snapshot.oom", event, time_us, fraction, device, filter, own)
        return answers.OutOfMemory._of(*self._file.oom(self._path, query, size, stream))

    def events(
        self, *, top: int = 1000, device: int | None = None, filter: str = ""
    ) -> answers.Events:
        """The first ``top`` events that the filter lets through."""
        top = _arguments.count("Snapshot.events", "top", top, 1)
        query = _query("Snapshot.events", None, None, None, device, filter, (), top)
        return answers.Events._of(*self._file.events(self._path, query))

    def table(self, name: str = "events") -> Columns:
        """The events, blocks, segments, frames or stacks as columns for NumPy and Arrow."""
        _arguments.choice("Snapshot.table", "name", name, TABLES)
        return Columns(_native.table(self._file, name), name)

    def slice(
        self,
        *,
        events: tuple[int | None, int | None] | None = None,
        time_us: tuple[int | None, int | None] | None = None,
        device: int | None = None,
    ) -> "Snapshot":
        """The part from the first event (time) of each trace to before the second, valid on its
        own: segments and blocks are those after its last event."""
        first, end = _range("Snapshot.slice", "events", events, 0)
        first_us, end_us = _range("Snapshot.slice", "time_us", time_us, -_INT64_MAX)
        device = _device("Snapshot.slice", device)
        part = self._file.slice(first, end, first_us, end_us, device)
        return Snapshot(part, self._path)

    def write(
        self,
        path: Path,
        format: str = "",
        *,
        event: int | None = None,
        time_us: int | None = None,
        fraction: float | None = None,
        device: int | None = None,
        filter: str = "",
        own: Sequence[str] = (),
    ) -> list[str]:
        """Write it as pickle, slt, json, pprof, folded or chrome, by the end of the name where
        ``format`` is empty. Returns what the format could not hold, as ``"12 annotations"``.

        Profiles (pprof, folded) are of what the moment holds. The file appears whole or not at all.
        Raises DeviceError where it cannot be written.
        """
        name = _arguments.path("Snapshot.write", path)
        format = _arguments.text("Snapshot.write", "format", format)
        query = _query("Snapshot.write", event, time_us, fraction, device, filter, own)
        return self._file.write(name, format, query)

    def __repr__(self) -> str:
        return f"<strandline.Snapshot of {self._path!r}>"

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()


def _query(
    function: str,
    event: int | None,
    time_us: int | None,
    fraction: float | None,
    device: int | None,
    filter: str,
    own: Sequence[str],
    top: int | None = None,
) -> _native.Query:
    if sum(one is not None for one in (event, time_us, fraction)) > 1:
        expected = "one of event, time_us and fraction"
        raise ValueError(_arguments.message(function, "moment", "more than one", expected))
    if event is not None:
        event = _arguments.count(function, "event", event, -1, _INT64_MAX)
    if time_us is not None:
        time_us = _arguments.count(function, "time_us", time_us, -_INT64_MAX, _INT64_MAX)
    if fraction is not None:
        try:
            fraction = float(fraction)
        except (TypeError, ValueError):
            got = repr(fraction)
            raise TypeError(
                _arguments.message(function, "fraction", got, "a number from 0 to 1")
            ) from None
    if isinstance(own, str):
        raise TypeError(_arguments.message(function, "own", repr(own), "a list of patterns"))
    patterns = [_arguments.text(function, "own", one) for one in own]
    text = _arguments.text(function, "filter", filter)
    return _native.query(event, time_us, fraction, _device(function, device), text, patterns, top)


def _device(function: str, device: int | None) -> int | None:
    if device is None:
        return None
    return _arguments.count(function, "device", device, 0, _MAX_DEVICE)


def _range(
    function: str, what: str, value: tuple[int | None, int | None] | None, low: int
) -> tuple[int | None, int | None]:
    if value is None:
        return (None, None)
    if not isinstance(value, tuple) or len(value) != 2:
        expected = "a pair (first, end), None for an end of the trace"
        raise TypeError(_arguments.message(function, what, repr(value), expected))
    first, end = (
        None if one is None else _arguments.count(function, what, one, low, _INT64_MAX)
        for one in value
    )
    return (first, end)


def run(words: list[str]) -> int:
    """Run a verb on files; the exit status."""
    return _native.run_verb(words)


def is_verb(word: str) -> bool:
    return _native.is_file_verb(word)


def help_text() -> str:
    return _native.file_verbs_help()
