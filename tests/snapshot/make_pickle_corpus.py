#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the fuzz target `pickle` begins with: small snapshots of each kind the reader knows.

Run from the project root: python3 tests/snapshot/make_pickle_corpus.py
"""

import gzip
import pathlib
import pickle
import sys
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "python"))

from snapshot_kinds import BASE, Program, frame, snapshot  # noqa: E402

TARGET = ROOT / "tests" / "snapshot" / "corpus" / "pickle"


def legacy() -> list[dict[str, Any]]:
    """Segments as before 2023: blocks without addresses, with a history."""
    entry = {"addr": BASE, "real_size": 900, "frames": [frame("f", 3)]}
    used = {"size": 1024, "state": "active_allocated", "history": [entry]}
    free = {"size": 1024, "state": "inactive"}
    return [{"device": 0, "address": BASE, "total_size": 2048, "blocks": [used, free]}]


def kinds() -> dict[str, Any]:
    program = Program(seed=5).run(8)
    annotated = Program(seed=6)
    at = annotated.alloc(3000)
    annotated.event("annotate", at, 3000, [])
    annotated.events[-1]["user_metadata"] = {"op": "add", "shape": "(3, 4)", "dtype": "float32"}
    annotated.free(at)
    rich = snapshot(annotated)
    rich["external_annotations"] = [
        {"name": "step", "stage": stage, "device": 0, "time_us": 1_700_000_000_000_000 + i}
        for i, stage in enumerate(("START", "END"))
    ]
    rich["host_traces"] = [[dict(annotated.events[1], addr=1 << 40)]]
    rich["host_segments"] = []
    odd = Program(seed=7)
    odd.event("oom", 0, 1 << 40, [])
    odd.events[-1]["device_free"] = odd.events[-1].pop("addr")
    odd.event("workspace_snapshot", (1 << 64) - 16, 5, [])
    odd.event("alloc", (1 << 80) + 3, 64, [frame("??", 0, "??")])
    odd.event("segment_map", BASE, 1 << 21, [])
    odd.event("segment_unmap", BASE, 1 << 20, [])
    odd.events[-1].update(pool_id=(1, 2), category="unknown", npu={"a": [1, None, 1.5]})
    return {
        "plain": snapshot(program),
        "rich": rich,
        "odd": snapshot(odd),
        "two": snapshot(program, Program(seed=8, device=1, base=BASE << 1).run(6)),
        "legacy": legacy(),
        "empty": {"segments": [], "device_traces": []},
    }


def main() -> None:
    TARGET.mkdir(parents=True, exist_ok=True)
    for name, value in kinds().items():
        for protocol in (0, 2, 4) if name != "plain" else range(6):
            (TARGET / f"{name}_{protocol}").write_bytes(pickle.dumps(value, protocol))
    packed = gzip.compress((TARGET / "rich_4").read_bytes(), mtime=0)
    (TARGET / "rich_gzip").write_bytes(packed)
    (TARGET / "self_list").write_bytes(b"]q\x00(h\x00h\x00e.")
    (TARGET / "global").write_bytes(b"\x80\x04}(\x8c\x06actioncos\nsystem\n(S'x'\ntR.")


if __name__ == "__main__":
    main()
