# SPDX-License-Identifier: Apache-2.0
"""The command line of ``strandline run``.

Options end at the script, at ``-m`` or at ``--``; everything after belongs to the program, whatever
it looks like. argparse sees our own part only: its way with a remainder differs by version.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from .allocators import KINDS
from .recording import MAX_ENTRIES, MAX_ENTRIES_LIMIT

_WITH_VALUE = frozenset(
    {
        "-o",
        "--output",
        "--json",
        "--stream",
        "--max-entries",
        "--min-size",
        "--top",
        "--allocator",
    }
)
_TOP = 10


@dataclass(frozen=True)
class RunOptions:
    """What to run and what to leave behind."""

    target: str
    is_module: bool
    arguments: list[str]
    output: str | None
    json: str | None
    stream: str | None
    max_entries: int
    min_size: int
    top: int
    with_adapters: bool
    allocator: str | None


def parse_run(words: Sequence[str]) -> RunOptions:
    """Exits with status 2 and a usage message for what cannot be understood."""
    ours, program = _split(words)
    parser = _parser()
    parsed = parser.parse_args(ours)
    is_module = bool(program) and program[0] == "-m"
    if is_module or (program and program[0] == "--"):
        program = program[1:]
    if parsed.allocator is not None and parsed.without_adapters:
        parser.error(
            f"--allocator; got {parsed.allocator!r} with --without-adapters, expected one of them"
        )
    if not program or not program[0]:
        parser.error("no module after -m" if is_module else "no script to run")
    return RunOptions(
        target=program[0],
        is_module=is_module,
        arguments=program[1:],
        output=parsed.output,
        json=parsed.json,
        stream=parsed.stream,
        max_entries=parsed.max_entries,
        min_size=parsed.min_size,
        top=parsed.top,
        with_adapters=not parsed.without_adapters,
        allocator=parsed.allocator,
    )


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our options, and the rest from the script, ``-m`` or ``--`` on."""
    at = 0
    while at < len(words):
        word = words[at]
        if word in ("-m", "--") or not word.startswith("-") or word == "-":
            break
        at += 2 if word in _WITH_VALUE else 1
    return list(words[:at]), list(words[at:])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="strandline run",
        usage="strandline run [options] [--] script.py [argument ...]\n"
        "       strandline run [options] -m module [argument ...]",
        description="Run a Python program as it is, record its memory, and report on standard "
        "error which lines, operations and tensors held the peak.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="snapshot for docs.pytorch.org/memory_viz (default: <script>.memory.pickle here)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON too")
    parser.add_argument(
        "--stream",
        metavar="FILE",
        help="write every event to a native file (.slt) while the program runs; it opens up to the "
        "last third of a second also when the program is killed (default: $STRANDLINE_RECORD)",
    )
    parser.add_argument(
        "--max-entries",
        metavar="N",
        type=_number(1, MAX_ENTRIES_LIMIT),
        default=MAX_ENTRIES,
        help="keep the last N events, 64 bytes each (default: %(default)s)",
    )
    parser.add_argument(
        "--min-size",
        metavar="BYTES",
        type=_number(0, 2**64 - 1),
        default=0,
        help="leave smaller allocations out of the events (default: 0)",
    )
    parser.add_argument(
        "--top",
        metavar="N",
        type=_number(1, 10_000),
        default=_TOP,
        help="lines shown in the report (default: %(default)s)",
    )
    parser.add_argument(
        "--allocator",
        metavar="NAME",
        choices=KINDS,
        help="let the framework's memory come from one of ours (default: its own)",
    )
    parser.add_argument(
        "--without-adapters",
        action="store_true",
        help="hook no framework; only what reports to strandline itself is recorded",
    )
    return parser


class _number:  # noqa: N801  argparse calls it like a function
    """A whole number from ``low`` to ``high``."""

    def __init__(self, low: int, high: int) -> None:
        self._low = low
        self._high = high

    def __call__(self, word: str) -> int:
        try:
            number = int(word)
        except ValueError:
            number = None
        if number is None or not self._low <= number <= self._high:
            raise argparse.ArgumentTypeError(
                f"got {word!r}, expected a whole number from {self._low} to {self._high}"
            )
        return number
