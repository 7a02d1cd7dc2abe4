# SPDX-License-Identifier: Apache-2.0
"""``STRANDLINE_RECORD=FILE``: a program is recorded from its start without an edit.

Read once, when the package is imported; the installed package sees to that at every start of the
interpreter where the variable is set. ``%p`` in FILE becomes the process's number: then programs
that this one starts are recorded too, each to its own file. Without it they are not, since two
cannot write one file: the variable is taken out of the environment.
"""

import importlib
import os
import sys

VARIABLE = "STRANDLINE_RECORD"


def start() -> None:
    """Record from now on, if asked to. What goes wrong is said, and the program goes on."""
    if not os.environ.get(VARIABLE) or _is_our_command(sys.orig_argv[1:]):
        return
    path = take_path()
    try:
        _load_adapters()
        from .recording import record_memory_events

        record_memory_events(file=path)
    except Exception as error:
        _complain(error)


def take_path() -> str | None:
    """The file asked for, with the process's number in it; None where none is."""
    path = os.environ.get(VARIABLE)
    if not path:
        return None
    if "%p" not in path:
        del os.environ[VARIABLE]
    return os.path.abspath(path.replace("%p", str(os.getpid())))


def _load_adapters() -> None:
    from .info import mlx_state

    if mlx_state()["off"] is not None:
        return  # nothing to hook: what reports to strandline itself is recorded
    mlx = importlib.import_module(f"{__package__}.mlx")
    mlx.on_failure(_complain)


def _is_our_command(words: list[str]) -> bool:
    """Whether this is ``strandline VERB``, whose verbs answer and whose ``run`` sees to it."""
    while words and words[0].startswith("-") and words[0] != "-m":
        words = words[2:] if words[0] in ("-W", "-X") else words[1:]
    if words[:1] == ["-m"]:
        return words[1:2] == ["strandline"]
    return bool(words) and os.path.basename(words[0]) == "strandline"


def _complain(error: object) -> None:
    if sys.stderr is not None:
        print(f"strandline: {VARIABLE}: {error}", file=sys.stderr)
