# SPDX-License-Identifier: Apache-2.0
"""Fragmentation against an allocator that wrote down every state, by hand, and on real files."""

import pickle
from collections import defaultdict
from pathlib import Path

import pytest
import strandline as sl
from answers import answer, strandline
from toy_allocator import KIB, MIB, ToyAllocator, frame, rounded, snapshot_of

SAMPLES = sorted((Path(__file__).parents[3] / "shared").glob("samples/snapshots*/*.pickle"))


@pytest.fixture
def worked(write):
    """By hand: a small segment with A | hole | B | hole, a large one that is empty."""
    allocator = ToyAllocator()
    allocator.alloc(500 * KIB, frames=[frame("a", 1)])
    gone = allocator.alloc(300 * KIB, frames=[frame("gone", 2)])
    allocator.alloc(1000, frames=[frame("b", 3)])
    empty = allocator.alloc(2 * MIB, frames=[frame("large", 4)])
    allocator.free(gone)
    allocator.free(empty)
    return write(snapshot_of(allocator))


def test_a_state_worked_by_hand(worked):
    (device,) = answer("fragmentation", worked, "--fraction", 1)["devices"]
    small_free = 2 * MIB - 500 * KIB - 1024
    assert device["totals"] == {
        "reserved_bytes": 22 * MIB,
        "live_bytes": 500 * KIB + 1024,
        "requested_bytes": 500 * KIB + 1000,
        "outside_bytes": 0,
        "free_bytes": small_free + 20 * MIB,
        "holes": 3,
        "largest_hole_bytes": 20 * MIB,
    }
    assert device["pinned_free_bytes"] == small_free
    small, large = device["segments"]
    assert (small["kind"], small["free_bytes"], small["holes"]) == ("small", small_free, 2)
    assert small["largest_hole_bytes"] == small_free - 300 * KIB
    assert small["internal_bytes"] == 24
    pins = [(p["line"]["function"], p["bytes"], p["blocks"]) for p in small["pinned_by"]]
    assert pins == [("a", 500 * KIB, 1), ("b", 1024, 1)]
    assert (large["kind"], large["blocks"], large["pinned_by"]) == ("large", 0, [])
    requests = [(r["line"]["function"], r["wanted_bytes"]) for r in device["requests"]]
    assert sorted(requests) == [("a", 500 * KIB), ("large", 2 * MIB)]


def test_the_text_says_what_pins_a_segment(worked):
    done = strandline("fragmentation", worked, "--fraction", 1)
    assert (done.returncode, done.stderr) == (0, "")
    assert "train.py:1 a" in done.stdout
    assert "20.0 MiB   in segments that could be returned" in done.stdout


def test_a_filter_shows_the_segments_that_a_matching_block_pins(worked):
    (device,) = answer("fragmentation", worked, "--fraction", 1, "--filter", "frame=b")["devices"]
    (segment,) = device["segments"]
    assert [p["line"]["function"] for p in segment["pinned_by"]] == ["b"]
    assert device["totals"]["reserved_bytes"] == 22 * MIB


def naive(state):
    """Sums of a state by class: stream, pool, kind."""
    classes = defaultdict(lambda: {"reserved": 0, "live": 0, "free": 0, "holes": [], "pinned": 0})
    for segment in state:
        sums = classes[segment.stream, segment.pool, "small" if segment.small else "large"]
        sums["reserved"] += segment.size
        holes = [b.size for b in segment.blocks if b.state == "inactive"]
        sums["live"] += segment.size - sum(holes)
        sums["holes"] += holes
        if len(holes) < len(segment.blocks):
            sums["pinned"] += sum(holes)
    return classes


@pytest.mark.parametrize("seed", range(5))
def test_every_moment_and_every_new_segment_as_the_allocator_had_them(write, seed):
    allocator = ToyAllocator().run(250, seed)
    path = write(snapshot_of(allocator))
    for index in (0, len(allocator.events) // 2, len(allocator.events)):
        (device,) = answer("fragmentation", path, "--event", index - 1, "--top", 1000)["devices"]
        true = naive(allocator.state(index))
        told = {
            (p["stream"], tuple(p["pool"]), p["kind"]): (
                p["reserved_bytes"],
                p["live_bytes"],
                p["free_bytes"],
                p["holes"],
                p["largest_hole_bytes"],
                p["pinned_free_bytes"],
            )
            for p in device["pools"]
        }
        assert told == {
            key: (
                s["reserved"],
                s["live"],
                sum(s["holes"]),
                len(s["holes"]),
                max(s["holes"], default=0),
                s["pinned"],
            )
            for key, s in true.items()
        }
        assert len(device["segments"]) == len(allocator.state(index))
    check_requests(device["requests"], allocator)


def check_requests(requests, allocator):
    obtained = [i for i, e in enumerate(allocator.events) if e["action"] == "segment_alloc"]
    assert sorted(r["event"] for r in requests) == obtained
    for request in requests:
        index = request["event"]
        wanted = rounded(allocator.events[index + 1]["size"])
        assert request["wanted_bytes"] == wanted
        event = allocator.events[index]
        kind = "small" if wanted <= MIB else "large"
        state = naive(allocator.state(index))
        holes = state[event["stream"], event["pool_id"], kind]["holes"]
        assert request["free_in_class_bytes"] == sum(holes)
        assert request["largest_in_class_bytes"] == max(holes, default=0) < wanted
        assert request["is_fragmented"] == (sum(holes) >= wanted)
        assert request["reserved_bytes"] == sum(s["reserved"] for s in state.values())
    free = [r["free_in_class_bytes"] for r in requests]
    assert free == sorted(free, reverse=True)


@pytest.mark.skipif(not SAMPLES, reason="no samples beside the project")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_the_end_of_real_files_is_what_they_say(sample):
    snapshot = pickle.loads(sample.read_bytes())
    segments = snapshot if isinstance(snapshot, list) else snapshot["segments"]
    told = answer("fragmentation", sample, "--fraction", 1, "--top", 100_000)
    if any(device.broken_segments for device in sl.Snapshot.load(sample).check().devices):
        pytest.skip("its blocks do not fill their segments")
    for device in told["devices"]:
        own = [s for s in segments if s.get("device", 0) == device["device"]]
        blocks = [b for s in own for b in s["blocks"]]
        free = [b["size"] for b in blocks if b["state"] == "inactive"]
        assert device["totals"]["reserved_bytes"] == sum(s["total_size"] for s in own)
        assert device["totals"]["largest_hole_bytes"] == max(free, default=0)
        assert device["totals"]["free_bytes"] == sum(free)
        assert len(device["segments"]) == len(own)
        assert device["replay"]["lost_blocks"] == 0


def test_from_python(worked):
    found = sl.Snapshot.load(worked).fragmentation(fraction=1)
    assert found.devices[0].totals.reserved_bytes == 22 * MIB
    assert found.devices[0].segments[0].pinned_by[0].line.function == "a"
    assert "reserved" in str(found)
    assert "<table" in found._repr_html_()
