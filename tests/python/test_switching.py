# SPDX-License-Identifier: Apache-2.0
"""Switching on and off, the ring, min_size, and what is forgotten when."""

import strandline as sl


def test_nothing_is_recorded_while_off(heap):
    sl.clear_history()
    heap.alloc(64)
    assert not sl.is_recording()
    assert sl.get_memory_events() == []


def test_events_stay_after_recording_goes_off(recording):
    recording.alloc(64)
    sl.record_memory_events(False)
    recording.alloc(64)
    assert [e["action"] for e in sl.get_memory_events()] == ["alloc_new"]


def test_switching_on_again_continues_the_history(recording):
    recording.alloc(64)
    sl.record_memory_events(False)
    sl.record_memory_events(max_entries=10_000)
    recording.alloc(128)
    assert [e["size"] for e in sl.get_memory_events()] == [64, 128]


def test_another_max_entries_starts_afresh(recording):
    recording.alloc(64)
    sl.record_memory_events(max_entries=9_999)
    assert sl.get_memory_events() == []


def test_a_block_from_before_recording_is_known_when_it_is_freed(heap):
    address = heap.alloc(4096)
    sl.record_memory_events(max_entries=10_000)
    try:
        sl.clear_history()
        heap.free(address)
        (event,) = sl.get_memory_events()
        assert (event["action"], event["size"]) == ("free_to_device", 4096)
        assert sl.get_counters()["orphan_frees"] == 0
    finally:
        sl.record_memory_events(False)
        sl.clear_history()


def test_the_ring_keeps_the_last_events_and_counts_the_rest(recording):
    sl.record_memory_events(max_entries=4)
    addresses = [recording.alloc(64) for _ in range(10)]
    assert [e["address"] for e in sl.get_memory_events()] == addresses[-4:]
    assert sl.get_counters()["events_overwritten"] == 6


def test_small_allocations_are_dropped_with_their_frees_and_counted(recording):
    sl.record_memory_events(max_entries=10_000, min_size=1024)
    before = sl.get_active_memory()
    small = recording.alloc(1023)
    recording.alloc(1024)
    assert sl.get_active_memory() - before == 2047
    recording.free(small)
    assert [e["size"] for e in sl.get_memory_events()] == [1024]
    counters = sl.get_counters()
    assert counters["dropped_below_min_size"] == 2
    assert counters["dropped_bytes"] == 1023


def test_without_stacks_no_traceback_is_taken(recording):
    sl.record_memory_events(max_entries=10_000, stacks=None)
    recording.alloc(64)
    assert sl.get_memory_events()[-1]["traceback"] is None


def test_clearing_forgets_events_and_counters_but_not_what_is_live(recording):
    address = recording.alloc(64)
    active = sl.get_active_memory()
    sl.clear_history()
    assert sl.get_memory_events() == []
    assert sl.get_counters()["events"] == {}
    assert sl.get_active_memory() == active
    assert sl.traceback_of(address) is not None


def test_clearing_the_tables_forgets_tracebacks_and_names(recording):
    address = recording.alloc(64, op="Add")
    sl.clear_history(tables=True)
    assert sl.traceback_of(address) is None
    recording.free(address)
    (event,) = sl.get_memory_events()
    assert (event["op"], event["traceback"]) == (None, None)
    recording.alloc(64, op="Add")
    assert sl.get_memory_events()[-1]["op"] == "Add"
    assert sl.get_memory_events()[-1]["traceback"] is not None


def test_the_label_in_force_outlives_a_cleared_table(recording):
    with sl.memory_label("data"):
        sl.clear_history(tables=True)
        recording.alloc(64)
    assert sl.get_memory_events()[-1]["label"] == "data"


def test_a_forked_child_has_the_recorder_off_and_says_so(run_python):
    done = run_python(
        """
        import os, sys
        import strandline as sl
        sl.record_memory_events()
        pid = os.fork()
        if pid == 0:
            try:
                sl.record_memory_events()
            except RuntimeError as error:
                print("child", sl.is_recording(), error)
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(pid, 0)
        print("parent", sl.is_recording(), sl.get_counters()["forks"])
        """
    )
    child, parent = done.stdout.splitlines()
    assert child.startswith("child False [") and "fork" in child
    assert parent == "parent True 1"


def test_a_fault_turns_the_recorder_off_and_is_said_once(run_python):
    done = run_python(
        """
        import strandline as sl
        from strandline._native import testing, fault
        sl.record_memory_events()
        testing.note_alloc("alloc_new", 4096, 64, 64)
        testing.fail("no memory for the table of blocks")
        testing.fail("again")
        testing.note_alloc("alloc_new", 8192, 64, 64)
        print(sl.is_recording(), len(sl.get_memory_events()), fault())
        try:
            sl.record_memory_events()
        except RuntimeError as error:
            print(error)
        """
    )
    first, second = done.stdout.splitlines()
    assert first == "False 1 no memory for the table of blocks"
    assert "no memory for the table of blocks" in second
    assert done.stderr.count("no memory for the table of blocks") == 1
    assert "again" not in done.stderr
