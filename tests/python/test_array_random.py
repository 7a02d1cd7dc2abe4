# SPDX-License-Identifier: Apache-2.0
"""Random arrays: equal to stock MLX's from the same keys, which runs in a process of its own."""

import json
import math
import subprocess
import sys

import pytest

np = pytest.importorskip("numpy")
import strandline.array as sa  # noqa: E402

PROGRAM = """
import json
import mlx.core as mx
mx.set_default_device(mx.cpu)
key = mx.random.key(2**40 + 7)
told = {
    "split": [mx.random.split(key, n).tolist() for n in (1, 2, 5)],
    "uniform": mx.random.uniform(-2, 3, (5, 3), key=key).tolist(),
    "normal": mx.random.normal((501,), loc=1, scale=2, key=key).tolist(),
    "randint": mx.random.randint(-5, 500, (9, 2), key=key).tolist(),
    "of nothing": [mx.random.randint(5, high, (3,), key=key).tolist() for high in (5, 3)],
    "categorical": mx.random.categorical(mx.arange(12.0).reshape(3, 4) / 4, key=key).tolist(),
}
mx.random.seed(3)
told["sequence"] = [mx.random.uniform(shape=(2,)).tolist() for _ in range(3)]
print(json.dumps(told))
"""


@pytest.fixture(scope="module")
def mlx():
    pytest.importorskip("mlx.core")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_keys_are_mlxs(mlx):
    key = sa.random.key(2**40 + 7)
    assert [sa.random.split(key, n).tolist() for n in (1, 2, 5)] == mlx["split"]


def test_numbers_are_mlxs(mlx):
    key = sa.random.key(2**40 + 7)
    assert sa.random.uniform(-2, 3, (5, 3), key=key).tolist() == mlx["uniform"]
    assert sa.random.randint(-5, 500, (9, 2), key=key).tolist() == mlx["randint"]
    nothing = [sa.random.randint(5, high, (3,), key=key).tolist() for high in (5, 3)]
    assert nothing == mlx["of nothing"] == [[5] * 3] * 2
    logits = sa.arange(12.0).reshape(3, 4) / 4
    assert sa.random.categorical(logits, key=key).tolist() == mlx["categorical"]
    ours = sa.random.normal((501,), loc=1, scale=2, key=key).tolist()
    assert ours == pytest.approx(
        mlx["normal"], rel=1e-5, abs=1e-5
    )  # erfinv differs in the last bit


def test_the_sequence_after_a_seed_is_mlxs(mlx):
    sa.random.seed(3)
    assert [sa.random.uniform(shape=(2,)).tolist() for _ in range(3)] == mlx["sequence"]


def test_numbers_have_the_distribution_they_say():
    key = sa.random.key(1)
    x = np.asarray(sa.random.normal((100_000,), sa.float64, key=key))
    assert abs(x.mean()) < 0.02 and abs(x.std() - 1) < 0.02
    inside = [float((np.abs(x) < z).mean()) for z in (1, 2, 3)]
    assert inside == pytest.approx([math.erf(z / 2**0.5) for z in (1, 2, 3)], abs=0.01)
    drawn = np.asarray(sa.random.randint(0, 7, (70_000,), key=key))
    assert np.bincount(drawn).tolist() == pytest.approx([10_000] * 7, rel=0.05)
    logits = sa.broadcast_to(sa.log(sa.array([0.2, 0.3, 0.5])), (50_000, 3))
    counts = np.bincount(np.asarray(sa.random.categorical(logits, key=key))) / 50_000
    assert counts.tolist() == pytest.approx([0.2, 0.3, 0.5], abs=0.01)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="expected a float dtype"):
        sa.random.normal((2,), sa.int32)
    with pytest.raises(ValueError, match="an integer dtype"):
        sa.random.randint(0, 2, (2,), sa.float32)
    with pytest.raises(ValueError, match="as key"):
        sa.random.bits((2,), key=sa.array([1, 2]))
    with pytest.raises(ValueError, match="at least 1"):
        sa.random.split(sa.random.key(1), 0)
