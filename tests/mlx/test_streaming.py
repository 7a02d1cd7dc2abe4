# SPDX-License-Identifier: Apache-2.0
"""Streams of programs on the stock MLX: to their end, from the environment, and killed."""

import json
import os
import random
import signal
import subprocess
import sys
import textwrap

import pytest

TRAIN = """
import os, sys
import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optim

model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64))
optimizer = optim.SGD(learning_rate=0.01)

def loss(model, x):
    return mx.mean(mx.square(model(x) - x))  #[loss]

gradient = nn.value_and_grad(model, loss)
steps = int(os.environ["STEPS"])
for step in range(steps):
    x = mx.random.normal((32, 64))
    value, gradients = gradient(model, x)
    optimizer.update(model, gradients)
    mx.eval(model.parameters(), optimizer.state)
    if "strandline" in sys.modules and step % 10 == 9:
        from strandline import _native
        print(_native.stream_events(), flush=True)
"""


def write(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(TRAIN))
    line = next(n for n, text in enumerate(TRAIN.splitlines(), 1) if "#[loss]" in text)
    return script, line


def verb(*words):
    done = subprocess.run(
        [sys.executable, "-m", "strandline", *map(str, words), "--json"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def test_run_streams_what_its_snapshot_has(tmp_path):
    script, line = write(tmp_path)
    command = [sys.executable, "-m", "strandline", "run", "-o", "run.pickle", "--stream", "run.slt"]
    done = subprocess.run(
        [*command, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "STEPS": "20"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    native, said = verb("check", tmp_path / "run.slt")
    pickle, _ = verb("check", tmp_path / "run.pickle")
    assert said == ""
    (ours,), (theirs,) = native["devices"], pickle["devices"]
    for key in ("active_end", "active_peak", "live_blocks", "reserved", "verdict", "residual"):
        assert ours[key] == theirs[key], key
    assert ours["actions"]["alloc"] == theirs["actions"]["alloc"]
    report, _ = verb("report", tmp_path / "run.slt")
    lines = [row["line"] for row in report["devices"][0]["report"]["by_line"] if row["line"]]
    assert (str(script), line) in {(told["file"], told["line"]) for told in lines}


def test_the_environment_records_mlx_where_the_program_imports_us_first(tmp_path):
    script, _ = write(tmp_path)
    script.write_text("import strandline\n" + script.read_text())
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=300,
        env={**os.environ, "STEPS": "5", "STRANDLINE_RECORD": "run.slt"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (device,) = verb("check", tmp_path / "run.slt")[0]["devices"]
    assert device["actions"]["alloc"] > 50
    assert device["residual"] == 0


def kill_one(tmp_path, generator):
    script, _ = write(tmp_path)
    path = tmp_path / "run.slt"
    command = [sys.executable, "-m", "strandline", "run", "-o", "run.pickle", "--stream", str(path)]
    process = subprocess.Popen(
        [*command, str(script)], cwd=tmp_path, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "STEPS": "100000000"},
    )  # fmt: skip
    told = 0
    reports = generator.randrange(2, 30)
    while reports > 0 or told == 0:
        told = int(process.stdout.readline())
        reports -= 1
    process.send_signal(signal.SIGKILL)
    told = int((process.stdout.read().split() or [told])[-1])
    process.wait()
    checked, said = verb("check", path)
    (device,) = checked["devices"]
    assert "was not closed" in said
    assert device["residual"] == 0
    actions = device["actions"]
    # Each of ours becomes at least one of these.
    assert sum(actions.values()) >= told > 0
    assert actions["alloc"] - actions["free_completed"] == device["live_blocks"]
    path.unlink()


def test_a_killed_training_run_leaves_all_it_had_written(tmp_path):
    generator = random.Random(7)
    for _ in range(2):
        kill_one(tmp_path, generator)


@pytest.mark.full
def test_many_killed_training_runs_leave_all_they_had_written(tmp_path):
    generator = random.Random(8)
    for _ in range(100):
        kill_one(tmp_path, generator)
