# SPDX-License-Identifier: Apache-2.0
"""Labels nest and belong to their thread; phases are stretches of time."""

import threading

import pytest
import strandline as sl
from strandline import _refresh


def labels():
    return [event["label"] for event in sl.get_memory_events()]


def test_labels_nest_and_the_innermost_counts(recording):
    recording.alloc(64)
    with sl.memory_label("outer"):
        recording.alloc(64)
        with sl.memory_label("inner"):
            recording.alloc(64)
        recording.alloc(64)
    recording.alloc(64)
    assert labels() == [None, "outer", "inner", "outer", None]


def test_a_label_inside_another_may_be_cleared(recording):
    with sl.memory_label("outer"), sl.memory_label(None):
        recording.alloc(64)
    assert labels() == [None]


def test_a_label_set_stays_until_it_is_changed_or_cleared(recording):
    sl.set_memory_label("first")
    recording.alloc(64)
    sl.set_memory_label("second")
    recording.alloc(64)
    sl.set_memory_label(None)
    recording.alloc(64)
    assert labels() == ["first", "second", None]


def test_the_label_before_is_in_force_again_after_an_exception(recording):
    with sl.memory_label("outer"):
        with pytest.raises(KeyError), sl.memory_label("inner"):
            raise KeyError
        assert sl.get_memory_label() == "outer"
    assert sl.get_memory_label() is None


def test_one_label_object_may_be_entered_again_inside_itself(recording):
    label = sl.memory_label("again")
    with sl.memory_label("outer"):
        with label, label:
            pass
        assert sl.get_memory_label() == "outer"


def test_a_decorated_function_is_labelled_on_each_call(recording):
    @sl.memory_label("decorated")
    def work(depth):
        recording.alloc(64)
        if depth:
            work(depth - 1)

    work(1)
    recording.alloc(64)
    assert labels() == ["decorated", "decorated", None]


def test_a_dict_is_recorded_as_canonical_json(recording):
    sl.set_memory_label({"b": [1, 2], "a": "ä"})
    assert sl.get_memory_label() == '{"a":"ä","b":[1,2]}'
    recording.alloc(64)
    assert labels() == ['{"a":"ä","b":[1,2]}']


def test_a_label_belongs_to_its_thread(recording):
    seen = []

    def other():
        seen.append(sl.get_memory_label())
        sl.set_memory_label("theirs")
        recording.alloc(64)

    with sl.memory_label("mine"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        recording.alloc(64)
    assert seen == [None]
    assert labels() == ["theirs", "mine"]
    mine, theirs = (event["thread"] for event in sl.get_memory_events())
    assert mine != theirs


@pytest.mark.parametrize("use", [sl.memory_phase("step"), sl.memory_label("x")])
def test_scopes_do_nothing_while_recording_is_off(use):
    assert not sl.is_recording()
    with use:
        pass
    assert sl.get_memory_label() is None


@pytest.fixture
def registered():
    """Registers a function for the time of the test."""
    before = list(_refresh._functions)
    yield _refresh.register
    _refresh._functions[:] = before


def test_trees_are_looked_at_again_at_a_phase_s_end_and_before_a_snapshot(
    recording, registered, tmp_path
):
    looks = []
    registered(lambda: looks.append(sl.is_recording()))
    with sl.memory_phase("step"):
        assert looks == []
    assert looks == [True]
    sl.dump_snapshot(tmp_path / "out.pickle")
    assert looks == [True, True]


def test_a_tree_that_cannot_be_walked_is_dropped_and_said_once(recording, registered, capsys):
    def broken():
        raise LookupError("no such leaf")

    registered(broken)
    for _ in range(2):
        with sl.memory_phase("step"):
            pass
    message = "strandline: labels are no longer kept up to date: no such leaf\n"
    assert capsys.readouterr().err == message
