# SPDX-License-Identifier: Apache-2.0
"""What must be looked at again before a record is read: labelled trees of arrays.

Adapters register a function; all of them run at each phase's end, before a snapshot and before a
report. One that raises is dropped and said once: recording must not break the program.
"""

import contextlib
import sys
from collections.abc import Callable

_functions: list[Callable[[], object]] = []


def register(function: Callable[[], object]) -> None:
    _functions.append(function)


def run() -> None:
    for function in list(_functions):
        try:
            function()
        except Exception as error:
            with contextlib.suppress(ValueError):  # another thread was faster
                _functions.remove(function)
            print(f"strandline: labels are no longer kept up to date: {error}", file=sys.stderr)
