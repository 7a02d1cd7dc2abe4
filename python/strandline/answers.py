# SPDX-License-Identifier: Apache-2.0
"""Answers from snapshot files as values with attributes; sizes are bytes.

Each is what the verb of its name prints with ``--json`` (schemas under ``schema/``): its
attributes, ``answer["key"]`` for the plain JSON value, ``str(answer)`` for the text of the command,
a table in a notebook.
"""

import dataclasses
import functools
import html
import json
import types
import typing
from dataclasses import dataclass
from typing import Any, Self

from .answer_parts import (
    DeviceAccount,
    DeviceFragmentation,
    DeviceReport,
    Failure,
    Held,
    LeakingStack,
    ListedEvent,
    StackDifference,
)

__all__ = [
    "Account",
    "Answer",
    "Diff",
    "Events",
    "Fragmentation",
    "Leaks",
    "OutOfMemory",
    "Report",
]


@dataclass(frozen=True, repr=False)
class Answer:
    """What all answers have."""

    file: str

    @classmethod
    def _of(cls, document: str, text: str = "") -> Self:
        raw = json.loads(document)
        answer = _build(cls, raw)
        object.__setattr__(answer, "_raw", raw)
        object.__setattr__(answer, "_text", text)
        return answer

    def to_dict(self) -> dict[str, Any]:
        """The plain JSON value, by its schema."""
        return self._raw  # type: ignore[attr-defined]

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __str__(self) -> str:
        return self._text  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"<strandline.{type(self).__name__} of {self.file!r}>"

    def _rows(self) -> list[tuple[str, list[Any]]]:
        """Tables: a caption and values of one kind."""
        lists = [
            f.name for f in dataclasses.fields(self) if isinstance(getattr(self, f.name), list)
        ]
        return [(name.replace("_", " "), getattr(self, name)) for name in lists]

    def _repr_html_(self) -> str:
        return "".join(_table(caption, rows) for caption, rows in self._rows())


@dataclass(frozen=True, repr=False)
class Account(Answer):
    """Does a file add up? What ``strandline check`` tells."""

    keys: list[str]
    annotations: int
    host_events: int
    host_reserved: int
    unknown_keys: dict[str, int]
    skipped_values: int
    devices: list[DeviceAccount]

    def _rows(self) -> list[tuple[str, list[Any]]]:
        return [("devices", self.devices)]


@dataclass(frozen=True, repr=False)
class Report(Answer):
    """What is held at a moment: ``strandline report`` and ``at``."""

    measure: str
    devices: list[DeviceReport]

    def _rows(self) -> list[tuple[str, list[Any]]]:
        return [
            (f"device {device.device}, held by line", device.report.by_line)
            for device in self.devices
        ]


@dataclass(frozen=True, repr=False)
class Diff(Answer):
    """What two files or moments hold: ``strandline diff``. `file` is that of A."""

    a: str
    b: str
    device: int
    a_after_event: int
    b_after_event: int
    a_peak: Held
    b_peak: Held
    stacks_in_all: int
    stacks: list[StackDifference]


@dataclass(frozen=True, repr=False)
class Leaks(Answer):
    """What lives at the end of the trace or grows from phase to phase: ``strandline leaks``."""

    device: int
    phase: str | None
    phases: int
    stacks_in_all: int
    stacks: list[LeakingStack]


@dataclass(frozen=True, repr=False)
class Events(Answer):
    """Events of a trace: ``strandline events``."""

    matching: int
    events: list[ListedEvent]


@dataclass(frozen=True, repr=False)
class Fragmentation(Answer):
    """What is reserved and serves nobody: ``strandline fragmentation``."""

    devices: list[DeviceFragmentation]

    def _rows(self) -> list[tuple[str, list[Any]]]:
        tables: list[tuple[str, list[Any]]] = []
        for device in self.devices:
            tables.append((f"device {device.device}, by pool", device.pools))
            tables.append((f"device {device.device}, segments", device.segments))
            tables.append((f"device {device.device}, segments obtained", device.requests))
        return tables


@dataclass(frozen=True, repr=False)
class OutOfMemory(Answer):
    """Why allocations failed: ``strandline oom``."""

    failures: list[Failure]

    def _rows(self) -> list[tuple[str, list[Any]]]:
        tables: list[tuple[str, list[Any]]] = [("failures", self.failures)]
        for failure in self.failures:
            tables.append((f"event {failure.event}: live, by line", failure.holders))
        return tables


@functools.cache
def _hints(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _build(kind: Any, value: Any) -> Any:
    """A JSON value as what an annotation says; keys without a field stay in the JSON."""
    if isinstance(kind, types.UnionType):
        if value is None:
            return None
        (kind,) = [part for part in kind.__args__ if part is not types.NoneType]
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        hints = _hints(kind)
        names = [field.name for field in dataclasses.fields(kind)]
        if "file" in names and "file" not in value:
            value = {**value, "file": value.get("a", "")}
        return kind(**{name: _build(hints[name], value[name]) for name in names})
    if typing.get_origin(kind) is list:
        (part,) = typing.get_args(kind)
        return [_build(part, one) for one in value]
    return value


_ROWS_SHOWN = 20


def _table(caption: str, rows: list[Any]) -> str:
    """Rows of one kind as HTML; what does not fit into a cell is left to the attributes."""
    if not rows:
        return f"<p>{html.escape(caption)}: none</p>"
    names = [
        field.name
        for field in dataclasses.fields(rows[0])
        if not isinstance(getattr(rows[0], field.name), list | dict)
    ]
    head = "".join(f"<th>{html.escape(name.replace('_', ' '))}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(_cell(name, getattr(row, name)) for name in names) + "</tr>"
        for row in rows[:_ROWS_SHOWN]
    )
    more = len(rows) - _ROWS_SHOWN
    rest = f"<p>… {more} more</p>" if more > 0 else ""
    title = f"<caption>{html.escape(caption)}</caption>"
    return f"<table>{title}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


def _cell(name: str, value: Any) -> str:
    if name in ("address", "segment") and isinstance(value, int):
        text = f"{value:#x}"
    elif isinstance(value, bool) or not isinstance(value, int):
        text = "" if value is None else str(value)
    else:
        text = f"{value:,}"
    return f"<td>{html.escape(text)}</td>"
