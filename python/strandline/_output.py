# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all.

Content is written beside its target and renamed onto it. `check` finds out beforehand whether that
can work, so that a long run does not end with nothing.
"""

import contextlib
import os
from collections.abc import Callable


class OutputError(Exception):
    """The path cannot be written; the message is one line that says what to do."""


def absolute(path: str, option: str) -> str:
    """The path wherever the program may go. Raises OutputError without a working folder."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        raise _unusable(path, option, "the working folder is gone") from None


def check(path: str, option: str) -> None:
    """Raise OutputError unless a file can be made at ``path``, given by ``option``."""
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        raise _unusable(path, option, "it is a folder")
    if not os.path.exists(folder):
        raise _unusable(path, option, f"there is no folder {folder!r}")
    if os.path.exists(path) and not os.access(path, os.W_OK):
        raise _unusable(path, option, "the file there is write-protected")
    if _is_special(path):
        return
    probe = _beside(path)
    try:
        with open(probe, "xb"):
            pass
        os.remove(probe)
    except OSError as error:
        raise _unusable(path, option, error.strerror or str(error)) from None


def check_distinct(path: str, option: str, other: str | None, what: str) -> None:
    """Raise OutputError when both name the same file and writing one would destroy the other."""
    if other is None or _is_special(path):
        return
    if os.path.realpath(path) == os.path.realpath(other):
        raise _unusable(path, option, f"it is {what}")


def write(path: str, write_to: Callable[[str], object]) -> None:
    """Put at ``path`` what ``write_to`` writes. Raises what that and the system raise."""
    if _is_special(path):
        write_to(path)
        return
    partial = _beside(path)
    try:
        write_to(partial)
        os.replace(partial, os.path.realpath(path))
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(partial)


def write_text(path: str, text: str) -> None:
    def write_to(partial: str) -> None:
        with open(partial, "w", encoding="utf-8") as file:
            file.write(text)

    write(path, write_to)


def suffixed(path: str, kind: str) -> str | None:
    """The name of a further file: ``run.pickle`` -> ``run.oom.pickle``. None beside a pipe or a
    device, where no file belongs."""
    if _is_special(path):
        return None
    stem, extension = os.path.splitext(path)
    return f"{stem}.{kind}{extension}"


def _beside(path: str) -> str:
    folder, name = os.path.split(os.path.realpath(path))
    return os.path.join(folder, f".{name[:200]}.{os.getpid()}.partial")


def _is_special(path: str) -> bool:
    """A pipe or device, which can be written to and must not be replaced."""
    return os.path.exists(path) and not os.path.isfile(path)


def _unusable(path: str, option: str, why: str) -> OutputError:
    return OutputError(f"cannot write {path!r}: {why}; choose another file with {option}")
