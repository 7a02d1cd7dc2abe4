# SPDX-License-Identifier: Apache-2.0
"""What get_memory_events returns: keys, values and order of each event."""

import strandline as sl
from strandline._native import testing

KEYS = (
    "action device stream address size requested_size time_us op traceback forward_traceback "
    "shape dtype label thread pool owner"
).split()


def test_an_event_has_the_documented_keys_in_their_order(recording):
    recording.alloc(64)
    (event,) = sl.get_memory_events()
    assert list(event) == KEYS


def test_an_allocation_in_an_op_carries_all_that_is_known(recording):
    with sl.memory_label("weights"):
        address = recording.alloc(
            4096,
            4000,
            op="Matmul",
            shape=[10, 100],
            dtype="float32",
            stream=7,
            pool=3,
            owner="model.pte",
            device=2,
        )
    (event,) = sl.get_memory_events()
    assert event | {"traceback": None, "time_us": 0, "thread": 0} == {
        "action": "alloc_new",
        "device": 2,
        "stream": 7,
        "address": address,
        "size": 4096,
        "requested_size": 4000,
        "time_us": 0,
        "op": "Matmul",
        "traceback": None,
        "forward_traceback": None,
        "shape": (10, 100),
        "dtype": "float32",
        "label": "weights",
        "thread": 0,
        "pool": (3, 0),
        "owner": "model.pte",
    }


def test_an_allocation_outside_of_any_op_has_none_for_what_is_unknown(recording):
    recording.alloc(64)
    (event,) = sl.get_memory_events()
    assert [event[key] for key in ("op", "shape", "dtype", "label", "owner")] == [None] * 5
    assert event["pool"] == (0, 0)


def test_a_scalar_has_an_empty_shape(recording):
    recording.alloc(4, op="Full", dtype="int32")
    (event,) = sl.get_memory_events()
    assert (event["shape"], event["dtype"]) == ((), "int32")


def test_events_are_oldest_first_and_times_do_not_go_back(recording):
    first = recording.alloc(64)
    second = recording.alloc(128)
    recording.free(first, "free_to_cache")
    testing.note_segment("cache_to_device", first, 64)
    recording.free(second)
    events = sl.get_memory_events()
    assert [(e["action"], e["address"]) for e in events] == [
        ("alloc_new", first),
        ("alloc_new", second),
        ("free_to_cache", first),
        ("cache_to_device", first),
        ("free_to_device", second),
    ]
    times = [e["time_us"] for e in events]
    assert times == sorted(times)


def test_times_are_unix_microseconds(recording):
    import time

    before = time.time_ns() // 1000
    recording.alloc(64)
    after = time.time_ns() // 1000
    (event,) = sl.get_memory_events()
    assert before - 1000 <= event["time_us"] <= after + 1000


def test_tracebacks_are_outermost_first(recording):
    def inner():
        recording.alloc(64)

    def outer():
        inner()

    outer()
    (event,) = sl.get_memory_events()
    here = [frame for frame in event["traceback"] if frame[0] == __file__]
    name = "test_tracebacks_are_outermost_first"
    assert [function for _, function, _ in here] == [
        name,
        f"{name}.<locals>.outer",
        f"{name}.<locals>.inner",
    ]
    first = test_tracebacks_are_outermost_first.__code__.co_firstlineno
    assert [line - first for _, _, line in here] == [7, 5, 2]


def test_the_same_line_gives_the_same_list(recording):
    for _ in range(2):
        recording.alloc(64)
    first, second = sl.get_memory_events()
    assert first["traceback"] is second["traceback"]


def test_a_dead_holder_leaves_the_block_to_the_next_sharer(recording):
    address = recording.alloc(400, op="Add", shape=[100], dtype="float32")
    testing.bind(address, 1, op="Add", shape=[100], dtype="float32", view_bytes=400)
    testing.bind(address, 2, op="Slice", shape=[5], dtype="float32", view_bytes=20, view_offset=8)
    assert [e["action"] for e in sl.get_memory_events()] == ["alloc_new"]
    testing.leave(1)
    holder = sl.get_memory_events()[-1]
    assert (holder["action"], holder["address"], holder["op"]) == ("holder", address, "Slice")
    assert (holder["size"], holder["requested_size"], holder["shape"]) == (20, 8, (5,))


def test_annotate_labels_a_live_block_and_says_when_there_is_none(recording):
    address = recording.alloc(64)
    assert sl.annotate(address, {"layer": 3, "kind": "weight"}) is True
    event = sl.get_memory_events()[-1]
    assert (event["action"], event["address"]) == ("annotate", address)
    assert event["label"] == '{"kind":"weight","layer":3}'
    recording.free(address)
    assert sl.annotate(address, "gone") is False


def test_traceback_of_tells_the_frames_of_a_live_block(recording):
    address = recording.alloc(64)
    frames = sl.traceback_of(address)
    assert frames[-1][1].endswith("Heap.alloc")
    recording.free(address)
    assert sl.traceback_of(address) is None


def test_sums_and_peak_follow_the_blocks(recording):
    before = sl.get_active_memory()
    first = recording.alloc(1000, 900)
    recording.alloc(500, 500)
    recording.free(first)
    assert sl.get_active_memory() - before == 500
    assert sl.get_active_memory("requested") - before == 500
    assert sl.get_peak_memory() - before == 1500
    assert sl.get_peak_memory("requested") - before == 1400
    sl.reset_peak_memory()
    assert sl.get_peak_memory() - before == 500


def test_counters_tell_events_and_bytes_by_action(recording):
    recording.free(recording.alloc(100))
    recording.alloc(28)
    counters = sl.get_counters()
    assert counters["events"] == {"alloc_new": 2, "free_to_device": 1}
    assert counters["bytes"] == {"alloc_new": 128, "free_to_device": 100}
