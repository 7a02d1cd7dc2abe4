# SPDX-License-Identifier: Apache-2.0
"""One recorded run, from its start to its report.

The report is made by the first atexit function registered, which Python calls last: after the
program's threads were joined and its own atexit functions have run. What ends a process without
atexit (`os._exit`, `os.exec*`, an unhandled signal such as SIGTERM) ends it without a report.
"""

import atexit
import contextlib
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from . import _native, _output
from .children import ChildCounter
from .program import execute
from .recording import get_counters, record_memory_events
from .snapshots import report_of, take
from .torch.run import SUFFIXES, TorchRun
from .torch.run_answers import RunAnswers, RunFacts


@dataclass(frozen=True)
class Outputs:
    """Absolute paths: the program may change the working folder."""

    snapshot: str
    json: str | None
    stream: str | None = None

    def check(self, program_file: str | None) -> None:
        """Raises _output.OutputError for what could not be written, or would destroy the program
        or the other output."""
        _output.check(self.snapshot, "-o")
        _output.check_distinct(self.snapshot, "-o", program_file, "the program itself")
        if self.stream is not None:
            _output.check(self.stream, "--stream")
            _output.check_distinct(self.stream, "--stream", program_file, "the program itself")
            _output.check_distinct(self.stream, "--stream", self.snapshot, "the snapshot (-o)")
            _output.check_distinct(self.stream, "--stream", self.json, "the report (--json)")
        if self.json is not None:
            _output.check(self.json, "--json")
            _output.check_distinct(self.json, "--json", program_file, "the program itself")
            _output.check_distinct(self.json, "--json", self.snapshot, "the snapshot (-o)")

    def check_torch(self) -> None:
        """The same for the further files that a program with torch may leave."""
        of_torch = self.of_torch(is_beside=True)
        for path in (of_torch.snapshot, *(_output.suffixed(self.snapshot, k) for k in SUFFIXES)):
            if path is not None:
                _output.check(path, "-o")
                _output.check_distinct(path, "-o", self.json, "the report (--json)")
        for path in (of_torch.json, of_torch.oom):
            if path is not None:
                _output.check(path, "--json")
                _output.check_distinct(path, "--json", self.snapshot, "the snapshot (-o)")

    def of_torch(self, *, is_beside: bool) -> "TorchOutputs":
        """Names with a suffix where torch's record is beside another."""
        json = self.json
        oom = None if json is None else _output.suffixed(json, "oom")
        if not is_beside:
            return TorchOutputs(self.snapshot, json, oom)
        beside = None if json is None else _output.suffixed(json, "torch")
        return TorchOutputs(_output.suffixed(self.snapshot, "torch"), beside, oom)


@dataclass(frozen=True)
class TorchOutputs:
    """Where torch's record goes; None: nowhere."""

    snapshot: str | None
    json: str | None
    oom: str | None


class Session:
    """`with_torch`: the program may import torch, and be recorded by it too."""

    def __init__(
        self, program_name: str, outputs: Outputs, top: int, with_torch: bool = False
    ) -> None:
        self.exit_status = 0
        self._program_name = program_name
        self._outputs = outputs
        self._top = top
        self._process = os.getpid()
        self._children = ChildCounter()
        self._start_s = 0.0
        self._failures: list[str] = []
        self._with_torch = with_torch
        self._torch: TorchRun | None = None

    def start(self, max_entries: int, min_size: int) -> None:
        """Records from now on; frames outside of the program are left out of its tracebacks."""
        _native.set_entry(execute.__code__)
        record_memory_events(max_entries=max_entries, min_size=min_size, file=self._outputs.stream)
        if self._with_torch:
            self._torch = TorchRun(self._outputs.snapshot, max_entries, self.warn)
            self._torch.install()
        atexit.register(self._finish)
        self._children.install()
        self._start_s = time.monotonic()

    def warn(self, what: str) -> None:
        """Said at once, since the program goes on, and again below the report."""
        _say(f"strandline: {what}\n")
        self._failures.append(what)

    def _finish(self) -> None:
        """Write what was asked for. A forked child comes here too and does nothing."""
        if os.getpid() != self._process:
            return
        seconds = time.monotonic() - self._start_s
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        self._attempt("record", lambda: self._write(seconds))
        stream = _native.stream_path()
        record_memory_events(False)
        if stream is not None:
            _say(f"every event: {stream}\n")
        for failure in self._failures:
            _say(f"strandline: {failure}\n")

    def _write(self, seconds: float) -> None:
        """Strandline's own record, torch's, or both."""
        torch = self._torch
        if torch is None or not torch.has_begun():
            is_empty = not _has_own_record()
            self._write_own(seconds)
            if torch is not None and torch.idle() is not None and is_empty:
                _say(f"strandline: {torch.idle()}\n")
            return
        is_beside = _has_own_record()
        if is_beside:
            self._write_own(seconds)
            _say("\n")
        self._attempt("torch's record", lambda: self._write_torch(torch, is_beside))

    def _write_own(self, seconds: float) -> None:
        snapshot = take("strandline run", mark=True)
        path, json = self._outputs.snapshot, self._outputs.json
        wrote = self._attempt(f"snapshot {path!r}", lambda: snapshot.write_pickle(path))
        written = path if wrote else ""
        report = report_of(
            snapshot,
            program=self._program_name,
            exit_status=self.exit_status,
            seconds=seconds,
            started_children=self._children.started(get_counters()["forks"]),
        )
        text = report.text(self._top, _width(), _wants_color(), snapshot_path=written)
        _say(text)
        if json is not None:
            self._write_json(json, lambda: report.json(written))

    def _write_torch(self, torch: TorchRun, is_beside: bool) -> None:
        outputs = self._outputs.of_torch(is_beside=is_beside)
        answers = RunAnswers(torch.finish(outputs.snapshot))
        forks = get_counters()["forks"]
        run = RunFacts(
            program=self._program_name,
            exit_status=self.exit_status,
            children=0 if is_beside else forks + self._children.started(forks),
        )
        _say(answers.text(run, self._top))
        if outputs.json is not None:
            self._write_json(outputs.json, answers.report_json)
        if outputs.oom is not None and answers.has_failure():
            self._write_json(outputs.oom, answers.oom_json)

    def _write_json(self, path: str, content: Callable[[], str]) -> None:
        self._attempt(f"report {path!r}", lambda: _output.write_text(path, content()))

    def _attempt(self, what: str, action: Callable[[], object]) -> bool:
        """Whatever goes wrong, the program's exit status stays what it is."""
        try:
            action()
        except Exception as error:
            self._failures.append(f"cannot write {what}: {error}")
            return False
        return True


def _has_own_record() -> bool:
    return any(get_counters()["events"].values())


def _is_terminal() -> bool:
    try:
        return sys.__stderr__ is not None and sys.__stderr__.isatty()
    except ValueError:  # closed
        return False


def _wants_color() -> bool:
    return "NO_COLOR" not in os.environ and _is_terminal()


def _width() -> int:
    """Columns of the terminal the report goes to; 80 where there is none."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and 0 < int(columns) < 10_000:
        return int(columns)
    try:
        return os.get_terminal_size(2).columns if _is_terminal() else 80
    except OSError:
        return 80


def _say(text: str) -> None:
    """To standard error as it was at the start, even when the program has closed it."""
    if sys.__stderr__ is None:  # closed before we started; print would take standard output
        return
    with contextlib.suppress(Exception):
        print(text, end="", file=sys.__stderr__, flush=True)
