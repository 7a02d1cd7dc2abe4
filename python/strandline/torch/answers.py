# SPDX-License-Identifier: Apache-2.0
"""What a snapshot answers, for a person and for a program."""

import html
from typing import Any

from ..files import Snapshot


class Answer:
    """Shown as text, also in a notebook; ``answer["key"]`` is what the command prints as JSON."""

    def __init__(self, text: str, data: dict[str, Any]) -> None:
        self._text = text
        self._data = data

    def to_dict(self) -> dict[str, Any]:
        return self._data

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"


def report(snapshot: Snapshot) -> Any:
    """What held the peak of each device."""
    found: Any = snapshot.report()
    return Answer(snapshot.report_text(), found) if isinstance(found, dict) else found


def oom(snapshot: Snapshot) -> Any:
    """Why the allocations of the history that failed did; None when none did."""
    explain = getattr(snapshot, "oom", None)
    if explain is None:
        return None
    answer = explain()
    return answer if answer["failures"] else None
