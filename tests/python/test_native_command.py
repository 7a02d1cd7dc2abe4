# SPDX-License-Identifier: Apache-2.0
"""The native `strandline`: what it says itself, and what it hands on to Python."""

import os
import subprocess
from pathlib import Path

import pytest

COMMAND = Path(__file__).resolve().parents[2] / "build" / "dev" / "src" / "strandline"

pytestmark = pytest.mark.skipif(
    not COMMAND.exists(), reason="the native command is not built (make build)"
)


def command(*arguments, path=None):
    return subprocess.run(
        [COMMAND, *arguments],
        env=os.environ | ({} if path is None else {"PATH": str(path)}),
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def python_that_echoes(tmp_path):
    """A folder with a `python3` that prints its arguments, one a line, and exits with 7."""
    script = tmp_path / "python3"
    script.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nexit 7\n')
    script.chmod(0o755)
    return tmp_path


def test_it_knows_its_version():
    done = command("--version")
    assert (done.returncode, done.stdout.split()[0]) == (0, "strandline")


def test_without_a_known_verb_it_says_how_to_get_help():
    for arguments in ([], ["bogus"]):
        done = command(*arguments)
        assert done.returncode == 2
        assert "--help" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "-o", "x y", "--", "train.py", "--version", ""],
        ["info", "--json"],
        ["run", "--help"],
    ],
)
def test_run_and_info_go_to_python_word_for_word(python_that_echoes, arguments):
    done = command(*arguments, path=python_that_echoes)
    assert done.returncode == 7
    assert done.stdout == "\n".join(["-m", "strandline", *arguments]) + "\n"


def test_without_a_python_it_says_so(tmp_path):
    done = command("run", "train.py", path=tmp_path)
    assert done.returncode == 127
    assert done.stderr.count("\n") == 1
    assert "cannot run python3" in done.stderr
