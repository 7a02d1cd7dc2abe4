# SPDX-License-Identifier: Apache-2.0
"""What ``strandline run`` says of torch's record: the report, and why an allocation failed."""

import json
from dataclasses import dataclass
from typing import Any

from ..answers import OutOfMemory
from ..files import Snapshot
from .run import Result


@dataclass(frozen=True)
class RunFacts:
    """What the record does not tell of the run."""

    program: str
    exit_status: int
    children: int


class RunAnswers:
    """The report is of the stretch with the highest peak, the first among equals: it has the most
    stacks."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._reports = [kept.snapshot.report().to_dict() for kept in result.stretches]
        self._peaks = [_peak(report) for report in self._reports]
        self._shown = max(range(len(self._peaks)), key=lambda at: self._peaks[at])
        self._failure = _failure(result)

    def has_failure(self) -> bool:
        return self._failure is not None

    def report_json(self) -> str:
        return _json(self._reports[self._shown])

    def oom_json(self) -> str:
        assert self._failure is not None
        return _json(self._failure.to_dict())

    def text(self, run: RunFacts, top: int) -> str:
        title = f"{run.program} · {self._result.version}"
        if run.exit_status != 0:
            title += f" · exit status {run.exit_status}"
        shown = self._result.stretches[self._shown]
        parts = [_titled(shown.snapshot, title).report_text(top)]
        if self._failure is not None:
            parts.append(str(self._failure))
        parts.append(_children(run.children) + self._stretches() + self._files())
        return "\n".join(part.strip("\n") + "\n" for part in parts if part)

    def _stretches(self) -> str:
        """One line a stretch, where the program's use of torch's recorder made several."""
        kept = self._result.stretches
        if len(kept) == 1:
            return ""
        lines = [f"{len(kept)} stretches, since the program used torch's recorder itself"]
        for at, stretch in enumerate(kept):
            shown = "   (the report above)" if at == self._shown else ""
            where = stretch.path or "not written"
            lines.append(f"  peak {_size(self._peaks[at])}   {where}{shown}")
        return "\n".join(lines) + "\n"

    def _files(self) -> str:
        """Paths are never cut: they are there to be copied."""
        shown = self._result.stretches[self._shown]
        lines = []
        if shown.path is not None:
            lines.append(f"snapshot   {shown.path}")
        if self._result.failure is not None and self._result.failure.path is not None:
            lines.append(f"failure    {self._result.failure.path}")
        if lines:
            lines[-1] += "\n           (open at docs.pytorch.org/memory_viz)"
        return "".join(f"{line}\n" for line in lines)


def _failure(result: Result) -> OutOfMemory | None:
    """Of the snapshot taken as an allocation failed, else of a failure in the last history."""
    kept = result.failure or result.stretches[-1]
    answer = kept.snapshot.oom()
    return answer if answer.failures else None


def _titled(snapshot: Snapshot, title: str) -> Snapshot:
    """Answers call it by the title."""
    return Snapshot(snapshot._file, title)


def _peak(report: dict[str, Any]) -> int:
    """The sum of what its devices held, each at its own peak."""
    return sum(device["report"]["peak"]["requested_bytes"] for device in report["devices"])


def _children(count: int) -> str:
    if count == 0:
        return ""
    return f"{count} {'process' if count == 1 else 'processes'} started by it, not recorded\n"


def _size(count: int) -> str:
    return f"{count / 2**20:,.1f} MiB"


def _json(data: dict[str, Any]) -> str:
    return json.dumps(data, indent=1) + "\n"
