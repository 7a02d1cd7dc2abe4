# SPDX-License-Identifier: Apache-2.0
"""torch's out-of-memory observer, which cannot be taken away again once attached.

So one is attached a process, and tells whoever listens at the time. It runs before torch raises,
on the thread that asked for memory, without torch's lock; what a listener raises goes nowhere.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass

from .. import _process
from .calls import Calls


@dataclass(frozen=True)
class OutOfMemory:
    """One failed allocation; sizes are bytes. `limit` is what the device may hand out, `free` what
    it had left."""

    device: int
    requested: int
    limit: int
    free: int


Listener = Callable[[OutOfMemory], None]

_listeners: list[Listener] = []
_attached = False


def listen(calls: Calls, listener: Listener) -> None:
    """Tell `listener` of each failure from now on. CUDA must have begun."""
    global _attached
    if not _attached:
        calls.observe_oom(_tell)
        _attached = True
    _listeners.append(listener)


def forget(listener: Listener) -> None:
    if listener in _listeners:
        _listeners.remove(listener)


def _tell(device: int, requested: int, limit: int, free: int) -> None:
    if not _process.is_first():
        return
    failure = OutOfMemory(device, requested, limit, free)
    for listener in list(_listeners):
        try:
            listener(failure)
        except Exception as error:
            print(f"strandline: no snapshot of the failed allocation: {error}", file=sys.stderr)
