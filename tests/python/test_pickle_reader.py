# SPDX-License-Identifier: Apache-2.0
"""Snapshots of the module through a strict re-implementation of the official reader.

The first tests show that this reader refuses what the official one trips over; the others have it
read what `dump_snapshot` writes, beside CPython's pickle with globals refused and the oracle.
"""

import importlib.util
import io
import pickle
import random
from pathlib import Path

import official_reader as official
import pytest

ORACLE = Path(__file__).resolve().parents[3] / "shared" / "tools" / "snapshot_oracle.py"


class NoGlobals(pickle.Unpickler):
    def find_class(self, module, name):
        raise AssertionError(f"the snapshot names the global {module}.{name}")


def event(action, addr, size, **more):
    return {
        "action": action,
        "addr": addr,
        "size": size,
        "stream": 0,
        "time_us": 0,
        "frames": [],
        "compile_context": None,
        "user_metadata": "",
        "pool_id": (0, 0),
    } | more


def snapshot_of(trace, segments=()):
    return {
        "segments": list(segments),
        "device_traces": [trace],
        "allocator_settings": {},
        "external_annotations": [],
        "host_segments": [],
        "host_traces": [],
    }


def test_the_reader_reads_what_cpython_writes():
    trace = [event("alloc", 1 << 46, i, frames=[]) for i in range(3000)]
    data = pickle.dumps(snapshot_of(trace), protocol=4)
    assert official.load(data) == snapshot_of(trace)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (pickle.dumps({}, protocol=5), "protocol"),
        (pickle.dumps({"a": b"bytes"}, protocol=4), "unknown opcode b'C'"),
        (pickle.dumps({"a": Path}, protocol=4), "unknown opcode"),
        (pickle.dumps({"a": {1}}, protocol=4), "unknown opcode"),
        (pickle.dumps({"a": 1}, protocol=4) + b"x", "left over"),
        (pickle.dumps({"a": 1}, protocol=4)[:-3], "ends within"),
        (b"\x80\x04](" + b"K\x01" * 1001 + b"e.", "overflows"),
        (b"\x80\x04}(\x8c\x01aK\x01\x8c\x01aK\x02u.", "twice"),
    ],
)
def test_the_reader_refuses_what_the_official_one_trips_over(data, words):
    with pytest.raises(official.Complaint, match=words):
        official.load(data)


def test_pairing_complains_of_double_allocs_and_sizes_that_differ():
    twice = snapshot_of([event("alloc", 1, 8), event("alloc", 1, 8)])
    with pytest.raises(official.Complaint, match="allocated twice"):
        official.Timeline(twice, 0)
    differing = snapshot_of([event("alloc", 1, 8), event("free_completed", 1, 9)])
    with pytest.raises(official.Complaint, match="freed 9, not 8"):
        official.Timeline(differing, 0)


def test_pairing_draws_orphan_frees_and_ghosts_from_the_start():
    block = {
        "address": 64,
        "size": 32,
        "requested_size": 30,
        "state": "active_allocated",
        "frames": [],
    }
    segment = {"device": 0, "address": 64, "total_size": 32, "blocks": [block]}
    timeline = official.Timeline(
        snapshot_of([event("free_completed", 1, 8), event("alloc", 2, 5)], [segment]), 0
    )
    assert timeline.curve == [38, 30, 35]


def test_categories_need_the_unknown_one():
    with pytest.raises(official.Complaint, match="unknown"):
        official.categories(snapshot_of([event("alloc", 1, 8, category="Add")]))


def test_state_history_complains_of_blocks_outside_every_segment():
    with pytest.raises(official.Complaint, match="outside every segment"):
        official.replay_state_backwards(snapshot_of([event("free_completed", 1, 8)]), 0)


def read(path):
    """The snapshot, the same by CPython and by the official reader, its form checked."""
    data = Path(path).read_bytes()
    snapshot = official.load(data)
    assert snapshot == NoGlobals(io.BytesIO(data)).load()
    official.check_form(snapshot)
    official.categories(snapshot)
    official.Timeline(snapshot, 0, by_segments=True)
    official.replay_state_backwards(snapshot, 0)
    return snapshot


def fill(heap, seed=20262, steps=1500):
    """Allocations and frees of all kinds at random; returns the peak of requested bytes."""
    generator = random.Random(seed)
    live, active, peak = {}, 0, 0
    for step in range(steps):
        if not live or generator.random() < 0.55:
            size = generator.randrange(16, 100_000)
            requested = size - generator.randrange(0, 9)
            live[heap.alloc(size, requested, op=f"Op{step % 7}", shape=[step])] = requested
            active += requested
            peak = max(peak, active)
        else:
            address = generator.choice(sorted(live))
            active -= live.pop(address)
            heap.free(address, generator.choice(["free_to_cache", "free_to_device"]))
    return peak


@pytest.mark.parametrize("form", ["record", "events"])
def test_every_reader_takes_what_the_module_writes(recording, tmp_path, form):
    import strandline as sl

    peak = fill(recording)
    path = tmp_path / "out.pickle"
    if form == "record":
        sl.dump_snapshot(path)
    else:
        sl.dump_snapshot(sl.get_memory_events(), path)
    snapshot = read(path)
    assert max(official.Timeline(snapshot, 0).curve) == peak
    assert {f"Op{i}" for i in range(7)} | {"unknown"} == official.categories(snapshot)
    if not ORACLE.exists():
        pytest.skip("the oracle of the shared tools is absent; all other readers agreed")
    spec = importlib.util.spec_from_file_location("snapshot_oracle", ORACLE)
    oracle = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(oracle)
    facts = oracle.facts(str(path))["devices"][0]
    assert (facts["verdict"], facts["residual"]) == ("complete", 0)
    assert facts["active_peak"] == peak
