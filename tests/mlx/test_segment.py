# SPDX-License-Identifier: Apache-2.0
"""The stock MLX on the segment allocator: values of a program, its memory figures, the report."""

import pathlib
import re
import subprocess
import sys

PROGRAM = pathlib.Path(__file__).parent / "programs" / "linalg.py"

CODE = """
import strandline.mlx
a = strandline.mlx.use_allocator("segment")
import mlx.core as mx
x = mx.ones((1000, 1000)) + 1
mx.eval(x)
assert x.sum().item() == 2_000_000
assert a.name == "SegmentAllocator"
active = mx.get_active_memory()
assert active >= x.nbytes and active == a.get_active_memory() and active % 512 == 0
del x
mx.clear_cache()
assert mx.get_cache_memory() == 0
a.validate()
print("served by", strandline.mlx.allocator_in_use())
"""


def _run(*words, cwd):
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def test_mlx_works_on_it_and_answers_for_it(tmp_path):
    assert "served by SegmentAllocator" in _run(sys.executable, "-c", CODE, cwd=tmp_path)


def test_a_program_runs_recorded_on_it(tmp_path):
    words = [sys.executable, "-m", "strandline", "run", "--allocator", "segment", str(PROGRAM)]
    said = _run(*words, cwd=tmp_path)
    assert re.search(r"on SegmentAllocator", said)
