"""The README is true: its example runs as described, its commands are targets, its links exist."""
# SPDX-License-Identifier: Apache-2.0

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def fenced(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.DOTALL | re.MULTILINE)


def test_make_commands_are_targets():
    named = set(re.findall(r"^make ([a-z-]+)", "\n".join(fenced("sh")), flags=re.MULTILINE))
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named <= targets


def test_linked_files_exist():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_readme_is_short():
    assert len(README.splitlines()) < 200


def test_example_is_recorded_as_described(tmp_path):
    for needed in ("strandline", "strandline.__main__", "mlx"):
        if importlib.util.find_spec(needed) is None:
            pytest.skip(f"{needed} is not installed here")
    (example,) = fenced("python")
    script = tmp_path / "example.py"
    script.write_text(example)
    report = tmp_path / "report.json"
    snapshot = tmp_path / "out.pickle"
    command = [sys.executable, "-m", "strandline", "run", "-o", snapshot, "--json", report, script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert "inputs @ weights" in done.stderr
    assert snapshot.stat().st_size > 0
    assert json.loads(report.read_text())
