# SPDX-License-Identifier: Apache-2.0
"""Running programs in a folder of their own, by plain Python and by `strandline run`."""

import json
import pickle
import subprocess
import sys
import textwrap
from pathlib import Path

PYTHON = [sys.executable]
STRANDLINE = [sys.executable, "-m", "strandline"]
RUN = [*STRANDLINE, "run", "--without-adapters"]

ALLOCATE = """
from strandline._native import testing
def build():
    testing.note_alloc("alloc_new", 4096, 2048, 2000, op="Add", shape=[500], dtype="float32")
build()
"""
"""A script whose line 4 allocates 2048 bytes."""


class ProgramFolder:
    """A folder to work in, with scripts put there by `write`."""

    timeout_s = 120

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, text: str, name: str = "script.py") -> str:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
        return name

    def call(self, command, **options) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=self.path,
            capture_output=True,
            text=True,
            timeout=self.timeout_s,
            **options,
        )

    def both(self, *words: str):
        """The same words by Python and by us; standard output and status must agree."""
        plain = self.call([*PYTHON, *words])
        ours = self.call([*RUN, *words])
        assert ours.stdout == plain.stdout
        assert ours.returncode == plain.returncode
        return plain, ours

    def files(self) -> list[str]:
        return sorted(file.name for file in self.path.iterdir() if file.name != "__pycache__")

    def snapshot(self, name: str = "script.memory.pickle"):
        return pickle.loads((self.path / name).read_bytes())

    def json(self, name: str = "report.json"):
        return json.loads((self.path / name).read_text())
