# SPDX-License-Identifier: Apache-2.0
"""Counting the processes a recorded program starts.

Children are not recorded: a started one is a plain process, and in a forked one the recorder is
off. So that the report can say that they existed, forks are counted by the recorder's core and
started processes here, by Python's audit events. A start from C is not seen.
"""

import sys
import threading

_STARTS = frozenset({"subprocess.Popen", "os.posix_spawn", "os.system"})
_FORKS = frozenset({"os.fork", "os.forkpty"})

# multiprocessing's spawn and forkserver raise no event of their own; what can be seen is that
# these files open the pipe to the new process by its descriptor, once a start.
_LAUNCHERS = ("multiprocessing/popen_spawn_posix.py", "multiprocessing/popen_forkserver.py")


class ChildCounter:
    """Counts from `install` on, for the life of the process: audit hooks stay."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._started = 0
        self._forked = 0

    def install(self) -> None:
        sys.addaudithook(self._audit)

    def started(self, forks: int) -> int:
        """Processes started, without those among the core's ``forks``.

        subprocess forks by itself where it has a ``preexec_fn``: such a start is in both counts.
        """
        return self._started - min(self._started, max(0, forks - self._forked))

    def _audit(self, event: str, args: tuple[object, ...]) -> None:
        if event in _STARTS or (event == "open" and _is_multiprocessing_launch(args)):
            with self._lock:
                self._started += 1
        elif event in _FORKS:
            with self._lock:
                self._forked += 1


def _is_multiprocessing_launch(args: tuple[object, ...]) -> bool:
    if type(args[0]) is not int or args[1] != "w":
        return False
    opener = sys._getframe(2)  # 0 is this function, 1 the hook
    return opener.f_code.co_filename.endswith(_LAUNCHERS)
