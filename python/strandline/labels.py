# SPDX-License-Identifier: Apache-2.0
"""Labels, annotations and phases: what the user says about memory and time.

A *label* is text on every allocation that this thread makes while it is set; one set where an
array is made follows the array to its allocation. A *phase* is a named stretch of time.
"""

import contextlib
import sys
from types import TracebackType
from typing import Any, Self

from . import _arguments, _native, _refresh

__all__ = [
    "annotate",
    "get_memory_label",
    "memory_label",
    "memory_phase",
    "set_memory_label",
    "traceback_of",
]

Label = str | dict[str, Any] | None


def set_memory_label(label: Label) -> None:
    """Label this thread's allocations from now on; None ends it.

    A dict is recorded as canonical JSON. Threads start without a label.
    """
    _native.set_label(_arguments.label_text("set_memory_label", label))


def get_memory_label() -> str | None:
    """The label of this thread as recorded, a dict as its JSON."""
    return _native.label()


class memory_label(contextlib.ContextDecorator):  # noqa: N801  used like a function
    """Label the allocations made inside a ``with`` block or a decorated function.

    Labels nest: the innermost counts, and on leaving the one before is in force again.
    """

    def __init__(self, label: Label) -> None:
        self._text = _arguments.label_text("memory_label", label)
        self._before: list[str] = []

    def __enter__(self) -> Self:
        self._before.append(_native.label() or "")
        _native.set_label(self._text)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _native.set_label(self._before.pop())

    def _recreate_cm(self) -> Self:
        # A decorated function may run on several threads at once.
        return type(self)._of_text(self._text)

    @classmethod
    def _of_text(cls, text: str) -> Self:
        made = cls(None)
        made._text = text
        return made


class memory_phase(contextlib.ContextDecorator):  # noqa: N801  used like a function
    """Name the time spent inside a ``with`` block or a decorated function.

    Phases nest, and each has its own peak in the report. Nothing happens while recording is off.
    """

    def __init__(self, name: str) -> None:
        self._name = _arguments.text("memory_phase", "name", name)
        self._numbers: list[int] = []

    def __enter__(self) -> Self:
        self._numbers.append(_native.begin_phase(self._name))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        number = self._numbers.pop()
        if number:
            _refresh.run()
        _native.end_phase(number)

    def _recreate_cm(self) -> Self:
        return type(self)(self._name)


def annotate(array: object, label: Label) -> bool:
    """Label one array, or the live block at an address, for its whole life.

    ``array`` is an mlx array or one of `strandline.array`, evaluated or not, or an address. False
    when the recorder knows no such array or block, as for one made before recording was possible.
    """
    text = _arguments.label_text("annotate", label)
    if isinstance(array, _native.array.Array):
        return _native.array.label(array, text)
    if isinstance(array, int) and not isinstance(array, bool):
        return _native.annotate(_address("annotate", array), text)
    key = _mlx_key(array)
    if key is None:
        raise TypeError(
            _arguments.message("annotate", "array", _kind(array), "an mlx array or an address")
        )
    labelled = [adapter.label_array(key, text) for adapter in _native.adapters()]
    return any(labelled) or _native.annotate_array(key, text)


def traceback_of(address: int) -> list[tuple[str, str, int]] | None:
    """Frames of the live block that starts at ``address``, outermost first; None without one."""
    return _native.traceback_of(_address("traceback_of", address))


def _address(function: str, value: object) -> int:
    return _arguments.count(function, "address", value, 1)


def _kind(value: object) -> str:
    return f"an object of type {type(value).__name__}"


def _mlx_key(array: object) -> int | None:
    """The recorder's key of an mlx array; None for anything else."""
    core = sys.modules.get("mlx.core")
    if core is None or not isinstance(array, core.array):
        return None
    from . import mlx

    return mlx.array_key(array)
