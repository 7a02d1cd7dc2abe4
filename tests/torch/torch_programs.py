# SPDX-License-Identifier: Apache-2.0
"""Running programs that use torch, the stand-in or PyTorch itself, and reading what they leave."""

import json
import os
import sys
from pathlib import Path

from program_folder import STRANDLINE, ProgramFolder

HERE = Path(__file__).parent
REAL = HERE.parents[1] / "build" / "torch"
ORACLE = HERE.parents[2] / "shared" / "tools" / "torch_oracle"

TRAIN = """
import torch
MIB = 1 << 20
def make():
    return torch.empty(8 * MIB, device="cuda")  #[weights]
weights = make()
for step in range(3):
    scratch = torch.empty(3 * MIB, device="cuda")  #[scratch]
    del scratch
print("trained")
"""


class TorchFolder(ProgramFolder):
    """A folder to work in; its programs find the stand-in as torch."""

    settings: dict[str, str] = {}
    command: list[str] = STRANDLINE
    plain_command: list[str] = [sys.executable]
    packages: list[Path] = [HERE / "stand_in" / "site-packages"]

    def run(self, *words: str, text: str, **settings: object):
        """`strandline run` of a program text with options; `settings` go to the stand-in."""
        script = self.write(text)
        return self.call([*self.command, "run", *words, script], env=self.environment(settings))

    def plain(self, text: str, **settings: object):
        """The program alone, by Python."""
        script = self.write(text)
        return self.call([*self.plain_command, script], env=self.environment(settings))

    def answer(self, *words: str) -> dict:
        """What a verb prints as JSON, run where the programs are."""
        done = self.call([*self.command, *words, "--json"], env=self.environment({}))
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def environment(self, settings: dict[str, object]) -> dict[str, str]:
        paths = [*map(str, self.packages), os.environ.get("PYTHONPATH", "")]
        chosen = {f"STAND_IN_{k}" if k != "kind" else "STAND_IN": v for k, v in settings.items()}
        known = {**self.settings, **{name.upper(): str(value) for name, value in chosen.items()}}
        return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), **known}

    def mark(self, name: str, script: str = "script.py") -> int:
        """The line of a mark, a comment such as ``#[weights]``."""
        lines = (self.path / script).read_text().splitlines()
        (found,) = [number for number, line in enumerate(lines, 1) if f"#[{name}]" in line]
        return found


class RealFolder(TorchFolder):
    """Its programs run on PyTorch itself; `settings` go to the fake device."""

    timeout_s = 600

    command = [str(ORACLE / "run.sh"), str(REAL), "-m", "strandline"]
    plain_command = [str(ORACLE / "run.sh"), str(REAL)]

    def environment(self, settings: dict[str, object]) -> dict[str, str]:
        known = {f"FAKE_CUDA_{name.upper()}": str(value) for name, value in settings.items()}
        paths = os.pathsep.join(map(str, self.packages))
        return {**os.environ, "PYTHONPATH": paths, **self.settings, **known}


def lines_at_peak(report: dict, device: int = 0) -> list[int]:
    """Line numbers of the report, largest holder first."""
    (found,) = [d["report"] for d in report["devices"] if d["device"] == device]
    return [entry["line"]["line"] for entry in found["by_line"] if entry["line"]]


def sizes(snapshot, device=0, action="alloc"):
    return [e["size"] for e in snapshot["device_traces"][device] if e["action"] == action]


def live(snapshot):
    return [b["requested_size"] for s in snapshot["segments"] for b in s["blocks"]]
