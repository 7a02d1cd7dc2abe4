# SPDX-License-Identifier: Apache-2.0
"""Reads every *.pickle in a folder the ways others do, and compares with what stands beside it.

NAME.json beside NAME.pickle holds the expected facts, written by the test from its own model:
`verdict`, `active_peak`, `active_end`, `events` per action. Prints one line a file; exit status 1
when anything differs. usage: check_pickles.py FOLDER
"""

import collections
import importlib.util
import io
import json
import pickle
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "python"))
import official_reader as official  # noqa: E402

ORACLE = HERE.parents[2] / "shared" / "tools" / "snapshot_oracle.py"


class NoGlobals(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused: {module}.{name}")


def load_oracle():
    if not ORACLE.exists():
        print(f"skipped: the oracle is absent ({ORACLE.name} of the shared tools)")
        return None
    spec = importlib.util.spec_from_file_location("snapshot_oracle", ORACLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compare(what, got, expected):
    if got != expected:
        raise official.Complaint(f"{what}: got {got}, expected {expected}")


def check(path: Path, oracle) -> None:
    data = path.read_bytes()
    snapshot = NoGlobals(io.BytesIO(data)).load()
    compare("the official reader's object", official.load(data) == snapshot, True)
    official.check_form(snapshot)
    official.categories(snapshot)
    expected = json.loads(path.with_suffix(".json").read_text())
    for device, facts in enumerate(expected["devices"]):
        timeline = official.Timeline(snapshot, device)
        compare("drawn peak", max(timeline.curve), facts["active_peak"])
        compare("drawn end", timeline.curve[-1], facts["active_end"])
        official.Timeline(snapshot, device, by_segments=True)
        official.replay_state_backwards(snapshot, device)
        actions = collections.Counter(e["action"] for e in snapshot["device_traces"][device])
        compare("actions", dict(sorted(actions.items())), facts["actions"])
    if oracle is not None:
        for device, facts in zip(
            oracle.facts(str(path))["devices"], expected["devices"], strict=True
        ):
            compare("verdict", device["verdict"], facts["verdict"])
            compare("residual", device["residual"], 0)
            for key in ("active_peak", "active_end"):
                compare(key, device[key], facts[key])


def main(folder: Path) -> int:
    oracle = load_oracle()
    files = sorted(folder.glob("*.pickle"))
    failed = 0 if files else 1
    for path in files:
        try:
            check(path, oracle)
            print(f"{path.name}: as expected")
        except (official.Complaint, pickle.UnpicklingError) as error:
            failed = 1
            print(f"{path.name}: {error}")
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
