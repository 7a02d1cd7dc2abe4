# SPDX-License-Identifier: Apache-2.0
"""Programs over all of MLX's areas print the same recorded and not."""

import pathlib
import subprocess
import sys

import pytest

PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.py"))


def _output(command: list[str], folder: pathlib.Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_prints_the_same_when_recorded(program, tmp_path):
    plain = _output([sys.executable, str(program)], tmp_path)
    recorded = _output(
        [sys.executable, "-m", "strandline", "run", "-o", "out.pickle", str(program)], tmp_path
    )
    assert plain and recorded == plain
    assert (tmp_path / "out.pickle").stat().st_size > 0


def test_there_is_a_program_for_every_area():
    assert len(PROGRAMS) >= 20
