# SPDX-License-Identifier: Apache-2.0
"""Programs on the stock MLX, each in a process of its own: the adapter must be there before MLX.

`recorded` runs a program text after switching the recorder on. The program says what it found with
``tell(name=value)``; lines are found by their marks, comments such as ``#[sum]``.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

# {use_allocator} is replaced, not formatted: the text is full of braces.
PRELUDE = """
import json, sys
import strandline as sl
import strandline.mlx
{use_allocator}
import mlx.core as mx
from strandline import _native

told = {}

def tell(**facts):
    told.update(facts)

def live_events():
    "Alloc events whose block is live, by address, holders applied."
    live = {}
    for event in sl.get_memory_events():
        if event["action"].startswith("alloc"):
            live[event["address"]] = event
        elif event["action"] == "holder":
            if event["address"] in live:
                live[event["address"]] = {**live[event["address"]], **{
                    key: event[key] for key in
                    ("op", "traceback", "forward_traceback", "shape", "dtype", "label")}}
        elif event["action"].startswith(("free", "release")):
            live.pop(event["address"], None)
    return list(live.values())

def line(event, which="traceback"):
    frames = event[which]
    return frames[-1][2] if frames else None

def lines(event, which="traceback"):
    return [frame[2] for frame in event[which] or [] if frame[0] == __file__]

sl.record_memory_events(True)
"""


class Told(dict):
    """What a program told, and the line number of each of its marks."""

    def __init__(self, facts: dict[str, Any], marks: dict[str, int]) -> None:
        super().__init__(facts)
        self.marks = marks


@pytest.fixture
def recorded(tmp_path: pathlib.Path) -> Callable[..., Told]:
    def run(
        text: str,
        *arguments: str,
        env: dict[str, str] | None = None,
        allocator: str | None = None,
    ) -> Told:
        use = f"strandline.mlx.use_allocator({allocator!r})" if allocator else ""
        source = (
            PRELUDE.replace("{use_allocator}", use)
            + textwrap.dedent(text)
            + "\nprint(json.dumps(told))\n"
        )
        path = tmp_path / "program.py"
        path.write_text(source)
        done = subprocess.run(
            [sys.executable, str(path), *arguments],
            capture_output=True, text=True, timeout=600, env={**os.environ, **(env or {})},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        marks = {
            found[1]: number
            for number, line in enumerate(source.splitlines(), 1)
            if (found := re.search(r"#\[(\w+)\]", line))
        }
        return Told(json.loads(done.stdout.splitlines()[-1]), marks)

    return run
