# SPDX-License-Identifier: Apache-2.0
"""Wrong arguments raise the Python kind of the table, with a message that names the function."""

import pickle

import pytest
import strandline as sl
from strandline._native import testing

NOT_AN_ENTRY_COUNT = "expected an integer from 1 to 4294967296"


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: sl.record_memory_events(max_entries=0),
            ValueError,
            f"[record_memory_events] max_entries; got 0, {NOT_AN_ENTRY_COUNT}",
        ),
        (
            lambda: sl.record_memory_events(max_entries=2**32 + 1),
            ValueError,
            f"[record_memory_events] max_entries; got 4294967297, {NOT_AN_ENTRY_COUNT}",
        ),
        (
            lambda: sl.record_memory_events(max_entries="many"),
            TypeError,
            f"[record_memory_events] max_entries; got 'many', {NOT_AN_ENTRY_COUNT}",
        ),
        (
            lambda: sl.record_memory_events(max_entries=True),
            TypeError,
            f"[record_memory_events] max_entries; got True, {NOT_AN_ENTRY_COUNT}",
        ),
        (
            lambda: sl.record_memory_events(min_size=-1),
            ValueError,
            "[record_memory_events] min_size; got -1, "
            "expected an integer from 0 to 18446744073709551615",
        ),
        (
            lambda: sl.record_memory_events(stacks="java"),
            ValueError,
            "[record_memory_events] stacks; got 'java', "
            "expected 'python' or 'native' or 'all' or 'site' or None",
        ),
        (
            lambda: sl.record_memory_events(False, file="/run.slt"),
            ValueError,
            "[record_memory_events] file; got '/run.slt', expected None to switch off",
        ),
        (
            lambda: sl.get_active_memory("reserved"),
            ValueError,
            "[get_active_memory] measure; got 'reserved', expected 'capacity' or 'requested'",
        ),
        (
            lambda: sl.set_memory_label(3),
            TypeError,
            "[set_memory_label] label; got 3, expected a str, a dict or None",
        ),
        (
            lambda: sl.memory_label("\ud800"),
            ValueError,
            "[memory_label] label; got '\\ud800', expected text that UTF-8 can encode",
        ),
        (
            lambda: sl.set_memory_label({"a": {1}}),
            TypeError,
            "[set_memory_label] label; got {'a': {1}} (Object of type set is not JSON "
            "serializable), expected a dict that JSON can hold",
        ),
        (
            lambda: sl.memory_phase(None),
            TypeError,
            "[memory_phase] name; got None, expected a str",
        ),
        (
            lambda: sl.annotate([1], "x"),
            TypeError,
            "[annotate] array; got an object of type list, expected an mlx array or an address",
        ),
        (
            lambda: sl.annotate(0, "x"),
            ValueError,
            "[annotate] address; got 0, expected an integer from 1 to 18446744073709551615",
        ),
        (
            lambda: sl.traceback_of("x"),
            TypeError,
            "[traceback_of] address; got 'x', expected an integer from 1 to 18446744073709551615",
        ),
    ],
)
def test_a_wrong_argument_is_named(call, kind, message):
    with pytest.raises(kind) as raised:
        call()
    assert str(raised.value) == message
    assert type(raised.value) is kind


@pytest.mark.parametrize(
    ("cpp", "kind", "base"),
    [
        ("InvalidArgument", ValueError, ValueError),
        ("OutOfRange", IndexError, IndexError),
        ("TypeMismatch", TypeError, TypeError),
        ("OutOfMemory", sl.OutOfMemoryError, MemoryError),
        ("DeviceError", sl.DeviceError, RuntimeError),
        ("FormatError", sl.FormatError, ValueError),
        ("InternalError", RuntimeError, RuntimeError),
    ],
)
def test_each_error_of_the_library_has_its_python_kind(cpp, kind, base):
    with pytest.raises(base) as raised:
        testing.throw_error(cpp, "[f] what; got 1, expected 2")
    assert type(raised.value) is kind
    assert str(raised.value) == "[f] what; got 1, expected 2"


def test_errors_carry_their_numbers_and_can_be_pickled():
    with pytest.raises(sl.OutOfMemoryError) as memory:
        testing.throw_error("OutOfMemory", "m")
    with pytest.raises(sl.FormatError) as form:
        testing.throw_error("FormatError", "f")
    again = pickle.loads(pickle.dumps(memory.value))
    assert (again.requested, again.available, again.limit) == (4096, 1024, 2048)
    assert pickle.loads(pickle.dumps(form.value)).offset == 17
