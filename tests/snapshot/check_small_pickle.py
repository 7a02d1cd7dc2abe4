# SPDX-License-Identifier: Apache-2.0
"""The small record of pickle_writer_test.cpp, as dictionaries written by hand."""

import pickle
import sys

T = 1_700_000_000_000_000  # microseconds; one event a millisecond

MAIN = {"filename": "/home/u/train.py", "line": 3, "name": "main"}
STEP = {"filename": "/home/u/train.py", "line": 88, "name": "step"}
FORWARD = {"filename": "/home/u/model.py", "line": 41, "name": "forward"}
ADD = {"label": "w", "op": "Add", "shape": "(5, 25)", "dtype": "float32"}
GRADIENT = {"frames": [STEP, MAIN], "forward_frames": [FORWARD, MAIN]}


def event(action, ms, size, metadata, category="unknown", addr=0x1000, **more):
    place = "device_free" if action == "oom" else "addr"
    return {
        "action": action,
        place: addr,
        "size": size,
        "stream": 0,
        "time_us": T + 1000 * ms,
        "compile_context": None,
        "user_metadata": metadata,
        "pool_id": (0, 0),
        "category": category,
        "frames": [],
    } | more


EVENTS = [
    event("segment_alloc", 1, 512, "w", **GRADIENT),
    event("alloc", 1, 500, ADD, "Add", **GRADIENT),
    event("oom", 2, 1_000_000, "", addr=77),
    event("annotate", 3, 500, ADD, **GRADIENT),
    event("free_requested", 4, 500, ADD, "Add", **GRADIENT),
    event("free_completed", 4, 500, ADD, "Add", **GRADIENT),
    event("alloc", 5, 300, "only a label"),
    event("snapshot", 6, 512, "", addr=0),
]
SEGMENT = {
    "device": 0,
    "address": 0x1000,
    "total_size": 512,
    "allocated_size": 512,
    "active_size": 512,
    "requested_size": 300,
    "stream": 0,
    "segment_type": "large",
    "segment_pool_id": (0, 0),
    "is_expandable": False,
    "frames": [],
    "blocks": [
        {
            "address": 0x1000,
            "size": 512,
            "requested_size": 300,
            "state": "active_allocated",
            "frames": [],
        }
    ],
}
ANNOTATIONS = [
    {"name": "step 1", "stage": "START", "device": 0, "time_us": T},
    {"name": "step 1", "stage": "END", "device": 0, "time_us": T + 3000},
]

with open(sys.argv[1], "rb") as file:
    snapshot = pickle.load(file)
settings = snapshot.pop("allocator_settings")
assert settings["strandline_events_overwritten"] == 0, settings
assert settings["strandline_events_alloc_new"] == 1, settings
assert settings["strandline_bytes_free_to_cache"] == 512, settings
assert settings["strandline_peak_requested"] == 500, settings
assert all(isinstance(value, int | float | str) for value in settings.values()), settings
for got, expected in zip(snapshot["device_traces"][0], EVENTS, strict=True):
    assert got == expected, f"{got}\n{expected}"
assert snapshot == {
    "device_traces": [EVENTS],
    "segments": [SEGMENT],
    "external_annotations": ANNOTATIONS,
    "host_segments": [],
    "host_traces": [],
}, snapshot
