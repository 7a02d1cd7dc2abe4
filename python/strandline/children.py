# SPDX-License-Identifier: Apache-2.0
"""Counting the processes a recorded program starts.

Children are not recorded: a started one is a plain process, and in a forked one the recorder is
off. So that the report can say that they existed, forks are counted by the recorder's core and
started processes here, by Python's audit events. A start from C is not seen.
"""

import sys
import threading

_EVENTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.system"})

# multiprocessing's spawn and forkserver raise no event of their own; what can be seen is that
# these functions open the pipe to the new process by its descriptor, once a start.
_LAUNCHERS = ("multiprocessing/popen_spawn_posix.py", "multiprocessing/popen_forkserver.py")


class ChildCounter:
    """Counts from `install` on, for the life of the process: audit hooks stay."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = 0

    def install(self) -> None:
        sys.addaudithook(self._audit)

    @property
    def started(self) -> int:
        return self._started

    def _audit(self, event: str, args: tuple[object, ...]) -> None:
        if event in _EVENTS or (event == "open" and _is_multiprocessing_launch(args)):
            with self._lock:
                self._started += 1


def _is_multiprocessing_launch(args: tuple[object, ...]) -> bool:
    if type(args[0]) is not int or args[1] != "wb":
        return False
    opener = sys._getframe(2)  # 0 is this function, 1 the hook
    return opener.f_code.co_filename.endswith(_LAUNCHERS)
