# SPDX-License-Identifier: Apache-2.0
"""Every command that a how-to page shows is run, on small snapshots of the names it uses."""

import pickle
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from snapshot_kinds import Program, snapshot

PAGES = sorted((Path(__file__).parents[2] / "docs" / "how-to").glob("*.md"))


def commands(page: Path) -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("strandline ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_the_page_run(page, tmp_path):
    for name, steps in (("run", 100), ("before", 100), ("after", 110)):
        made = pickle.dumps(snapshot(Program().run(steps)))
        (tmp_path / f"{name}.pickle").write_bytes(made)
    shown = commands(page)
    assert shown
    for command in shown:
        words = shlex.split(command)[1:]
        done = subprocess.run(
            [sys.executable, "-m", "strandline", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, ""), command
