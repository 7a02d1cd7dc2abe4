# SPDX-License-Identifier: Apache-2.0
"""docs/pytorch.md: its commands are run on the stand-in, its programs on PyTorch itself."""

import re
import shlex
from pathlib import Path

import pytest
from program_folder import STRANDLINE
from torch_programs import TRAIN

PAGE = (Path(__file__).parents[2] / "docs" / "pytorch.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_commands_of_the_page_run(folder):
    folder.write(TRAIN, "train.py")
    commands = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(commands) == 3
    for command in commands:
        words = shlex.split(command)[1:]
        done = folder.call([*STRANDLINE, *words], env=folder.environment({}))
        assert done.returncode == 0, (command, done.stderr)


@pytest.mark.full
def test_the_programs_of_the_page_run(real):
    first, second = blocks("python")
    done = real.run("--json", "report.json", text=first)
    assert done.returncode == 0, done.stderr
    report = real.json()["devices"][0]["report"]
    assert {"model", "adam"} <= {entry["name"] for entry in report["by_label"]}
    assert any((entry["name"] or "").startswith("step") for entry in report["by_phase"])
    done = real.plain(second.replace("r.report()", "print(r.report())"))
    assert done.returncode == 0, done.stderr
    assert "script.py:5" in done.stdout
