# SPDX-License-Identifier: Apache-2.0
"""The record streamed to a native file (.slt) while the program runs.

The file is completed when recording is switched off, another stream begins, or the interpreter
exits; a program that is killed leaves what had been written.
"""

import atexit

from . import _native, _process

SUFFIX = ".slt"

_registered = False


def start(path: str) -> None:
    """Stream to ``path`` from now on. Raises DeviceError where it cannot be written."""
    global _registered
    _native.open_stream(path)
    if not _registered:
        _registered = True
        atexit.register(stop)  # before the interpreter goes, which has to tell frames


def stop() -> None:
    """Complete the file, if there is one. A forked child has nothing to complete."""
    if _process.is_first():
        _native.close_stream()
