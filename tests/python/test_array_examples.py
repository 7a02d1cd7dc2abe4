# SPDX-License-Identifier: Apache-2.0
"""The examples on arrays as programs: what they print, and how they refuse wrong arguments."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import strandline as sl

pytest.importorskip("numpy")
EXAMPLES = Path(__file__).parents[2] / "examples"


def run(folder, name, *arguments):
    command = [sys.executable, str(EXAMPLES / name), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240)


def test_the_graph_is_drawn_and_its_order_told(tmp_path):
    done = run(tmp_path, "graph.py", "drawn.dot")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "evaluation" and lines[-1] == "graph written to drawn.dot"
    operations = [line.split()[0] for line in lines[1:9]]
    assert operations == [
        "Add", "Reshape", "Reshape", "Matmul", "Broadcast", "Split", "Add", "Add",
    ]  # fmt: skip
    assert (tmp_path / "drawn.dot").read_text().startswith("digraph {")


@pytest.mark.parametrize("name", ["graph.py", "char_transformer.py"])
def test_help_does_nothing_but_help(tmp_path, name):
    done = run(tmp_path, name, "--help")
    assert done.returncode == 0 and done.stdout.startswith(f"usage: {name}")
    assert list(tmp_path.iterdir()) == []


def test_a_graph_that_cannot_be_written_is_refused_before_it_is_made(tmp_path):
    done = run(tmp_path, "graph.py", tmp_path / "none" / "graph.dot")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.endswith("cannot be written: No such file or directory\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--steps", "0"], "--steps must be at least 1, not 0"),
        (["--steps", "many"], "argument --steps: invalid int value: 'many'"),
        (["--seed", "-5"], "--seed must be from 0 to 18446744073709551615, not -5"),
        (["--seed", str(2**64)], f"--seed must be from 0 to {2**64 - 1}, not {2**64}"),
        (["--device", "nope"], "argument --device: invalid choice: 'nope'"),
        (["--snapshot", "none/at.pickle"], "--snapshot none/at.pickle cannot be written: No such"),
        (["--snapshot", "."], "--snapshot . cannot be written: Is a directory"),
        (["--unknown"], "unrecognized arguments: --unknown"),
    ],
)
def test_wrong_arguments_are_told_in_one_line_before_training(tmp_path, arguments, message):
    done = run(tmp_path, "char_transformer.py", *arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith(f"error: {message}") and done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_snapshot_that_may_not_be_written_is_refused(tmp_path):
    kept = tmp_path / "kept.pickle"
    kept.write_bytes(b"kept")
    kept.chmod(0o400)
    done = run(tmp_path, "char_transformer.py", "--snapshot", kept)
    assert done.returncode == 2 and "cannot be written: Permission denied" in done.stderr
    assert kept.read_bytes() == b"kept"


def test_one_step_reports_and_leaves_a_snapshot(tmp_path):
    done = run(tmp_path, "char_transformer.py", "--steps", 1, "--snapshot", "at.pickle")
    assert done.returncode == 1  # a step does not beat the bigrams, which the last line says
    assert done.stderr.splitlines()[-1].startswith("error: after 1 steps the loss does not beat")
    assert "trained                 1 steps" in done.stdout
    assert "attributed 100.0 % to a line, an operation and a shape" in done.stdout
    (device,) = sl.Snapshot.load(tmp_path / "at.pickle").report().to_dict()["devices"]
    report = device["report"]
    assert report["attributed"]["bytes"] == report["peak"]["active_bytes"] > 30 << 20
    assert report["unattributed"] == [] and device["verdict"] == "complete"
