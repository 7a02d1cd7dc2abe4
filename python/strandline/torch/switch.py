# SPDX-License-Identifier: Apache-2.0
"""torch's recorder under ``strandline run``: on from CUDA's beginning, and the program's own calls.

A program may use ``torch.cuda.memory._record_memory_history`` itself. Its recording is then what it
would be without us: it begins with an empty history, with the program's settings, and ends when the
program says so. Ours is cut in stretches around it:

    ours | the program's | ours …        each `|` is a cut: what was recorded so far is handed over

A call that switches off what the program never switched on does nothing, as without us.
"""

import functools
import inspect
from typing import Any, Protocol

from .. import _process
from .calls import Calls


class Listener(Protocol):
    """Whoever keeps what is recorded; none of these may raise."""

    def began(self) -> None:
        """CUDA is there, before its first allocation."""

    def cut(self) -> None:
        """The history ends here, and is still to be had."""

    def failed(self, error: Exception) -> None:
        """torch's recorder cannot be switched on."""


class Switch:
    """One a process. `is_on`: torch records, for us or for the program."""

    def __init__(self, calls: Calls, max_entries: int, listener: Listener) -> None:
        self._calls = calls
        self._max_entries = max_entries
        self._listener = listener
        self._is_programs = False
        self.is_on = False

    def install(self) -> None:
        history = self._calls.history

        @functools.wraps(history)
        def _record_memory_history(enabled: Any = "all", *args: Any, **kwargs: Any) -> None:
            if not _process.is_first():
                history(enabled, *args, **kwargs)
            elif enabled:
                self._program_starts(enabled, args, kwargs)
            else:
                self._program_stops(enabled, args, kwargs)

        self._calls.memory._record_memory_history = _record_memory_history
        self._calls.when_begun(self._begin)

    def _begin(self) -> None:
        if not _process.is_first():
            return
        if not self.is_on:
            self._start()
        self._listener.began()

    def _start(self) -> None:
        try:
            self._calls.start(self._max_entries)
            self.is_on = True
        except Exception as error:  # as by an allocator without a recorder
            self._listener.failed(error)

    def _program_starts(self, enabled: Any, args: Any, kwargs: dict[str, Any]) -> None:
        if self.is_on and (not self._is_programs or self._clears(enabled, args, kwargs)):
            self._listener.cut()
            self._calls.stop()
            self.is_on = False
        try:
            self._calls.history(enabled, *args, **kwargs)
        except Exception:
            if self._calls.has_begun():
                self._is_programs = False
                self._start()
            raise
        self.is_on = self._is_programs = True

    def _program_stops(self, enabled: Any, args: Any, kwargs: dict[str, Any]) -> None:
        if not self._is_programs:
            return
        self._listener.cut()
        self._calls.history(enabled, *args, **kwargs)
        self._is_programs = self.is_on = False
        self._start()

    def _clears(self, enabled: Any, args: Any, kwargs: dict[str, Any]) -> bool:
        try:
            bound = inspect.signature(self._calls.history).bind(enabled, *args, **kwargs)
        except TypeError:  # the form with a bool has other parameters
            return bool(kwargs.get("clear_history"))
        return bool(bound.arguments.get("clear_history"))
