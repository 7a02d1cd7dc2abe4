# SPDX-License-Identifier: Apache-2.0
"""The demo's model on our arrays: against stock MLX, on each device, recorded and not.

Everything that imports mlx runs in a process of its own.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("numpy")
EXAMPLES = Path(__file__).parents[2] / "examples"

PROGRAM = """
import json, sys
sys.path.insert(0, {examples!r})
import numpy as np
STEPS, ROWS, LENGTH = {steps}, 4, 24
random = np.random.default_rng(5)
WINDOWS = [random.integers(0, 64, (ROWS, LENGTH + 1)).astype("uint8") for _ in range(8)]

def ours(device, recorded):
    import char_transformer as model
    import strandline as sl
    import strandline.array as sa
    if recorded:
        sl.record_memory_events()
    before = sa.set_default_device(model.device_named(device))
    parameters = model.tree_map(lambda w: sa.array(np.asarray(w)), weights())
    optimizer = model.AdamW(parameters)
    losses = []
    for i in range(STEPS):
        step = model.make_step(parameters, optimizer, model.learning_rate(i, STEPS))
        loss, parameters = step(sa.array(WINDOWS[i % 8]))
        losses.append(loss.item())
    sa.set_default_device(before)
    if recorded:
        report = json.loads(sl.memory_report().json())
        sl.record_memory_events(False)
        return losses, report
    return losses

def weights():
    import char_transformer as model
    import strandline.array as sa
    before = sa.set_default_device(sa.Device())
    made = model.tree_map(np.asarray, model.init_parameters(3))
    sa.set_default_device(before)
    return made
"""

MLX = """
def theirs():
    import char_transformer as ours_model
    import mlx.core as mx, mlx.nn as nn, mlx.optimizers as optim
    import mlx_char_transformer as model
    mx.set_default_device(mx.cpu)
    made = model.CharTransformer()
    made.update(ours_model.tree_map(lambda w: mx.array(w), weights()))
    optimizer = optim.AdamW(1.0, betas=[0.9, 0.95])
    optimizer.init(made.trainable_parameters())
    loss_and_grad = nn.value_and_grad(made, model.loss_fn)
    losses = []
    for i in range(STEPS):
        optimizer.learning_rate = ours_model.learning_rate(i, STEPS)
        loss, gradients = loss_and_grad(made, mx.array(WINDOWS[i % 8]))
        optimizer.update(made, gradients)
        mx.eval(loss, made.state, optimizer.state)
        losses.append(loss.item())
    return losses
"""


def run(folder, program, steps):
    text = (
        PROGRAM.replace("{examples!r}", repr(str(EXAMPLES))).replace("{steps}", str(steps))
        + program
    )
    file = folder / "program.py"  # a file, whose lines are the user's
    file.write_text(text)
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def test_the_model_trains_to_the_losses_of_stock_mlx(tmp_path):
    pytest.importorskip("mlx.core")
    devices = ("host", "unified", "sim")
    program = MLX + f"print(json.dumps([theirs(), [ours(d, False) for d in {devices}]]))"
    theirs, all_ours = run(tmp_path, program, 50)
    assert len(theirs) == 50 and theirs[-1] < theirs[0] - 0.3, "it learns"
    for device, ours in zip(devices, all_ours, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4), device


def test_every_device_gives_the_same_losses_recorded_or_not(tmp_path):
    program = """
host, report = ours("host", True)
all = [ours("host", False), ours("unified", False), ours("sim", False), ours("sim", True)[0]]
print(json.dumps([host, all, report]))
"""
    host, others, report = run(tmp_path, program, 8)
    for losses in others:
        assert losses == host, "bit for bit"
    assert report["attributed"]["bytes"] == report["peak"]["active_bytes"] > 0
    assert report["unattributed"] == []


def test_the_examples_run(tmp_path):
    graph = subprocess.run(
        [sys.executable, str(EXAMPLES / "graph.py"), str(tmp_path / "graph.dot")],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert graph.returncode == 0, graph.stderr
    assert (tmp_path / "graph.dot").read_text().startswith("digraph {")
    assert "Matmul     3 consumers" in graph.stdout
