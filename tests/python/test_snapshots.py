# SPDX-License-Identifier: Apache-2.0
"""dump_snapshot: both forms, read by a loader that refuses every global."""

import os
import pickle

import pytest
import strandline as sl
from strandline._native import testing


class Loader(pickle.Unpickler):
    def find_class(self, module, name):
        raise AssertionError(f"the snapshot names the global {module}.{name}")


def load(path):
    with open(path, "rb") as file:
        return Loader(file).load()


def actions(snapshot):
    return [(event["action"], event.get("addr")) for event in snapshot["device_traces"][0]]


@pytest.fixture
def history(recording):
    """One block freed to the cache, one live."""
    cached = recording.alloc(4096, 4000, op="Add", shape=[1000], dtype="float32")
    live = recording.alloc(8192, 8000, op="Matmul", shape=[2000], dtype="float32")
    recording.free(cached, "free_to_cache")
    return cached, live


def test_the_record_and_its_events_alone_give_the_same_traces(history, tmp_path):
    cached, live = history
    sl.dump_snapshot(sl.get_memory_events(), tmp_path / "events.pickle")
    sl.dump_snapshot(str(tmp_path / "record.pickle"))
    events, record = load(tmp_path / "events.pickle"), load(tmp_path / "record.pickle")
    expected = [
        ("segment_alloc", cached),
        ("alloc", cached),
        ("segment_alloc", live),
        ("alloc", live),
        ("free_requested", cached),
        ("free_completed", cached),
    ]
    assert actions(events) == expected
    assert actions(record)[:-1] == expected
    assert record["device_traces"][0][-1]["action"] == "snapshot"
    assert events["device_traces"][0] == record["device_traces"][0][:-1]


@pytest.mark.parametrize("form", ["record", "events"])
def test_segments_are_complete(history, tmp_path, form):
    cached, live = history
    path = tmp_path / "out.pickle"
    if form == "record":
        sl.dump_snapshot(path)
    else:
        sl.dump_snapshot(sl.get_memory_events(), path)
    segments = {s["address"]: s for s in load(path)["segments"]}
    assert set(segments) == {cached, live}
    assert segments[live]["blocks"][0]["state"] == "active_allocated"
    assert segments[live]["requested_size"] == 8000
    assert segments[cached]["blocks"][0]["state"] == "inactive"
    assert segments[cached]["total_size"] == 4096
    assert segments[cached]["active_size"] == 0


def test_frames_are_innermost_first_and_metadata_names_op_and_layout(history, tmp_path):
    sl.dump_snapshot(tmp_path / "out.pickle")
    alloc = load(tmp_path / "out.pickle")["device_traces"][0][1]
    assert alloc["frames"][0]["name"] == "Heap.alloc"
    assert alloc["frames"][1]["name"] == "history"
    assert alloc["user_metadata"]["op"] == "Add"
    assert alloc["size"] == 4000


def test_a_snapshot_may_be_taken_while_nothing_was_ever_recorded(run_python, tmp_path):
    done = run_python("import strandline as sl; sl.dump_snapshot('out.pickle')")
    assert (done.returncode, done.stderr) == (0, "")
    snapshot = load(tmp_path / "out.pickle")
    assert snapshot["segments"] == []
    assert all(trace == [] for trace in snapshot["device_traces"])


def test_a_file_that_cannot_be_written_is_named_and_none_remains(history, tmp_path):
    path = tmp_path / "nowhere" / "out.pickle"
    with pytest.raises(sl.DeviceError) as raised:
        sl.dump_snapshot(path)
    assert str(path) in str(raised.value) and "No such file" in str(raised.value)
    assert os.listdir(tmp_path) == []


def event(**changes):
    return {"action": "alloc_new", "address": 4096, "size": 64} | changes


@pytest.mark.parametrize(
    ("events", "kind", "message"),
    [
        (
            "x",
            TypeError,
            "[dump_snapshot] events; got an object of type str, expected a list of events",
        ),
        ([3], TypeError, "[dump_snapshot] events[0]; got int, expected a dict"),
        (
            [event(), event(action="grab")],
            ValueError,
            "[dump_snapshot] events[1]['action']; got 'grab', expected the name of an action",
        ),
        (
            [{"action": "alloc", "address": 1}],
            TypeError,
            "[dump_snapshot] events[0]['size']; got NoneType, expected an integer",
        ),
        (
            [event(size=-1)],
            ValueError,
            "[dump_snapshot] events[0]['size']; got -1, "
            "expected at least 0 and at most 18446744073709551615",
        ),
        (
            [event(device=256)],
            ValueError,
            "[dump_snapshot] events[0]['device']; got 256, expected at least 0 and at most 255",
        ),
        (
            [event(dtype="float31")],
            ValueError,
            "[dump_snapshot] events[0]['dtype']; got 'float31', expected the name of a dtype",
        ),
        (
            [event(shape="12")],
            TypeError,
            "[dump_snapshot] events[0]['shape']; got str, expected a tuple of integers",
        ),
        (
            [event(traceback=[("a.py", "f")])],
            TypeError,
            "[dump_snapshot] events[0]['traceback']; got tuple, "
            "expected frames (filename, function, line)",
        ),
        (
            [event(pool=1)],
            TypeError,
            "[dump_snapshot] events[0]['pool']; got int, expected a tuple of two integers",
        ),
        (
            [event(label="\ud800")],
            ValueError,
            "[dump_snapshot] events[0]['label']; got '\\ud800', "
            "expected text that UTF-8 can encode",
        ),
    ],
)
def test_wrong_events_are_named(tmp_path, events, kind, message):
    with pytest.raises(kind) as raised:
        sl.dump_snapshot(events, tmp_path / "out.pickle")
    assert str(raised.value) == message
    assert os.listdir(tmp_path) == []


def test_a_path_must_be_a_path():
    with pytest.raises(TypeError, match=r"^\[dump_snapshot\] path; got 3, expected a path$"):
        sl.dump_snapshot(3)


def test_a_forked_child_is_refused_instead_of_waiting_for_a_lock(run_python):
    done = run_python(
        """
        import os
        import strandline as sl
        sl.record_memory_events()
        if os.fork() == 0:
            with sl.memory_label("harmless"), sl.memory_phase("harmless"):
                pass
            for call in (sl.get_memory_events, lambda: sl.dump_snapshot("out.pickle")):
                try:
                    call()
                except RuntimeError as error:
                    print(error, flush=True)
            os._exit(0)
        os.wait()
        """
    )
    tail = "got a forked child, expected the first process"
    assert [line.endswith(tail) for line in done.stdout.splitlines()] == [True, True]


def test_a_marker_event_tells_the_active_bytes(history, tmp_path):
    active = sl.get_active_memory()
    sl.dump_snapshot(tmp_path / "out.pickle")
    marker = sl.get_memory_events()[-1]
    assert (marker["action"], marker["size"]) == ("snapshot", active)
    testing.note_segment("cache_to_device", history[0], 4096)
    sl.dump_snapshot(tmp_path / "later.pickle")
    addresses = [s["address"] for s in load(tmp_path / "later.pickle")["segments"]]
    assert history[0] not in addresses
