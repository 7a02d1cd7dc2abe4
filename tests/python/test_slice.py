# SPDX-License-Identifier: Apache-2.0
"""Slices against an allocator that wrote down every state, and against the oracle on real files."""

import importlib.util
import json
import pickle
from pathlib import Path

import pytest
from answers import answer, strandline
from toy_allocator import ToyAllocator, frame, segments_of, snapshot_of

SHARED = Path(__file__).parents[3] / "shared"
SAMPLES = sorted(SHARED.glob("samples/snapshots*/*.pickle"))


def state_keys(segments):
    """What an allocator's state is, without what a trace cannot tell of it."""
    return [
        (
            s["address"],
            s["total_size"],
            s["stream"],
            tuple(s["segment_pool_id"]),
            s["segment_type"],
            s["allocated_size"],
            s["active_size"],
            [
                (
                    b["address"],
                    b["size"],
                    b["requested_size"] if b["state"] != "inactive" else 0,
                    b["state"],
                    [(f["name"], f["line"]) for f in b["frames"]],
                )
                for b in s["blocks"]
            ],
        )
        for s in segments
    ]


@pytest.mark.parametrize("seed", range(6))
def test_a_slice_ends_in_the_state_the_allocator_had(write, tmp_path, seed):
    allocator = ToyAllocator(capacity=300 << 20).run(250, seed)
    path = write(snapshot_of(allocator))
    count = len(allocator.events)
    part = tmp_path / "part.pickle"
    for first, end in ((0, count), (0, 0), (count // 3, count // 2), (count // 2, count - 7)):
        told = answer("slice", path, part, "--events", f"{first}:{end}")
        made = pickle.loads(part.read_bytes())
        assert state_keys(made["segments"]) == state_keys(segments_of(allocator.state(end)))
        assert [e["addr"] for e in made["device_traces"][0] if "addr" in e] == [
            e["addr"] for e in allocator.events[first:end] if "addr" in e
        ]
        if not allocator.state(end):
            continue  # no events and no segments: no device
        (device,) = answer("check", part)["devices"]
        assert (device["residual"], device["broken_segments"]) == (0, 0)
        live = [b for s in allocator.state(first) for b in s.blocks]
        assert device["active_start"] == sum(b.requested for b in live)
        assert told["devices"][0]["replay"] == {
            "lost_blocks": 0,
            "unknown_frees": 0,
            "segment_conflicts": 0,
        }


@pytest.mark.parametrize("seed", range(4))
def test_a_ring_that_lost_its_first_events_tells_the_same_states(write, tmp_path, seed):
    allocator = ToyAllocator().run(300, seed + 100)
    first = len(allocator.events) // 3
    path = write(snapshot_of(allocator, first=first))
    part = tmp_path / "part.pickle"
    end = len(allocator.events) // 2 - first
    answer("slice", path, part, "--events", f"5:{end}")
    made = pickle.loads(part.read_bytes())
    true = segments_of(allocator.state(first + end))
    told, known = state_keys(made["segments"]), state_keys(true)
    # What a block from before the ring took beyond its request is told only where it lives on.
    assert [s[:5] for s in told] == [s[:5] for s in known]
    live = [(b[0], b[2], b[3]) for s in told for b in s[7] if b[3] != "inactive"]
    assert live == [(b[0], b[2], b[3]) for s in known for b in s[7] if b[3] != "inactive"]


def test_a_slice_by_time_and_device(write, tmp_path):
    one = ToyAllocator().run(80, 1)
    two = ToyAllocator(device=1, base=0x7E00_0000_0000).run(90, 2)
    path = write(snapshot_of(one, two))
    part = tmp_path / "part.pickle"
    start, end = two.events[40]["time_us"], two.events[90]["time_us"]
    answer("slice", path, part, "--time", f"{start}:{end}", "--device", 1)
    made = pickle.loads(part.read_bytes())
    assert [len(t) for t in made["device_traces"]] == [0, 50]
    assert state_keys(made["segments"]) == state_keys(segments_of(two.state(90), 1))


def test_annotations_that_reach_into_the_slice_are_kept(write, tmp_path):
    allocator = ToyAllocator().run(60, 3)
    times = [e["time_us"] for e in allocator.events]
    made = snapshot_of(allocator)

    def mark(name, stage, index):
        return {"name": name, "stage": stage, "device": 0, "time_us": times[index] + 1}

    made["external_annotations"] = [
        mark("whole", "START", 0),
        mark("before", "START", 2),
        mark("before", "END", 5),
        mark("inside", "START", 22),
        mark("inside", "END", 24),
        mark("after", "START", 45),
        mark("whole", "END", 48),
    ]
    part = tmp_path / "part.pickle"
    answer("slice", write(made), part, "--events", "20:40")
    kept = pickle.loads(part.read_bytes())["external_annotations"]
    assert [(a["name"], a["stage"]) for a in kept] == [
        ("whole", "START"),
        ("inside", "START"),
        ("inside", "END"),
    ]


def test_ranges_that_are_none_are_refused(write, tmp_path):
    path = write(snapshot_of(ToyAllocator().run(20, 1)))
    for words in (["--events", "9:3"], ["--events", "4"], ["--time", "a:"]):
        done = strandline("slice", path, tmp_path / "part.pickle", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert words[1].rstrip(":") in done.stderr
    assert not (tmp_path / "part.pickle").exists()


@pytest.fixture(scope="module")
def oracle():
    path = SHARED / "tools" / "snapshot_oracle.py"
    if not path.exists():
        pytest.skip(f"no oracle at {path}")
    spec = importlib.util.spec_from_file_location("snapshot_oracle", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not SAMPLES, reason="no samples beside the project")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_slices_of_real_files_add_up_by_the_oracle(oracle, tmp_path, sample):
    (whole,) = [oracle.facts(str(sample))]
    part = tmp_path / "part.pickle"
    for fraction in (0.3, 1.0):
        for device in whole["devices"]:
            end = int(device["events"] * fraction)
            first = end // 2
            answer(
                "slice", sample, part, "--events", f"{first}:{end}", "--device", device["device"]
            )
            (told,) = oracle.facts(str(part))["devices"]
            levels = levels_of(oracle, sample, device["device"])
            if device["residual"] == 0 and device["live_without_alloc_event"] is not None:
                assert told["active_start"] == levels[first]
                assert told["active_end"] == levels[end]
                assert told["active_peak"] == max(levels[first : end + 1])
                assert told["residual"] == 0
                assert told["verdict"] != "inconsistent"
            assert (told["events"], told["broken_segments"]) == (end - first, 0)


def levels_of(oracle, path, device):
    """The curve of requested bytes, walked backwards from the blocks."""
    with open(path, "rb") as file:
        snapshot = oracle.NoGlobals(file).load()
    if isinstance(snapshot, list):
        snapshot = {"segments": snapshot, "device_traces": []}
    traces = snapshot["device_traces"]
    trace = traces[device] if device < len(traces) else []
    blocks = [
        b
        for s in snapshot["segments"]
        if s.get("device", 0) == device
        for b in s["blocks"]
        if b["state"] in oracle.LIVE
    ]
    levels = [sum(oracle.requested(b) for b in blocks)]
    change = {"alloc": -1, "free_completed": 1, "free": 1}
    for event in reversed(trace):
        levels.append(levels[-1] + change.get(event["action"], 0) * event.get("size", 0))
    return levels[::-1]


def test_a_slice_is_told_as_text_too(write, tmp_path):
    allocator = ToyAllocator()
    allocator.alloc(1000, frames=[frame("step", 88)])
    path = write(snapshot_of(allocator))
    done = strandline("slice", path, tmp_path / "part.json", "--events", "0:2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "device 0: events 0 to 2 of 2, requested 0 B before and 1000 B after" in done.stdout
    made = json.loads((tmp_path / "part.json").read_text())
    assert [e["action"] for e in made["device_traces"][0]] == ["segment_alloc", "alloc"]
