# SPDX-License-Identifier: Apache-2.0
"""The demo under the recorder: its figures against MLX's, its snapshot through every reader.

Short trainings here; the whole one, which must also beat the bigrams, is `make demo` and part of
`make test-full`.
"""

import importlib.util
import json
import pathlib
import pickle
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEMO = ROOT / "examples" / "mlx_char_transformer.py"
ORACLE = ROOT.parent / "shared" / "tools" / "snapshot_oracle.py"
READER = ROOT / "tests" / "python" / "official_reader.py"


def _module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("flags", [[], ["--compile"]], ids=["plain", "compile"])
def test_recorded_bytes_equal_mlx_at_every_step_and_at_the_peak(recorded, flags):
    told = recorded(
        """
        import contextlib, io, runpy
        points = []
        evaluate = mx.eval

        def checked(*arrays):
            evaluate(*arrays)
            mx.synchronize()
            points.append((_native.active_memory(), mx.get_active_memory()))
            if len(points) == 8:
                mx.reset_peak_memory()
                sl.reset_peak_memory()

        mx.eval = checked
        sys.argv = sys.argv[1:]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            runpy.run_path(sys.argv[0], run_name="__main__")
        mx.synchronize()
        report = json.loads(sl.memory_report().json())
        tell(points=points, peak=_native.peak_memory(), mlx_peak=mx.get_peak_memory(),
             report=report)
        """,
        str(DEMO), "--steps", "21", *flags,
    )  # fmt: skip
    assert len(told["points"]) >= 20
    assert all(ours == theirs for ours, theirs in told["points"])
    assert told["peak"] == told["mlx_peak"] > 10_000_000
    report = told["report"]
    assert report["peak"]["active_bytes"] == told["peak"]
    assert report["attributed"]["bytes"] >= 0.99 * told["peak"]
    rest = sum(row["bytes"] for row in report["unattributed"])
    assert report["attributed"]["bytes"] + rest == told["peak"]


@pytest.fixture(scope="module")
def run_of_demo(tmp_path_factory):
    """Report and snapshot of a short recorded training."""
    folder = tmp_path_factory.mktemp("demo")
    command = [sys.executable, "-m", "strandline", "run", "-o", "out.pickle", "--json", "out.json"]
    done = subprocess.run(
        [*command, "--", str(DEMO), "--steps", "3"], capture_output=True, text=True, cwd=folder
    )
    assert "held at the peak" in done.stderr, done.stderr
    assert done.returncode == 1, "three steps do not beat the bigrams, and the program says so"
    return folder / "out.pickle", json.loads((folder / "out.json").read_text())


def test_the_snapshot_of_the_demo_is_complete_by_the_oracle(run_of_demo):
    if not ORACLE.exists():
        pytest.skip("the oracle of the shared tools is absent")
    path, report = run_of_demo
    facts = _module(ORACLE).facts(str(path))["devices"][0]
    assert (facts["verdict"], facts["residual"]) == ("complete", 0)
    assert facts["active_peak"] == report["peak"]["highest_requested_bytes"]


def test_the_snapshot_of_the_demo_is_taken_by_a_strict_official_reader(run_of_demo):
    path, report = run_of_demo
    official = _module(READER)

    class NoGlobals(pickle.Unpickler):
        def find_class(self, module, name):
            raise pickle.UnpicklingError(f"refused: {module}.{name}")

    snapshot = official.load(path.read_bytes())
    with path.open("rb") as file:
        assert snapshot == NoGlobals(file).load()
    official.check_form(snapshot)
    curve = official.Timeline(snapshot, 0).curve
    assert max(curve) == report["peak"]["highest_requested_bytes"]
    official.replay_state_backwards(snapshot, 0)
    files = {
        frame["filename"] for event in snapshot["device_traces"][0] for frame in event["frames"]
    }
    assert any(file.endswith(DEMO.name) for file in files)
    assert not any("strandline/" in file or "runpy" in file for file in files), (
        "frames of ours do not belong to the program"
    )
