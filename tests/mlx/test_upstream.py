# SPDX-License-Identifier: Apache-2.0
"""MLX's own tests end the same under the recorder and on our allocators as on the bare MLX.

They are in MLX's repository (python/tests) and in no wheel: STRANDLINE_MLX_TESTS names the folder
of a checkout that has them. STRANDLINE_MLX_SUITES lists other files than those below.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = os.environ.get("STRANDLINE_MLX_TESTS", "")
SUITES = os.environ.get(
    "STRANDLINE_MLX_SUITES", "test_memory test_array test_compile test_linalg"
).split()
WAYS = {
    "recorded": [],
    "host": ["--allocator", "host"],
    "unified": ["--allocator", "unified"],
}

# Says how each test ended; the exit status is that of the tests.
RUNNER = """
import json, sys, unittest

class Told(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.ends = {}
    def _note(self, test, end):
        name = test.id()
        if self.ends.get(name, "ok") == "ok":
            self.ends[name] = end
    def addSuccess(self, test):
        self._note(test, "ok")
    def addFailure(self, test, error):
        super().addFailure(test, error)
        self._note(test, "failed")
    def addError(self, test, error):
        super().addError(test, error)
        self._note(test, f"error {error[0].__name__}")
    def addSkip(self, test, reason):
        self._note(test, "skipped")
    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            self._note(test, "failed")
    def addExpectedFailure(self, test, error):
        self._note(test, "expected failure")
    def addUnexpectedSuccess(self, test):
        self._note(test, "unexpected success")

folder, suite, out = sys.argv[1:]
sys.path.insert(0, folder)
told = Told()
unittest.defaultTestLoader.loadTestsFromName(suite).run(told)
with open(out, "w") as file:
    json.dump({"ends": told.ends, "said": [text for _, text in told.failures + told.errors]}, file)
"""

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not FOLDER, reason="STRANDLINE_MLX_TESTS names no folder of MLX's tests"),
]


def _ends(tmp_path: pathlib.Path, suite: str, options: list[str] | None) -> dict[str, dict]:
    runner = tmp_path / "runner.py"
    runner.write_text(RUNNER)
    strandline = (
        [] if options is None else ["-m", "strandline", "run", "-o", "out.pickle", *options]
    )
    command = [sys.executable, *strandline, str(runner), FOLDER, suite, "ends.json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads((tmp_path / "ends.json").read_text())


@pytest.fixture(scope="module")
def on_bare_mlx(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict]:
    return {suite: _ends(tmp_path_factory.mktemp(suite), suite, None)["ends"] for suite in SUITES}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("suite", SUITES)
def test_a_suite_of_mlx_ends_the_same(on_bare_mlx, suite, way, tmp_path):
    told = _ends(tmp_path, suite, WAYS[way])
    assert on_bare_mlx[suite], "the suite has tests"
    assert told["ends"] == on_bare_mlx[suite], "\n".join(told["said"])
    assert "ok" in told["ends"].values()
