# SPDX-License-Identifier: Apache-2.0
"""Calls a function once the program has imported torch, which we never do ourselves.

A finder in front of all others finds torch as they do, and has the module's spec watched: Python
sets ``spec._initializing`` when it begins to execute a module and when it has done so. No code of
ours is on the stack meanwhile, so that an import that fails looks as it always does; it is the
program's, and may be tried again. A module that is only looked for changes nothing.
"""

import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from .. import _process
from . import calls

_NAME = "torch"


def after_import(action: Callable[[Any], None]) -> None:
    """Calls `action` with torch: now if it is imported, else as soon as it has been. In a forked
    child nothing is called."""
    torch = calls.imported()
    if torch is not None:
        action(torch)
    else:
        sys.meta_path.insert(0, _Finder(action))


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, action: Callable[[Any], None]) -> None:
        self._action = action

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _NAME or not _process.is_first():
            return None
        spec = self._found_by_others(path, target)
        if spec is not None:
            _watch(spec, self._done)
        return spec

    def _found_by_others(
        self, path: Sequence[str] | None, target: types.ModuleType | None
    ) -> importlib.machinery.ModuleSpec | None:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is self or find is None:
                continue
            spec: importlib.machinery.ModuleSpec | None = find(_NAME, path, target)
            if spec is not None:
                return spec
        return None

    def _done(self) -> None:
        torch = sys.modules.get(_NAME)
        if torch is not None and self in sys.meta_path:
            sys.meta_path.remove(self)
            self._action(torch)


class _Watched:
    """Put before the class of a spec; goes when the module is initialised."""

    _strandline_done: Callable[[], None]

    @property
    def _initializing(self) -> bool:
        return bool(vars(self)["_initializing"])

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        vars(self)["_initializing"] = value
        if not value:
            done = vars(self).pop("_strandline_done")
            self.__class__ = type(self).__mro__[2]
            done()


def _watch(spec: importlib.machinery.ModuleSpec, done: Callable[[], None]) -> None:
    if isinstance(spec, _Watched):  # a finder gives the same one again
        return
    vars(spec)["_strandline_done"] = done
    spec.__class__ = type(type(spec).__name__, (_Watched, type(spec)), {})
