# SPDX-License-Identifier: Apache-2.0
"""Pickles that our writer writes, under torch's own command line for snapshots.

`torch/cuda/_memory_viz.py` is read from the pinned wheel and run as a program, without torch.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from program_folder import RUN, STRANDLINE
from torch_programs import HERE, REAL

pytestmark = pytest.mark.full

SAMPLES = sorted((HERE.parents[2] / "shared" / "samples").glob("snapshots*/*.pickle"))

ALLOCATE = """
from strandline._native import testing
for step in range(30):
    address = 0x7f0000000000 + step * 0x10000
    testing.note_alloc("alloc_new", address, 4096, 4000, op="Add", shape=[1000], dtype="float32")
    if step % 3 == 0:
        testing.note_free("free_to_cache", address)
    if step % 6 == 0:
        testing.note_alloc("alloc_reuse", address, 4096, 3000, op="Mul")
"""


@pytest.fixture(scope="module")
def memory_viz() -> Path:
    found = list(REAL.glob("venv/lib/python*/site-packages/torch/cuda/_memory_viz.py"))
    if not found:
        pytest.skip("build/torch is not there: tools/setup_torch.sh prepares it")
    return found[0]


def tell(memory_viz: Path, verb: str, file: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(memory_viz), verb, str(file)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_our_own_record_is_told_by_stats_and_trace(folder, memory_viz):
    done = folder.call([*RUN, folder.write(ALLOCATE)])
    file = folder.path / "script.memory.pickle"
    stats, trace = (tell(memory_viz, verb, file) for verb in ("stats", "trace"))
    assert (stats.returncode, stats.stderr) == (0, ""), done.stderr
    assert (trace.returncode, trace.stderr) == (0, "")
    assert "segments: 30" in stats.stdout
    assert trace.stdout.count("= cudaMalloc(") == 30
    assert folder.call([*STRANDLINE, "check", file.name]).returncode == 0


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_converted_snapshot_is_told_as_the_original(folder, memory_viz, sample):
    done = folder.call([*STRANDLINE, "convert", str(sample), "converted.pickle"])
    assert done.returncode == 0, done.stderr
    file = folder.path / "converted.pickle"
    original = tell(memory_viz, "stats", sample)
    converted = tell(memory_viz, "stats", file)
    if original.returncode == 0:
        assert (converted.returncode, converted.stdout) == (0, original.stdout)
    if tell(memory_viz, "trace", sample).returncode == 0:
        trace = tell(memory_viz, "trace", file)
        assert trace.returncode == 0, trace.stderr


def test_the_samples_are_there_and_torch_tells_most_of_them(memory_viz):
    if not SAMPLES:
        pytest.skip("../shared/samples is not there")
    told = [sample for sample in SAMPLES if tell(memory_viz, "stats", sample).returncode == 0]
    assert len(told) >= 10, [sample.stem for sample in SAMPLES if sample not in told]
