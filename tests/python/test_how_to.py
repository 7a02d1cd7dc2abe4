# SPDX-License-Identifier: Apache-2.0
"""Every command and every program that a how-to page shows is run, on small snapshots of the names
it uses."""

import pickle
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from snapshot_kinds import Program, snapshot
from toy_allocator import MIB, ToyAllocator, snapshot_of

PAGES = sorted((Path(__file__).parents[2] / "docs" / "how-to").glob("*.md"))
WANTED = {
    "find-the-peak",
    "compare-two-runs",
    "explain-an-oom",
    "gate-in-ci",
    "share-a-slice",
    "query-a-fleet",
    "try-a-device-you-do-not-have",
}


def blocks(page: Path, language: str) -> list[str]:
    pattern = rf"^```{language}\n(.*?)^```"
    return re.findall(pattern, page.read_text(), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks(page, "sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("strandline ")]


@pytest.fixture
def folder(tmp_path):
    for name, steps in (("run", 300), ("before", 100), ("after", 110)):
        made = pickle.dumps(snapshot(Program().run(steps)))
        (tmp_path / f"{name}.pickle").write_bytes(made)
    failing = ToyAllocator(capacity=90 * MIB).run(300, 0)
    assert any(event["action"] == "oom" for event in failing.events)
    (tmp_path / "oom.pickle").write_bytes(pickle.dumps(snapshot_of(failing)))
    return tmp_path


def test_the_pages_are_those_that_were_promised():
    assert {page.stem for page in PAGES} >= WANTED


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_the_page_run(page, folder):
    shown = commands(page)
    assert shown
    for command in shown:
        words = shlex.split(command)[1:]
        done = subprocess.run(
            [sys.executable, "-m", "strandline", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert (done.returncode, done.stderr) == (0, ""), command


PROGRAMS = [(page, block) for page in PAGES for block in blocks(page, "python")]


@pytest.mark.parametrize(("page", "program"), PROGRAMS, ids=lambda one: getattr(one, "stem", ""))
def test_the_programs_of_the_page_run(page, program, folder):
    for package in re.findall(r"^import (\w+)", program, re.MULTILINE):
        pytest.importorskip(package)
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()
