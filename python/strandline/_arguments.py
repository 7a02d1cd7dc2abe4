# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments, so that a mistake is answered by the function the user called.

Each returns the value to use, or raises TypeError for the wrong kind and ValueError for the wrong
value, with the message ``[function] what; got X, expected Y``.
"""

import json
import operator
import os
from typing import Any

UINT64_MAX = 2**64 - 1


def message(function: str, what: str, got: object, expected: str) -> str:
    return f"[{function}] {what}; got {got}, expected {expected}"


def count(function: str, what: str, value: object, low: int, high: int = UINT64_MAX) -> int:
    """An integer between ``low`` and ``high``, both included."""
    expected = f"an integer from {low} to {high}"
    if isinstance(value, bool):
        raise TypeError(message(function, what, repr(value), expected))
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(message(function, what, repr(value), expected)) from None
    if not low <= number <= high:
        raise ValueError(message(function, what, number, expected))
    return number


def choice(function: str, what: str, value: object, allowed: tuple[str | None, ...]) -> object:
    if value not in allowed:
        expected = " or ".join(repr(one) for one in allowed)
        raise ValueError(message(function, what, repr(value), expected))
    return value


def text(function: str, what: str, value: object) -> str:
    """A str that UTF-8 can encode."""
    if not isinstance(value, str):
        raise TypeError(message(function, what, repr(value), "a str"))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(
            message(function, what, ascii(value), "text that UTF-8 can encode")
        ) from None
    return value


def label_text(function: str, value: object) -> str:
    """A label as recorded: a dict as canonical JSON, None as the empty text."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return text(function, "label", _canonical_json(function, value))
    if isinstance(value, str):
        return text(function, "label", value)
    raise TypeError(message(function, "label", repr(value), "a str, a dict or None"))


def _canonical_json(function: str, value: dict[Any, Any]) -> str:
    if not value:
        return ""
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        expected = "a dict that JSON can hold"
        raise TypeError(message(function, "label", f"{value!r} ({error})", expected)) from None


def path(function: str, value: object) -> str:
    """A path as str; bytes and objects with ``__fspath__`` are welcome."""
    try:
        decoded = os.fsdecode(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(message(function, "path", repr(value), "a path")) from None
    if not decoded or "\0" in decoded:
        raise ValueError(message(function, "path", repr(value), "a path without null characters"))
    return decoded
