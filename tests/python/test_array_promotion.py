# SPDX-License-Identifier: Apache-2.0
"""The dtypes of results are stock MLX's, which runs in a process of its own."""

import json
import subprocess
import sys

import pytest

pytest.importorskip("numpy")
import strandline.array as sa  # noqa: E402

PROGRAM = """
names = ["bool_", "uint8", "uint32", "int32", "int64", "float16", "bfloat16", "float32"]
def dtypes(m):
    told = {}
    def tell(what, a):
        told[what] = str(a.dtype).rpartition(".")[2].rstrip("_")
    for first in names:
        a = m.array([1, 0], dtype=getattr(m, first))
        for name in ("sum", "prod", "mean", "var", "max", "argmax", "exp", "square", "floor",
                     "logsumexp", "softmax", "abs"):
            tell(f"{name} {first}", getattr(m, name)(a))
        for number in (True, 2, 2.5):
            tell(f"{first} + {number}", a + number)
            tell(f"{number} * {first}", number * a)
            tell(f"{first} / {number}", a / number)
        for second in names:
            b = m.array([1, 0], dtype=getattr(m, second))
            for name in ("add", "multiply", "divide", "floor_divide", "remainder", "power",
                         "maximum", "equal", "logaddexp"):
                tell(f"{name} {first} {second}", getattr(m, name)(a, b))
            tell(f"where {first} {second}", m.where(a == 1, a, b))
            tell(f"concatenate {first} {second}", m.concatenate([a, b]))
    return told
"""


def test_the_dtypes_of_results_are_mlxs():
    pytest.importorskip("mlx.core")
    theirs = "import json, mlx.core as mx\nprint(json.dumps(dtypes(mx)))"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + theirs], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    scope = {}
    exec(PROGRAM, scope)
    ours, theirs = scope["dtypes"](sa), json.loads(done.stdout)
    assert len(ours) > 800
    different = {what: (ours[what], theirs[what]) for what in ours if ours[what] != theirs[what]}
    assert different == {}
