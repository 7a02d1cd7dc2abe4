# SPDX-License-Identifier: Apache-2.0
"""Out of memory explained: worked by hand, against a naive search, and on a real failure."""

import pickle
from pathlib import Path

import pytest
import strandline as sl
from answers import answer, strandline
from toy_allocator import MIB, ToyAllocator, frame, snapshot_of

REAL = Path(__file__).parents[3] / "shared/samples/snapshots_torch_2_15/out_of_memory.pickle"


@pytest.fixture
def worked(write):
    """A 40 MiB segment: keep 6 | hole 12 | thin 4 | hole 18. Beside: 20 MiB with 3 live, of
    stream 7 an empty 20 MiB. The device has 10 MiB left; 24 MiB are asked for."""
    allocator = ToyAllocator(capacity=90 * MIB)
    whole = allocator.alloc(40 * MIB, frames=[frame("first", 1)])
    allocator.free(whole)
    allocator.alloc(6 * MIB, frames=[frame("keep", 2)])
    hole = allocator.alloc(12 * MIB, frames=[frame("hole", 3)])
    allocator.alloc(4 * MIB, frames=[frame("thin", 4)])
    rest = allocator.alloc(18 * MIB, frames=[frame("rest", 5)])
    allocator.alloc(3 * MIB, frames=[frame("small", 6)])
    other = allocator.alloc(5 * MIB, stream=7, frames=[frame("other", 7)])
    for address in (hole, rest, other):
        allocator.free(address)
    assert allocator.alloc(24 * MIB, frames=[frame("asker", 88), frame("main", 9)]) is None
    return write(snapshot_of(allocator))


def test_a_failure_worked_by_hand(worked):
    (failure,) = answer("oom", worked)["failures"]
    assert (failure["asked_bytes"], failure["device_free_bytes"]) == (24 * MIB, 10 * MIB)
    assert failure["line"] == {"file": "/home/u/train.py", "line": 88, "function": "asker"}
    assert [f["function"] for f in failure["stack"]] == ["asker", "main"]
    assert failure["free_in_class_bytes"] == (12 + 18 + 17) * MIB
    assert failure["largest_in_class_bytes"] == 18 * MIB
    (elsewhere,) = failure["elsewhere"]
    assert (elsewhere["stream"], elsewhere["free_bytes"]) == (7, 20 * MIB)
    (merge,) = failure["merges"]  # 12 + 4 + 18: without the thin block
    assert (merge["bytes"], merge["live_bytes"], merge["blocks"]) == (34 * MIB, 4 * MIB, 1)
    assert merge["pinned_by"][0]["line"]["function"] == "thin"
    (release,) = failure["releases"]  # the empty one of the other stream suffices
    assert (release["bytes"], release["live_bytes"], release["stream"]) == (20 * MIB, 0, 7)
    assert release["device_free_then_bytes"] == 30 * MIB
    assert failure["release_suffices"] and not failure["fits"]
    assert [h["line"]["function"] for h in failure["holders"]] == ["keep", "thin", "small"]


def test_the_text_names_who_is_in_the_way(worked):
    done = strandline("oom", worked)
    assert (done.returncode, done.stderr) == (0, "")
    for text in ("24.0 MiB", "train.py:88 asker", "train.py:4 thin", "largest hole 18.0 MiB"):
        assert text in done.stdout


def test_without_a_failure_it_says_so_in_a_line(write):
    path = write(snapshot_of(ToyAllocator().run(20, 1)))
    assert answer("oom", path)["failures"] == []
    (line,) = strandline("oom", path).stdout.splitlines()
    assert "no allocation failed" in line


def test_a_size_can_be_asked_about(worked):
    (told,) = answer("oom", worked, "--size", "18MiB", "--fraction", 1)["failures"]
    assert told["fits"] and told["is_question"] and told["device_free_bytes"] is None
    (told,) = answer("oom", worked, "--size", "24MiB", "--fraction", 1)["failures"]
    assert not told["fits"]
    (told,) = answer("oom", worked, "--size", "24MiB", "--event", 0)["failures"]
    assert told["fits"]  # the first segment, not yet handed out
    assert strandline("oom", worked, "--event", 0).returncode == 2
    assert strandline("oom", worked, "--size", "big").returncode == 2


def naive_merges(state, stream, pool, small, needed):
    """Of every stretch of every segment the one with the fewest live bytes, by trying all."""
    best = []
    for segment in state:
        if (segment.stream, segment.pool, segment.small) != (stream, pool, small):
            continue
        costs = []
        blocks = segment.blocks
        for first in range(len(blocks)):
            for end in range(first + 1, len(blocks) + 1):
                stretch = blocks[first:end]
                if sum(b.size for b in stretch) >= needed:
                    costs.append(sum(b.size for b in stretch if b.state != "inactive"))
        if costs:
            best.append(min(costs))
    return sorted(best)


@pytest.mark.parametrize("seed", range(8))
def test_merges_and_releases_are_the_cheapest_there_are(write, seed):
    allocator = ToyAllocator(capacity=90 * MIB).run(300, seed)
    path = write(snapshot_of(allocator))
    failures = answer("oom", path, "--top", 10_000)["failures"]
    failed = [i for i, e in enumerate(allocator.events) if e["action"] == "oom"]
    assert [f["event"] for f in failures] == failed
    assert failed
    for failure in failures:
        event = allocator.events[failure["event"]]
        state = allocator.state(failure["event"])
        small = event["size"] <= MIB
        costs = naive_merges(state, event["stream"], event["pool_id"], small, event["size"])
        assert [m["live_bytes"] for m in failure["merges"]] == [
            cost for cost in costs if 0 < cost < event["size"]
        ]
        for merge in failure["merges"]:
            assert sum(p["bytes"] for p in merge["pinned_by"]) == merge["live_bytes"]
        live = sorted(sum(b.size for b in s.blocks if b.state != "inactive") for s in state)
        released = [r["live_bytes"] for r in failure["releases"]]
        assert released == live[: len(released)]
        free = event["device_free"] + sum(r["bytes"] for r in failure["releases"])
        assert failure["release_suffices"] == (free >= failure["segment_bytes"])
        assert failure["release_suffices"] or len(released) == len(state)


@pytest.mark.skipif(not REAL.exists(), reason="no samples beside the project")
def test_a_real_failure():
    snapshot = pickle.loads(REAL.read_bytes())
    (event,) = [e for e in snapshot["device_traces"][0] if e["action"] == "oom"]
    (failure,) = answer("oom", REAL)["failures"]
    assert failure["asked_bytes"] == failure["needed_bytes"] == event["size"]
    assert failure["device_free_bytes"] == event["device_free"]
    stack = [(f["filename"], f["line"], f["name"]) for f in event["frames"]]
    assert [(f["file"], f["line"], f["function"]) for f in failure["stack"]] == stack
    assert failure["largest_in_class_bytes"] < event["size"] > event["device_free"]
    totals = failure["totals"]
    assert totals["reserved_bytes"] == totals["live_bytes"] + totals["free_bytes"]


def test_from_python(worked):
    (failure,) = sl.Snapshot.load(worked).oom().failures
    assert failure.merges[0].pinned_by[0].line.function == "thin"
    (told,) = sl.Snapshot.load(worked).oom(size=18 * MIB, fraction=1).failures
    assert told.fits
