# SPDX-License-Identifier: Apache-2.0
"""The capture of Python stacks: what it sees, where it may look, and what it must not disturb."""

import gc
import subprocess
import sys
import threading
import traceback

import pytest
import strandline as sl
from strandline._native import testing


def expected_stack():
    """(file, qualified function, line) of the caller's stack by Python's own means."""
    frames = []
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        frames.append((code.co_filename, code.co_qualname, frame.f_lineno))
        frame = frame.f_back
    return frames[::-1]


def test_a_capture_equals_the_stack_python_tells():
    captured, expected = testing.capture(), expected_stack()
    assert captured == expected[-128:]
    assert captured[-1][1] == "test_a_capture_equals_the_stack_python_tells"


def test_generators_properties_and_c_boundaries_are_followed():
    class Thing:
        @property
        def value(self):
            return testing.capture(), expected_stack()

    def generate():
        yield Thing().value

    ((captured, expected),) = map(lambda _: next(generate()), [0])
    assert captured == expected[-128:]
    assert [function.rsplit(".", 1)[-1] for _, function, _ in captured[-3:]] == [
        "<lambda>",
        "generate",
        "value",
    ]


def test_lines_are_those_of_the_call_not_of_the_function():
    first = testing.capture()[-1][2]
    second = testing.capture()[-1][2]
    assert second - first == 1


def test_a_deep_stack_keeps_its_innermost_and_its_outermost_frames(recording):
    def descend(depth):
        return descend(depth - 1) if depth else recording.alloc(64)

    descend(300)
    frames = sl.get_memory_events()[-1]["traceback"]
    assert len(frames) == 128
    assert [frame[:2] for frame in frames[:16]] == [frame[:2] for frame in expected_stack()[:16]]
    assert frames[16] == ("<frames left out>", "…", 0)
    assert frames[-1][1] == "Heap.alloc"
    assert all(function.endswith("descend") for _, function, _ in frames[17:-1])
    assert sl.get_counters()["tracebacks_truncated"] == 1


def test_a_pending_exception_survives_a_capture():
    error = KeyError("pending")
    with pytest.raises(KeyError) as raised:
        testing.capture_while_raising(error)
    assert raised.value is error


def test_without_the_interpreter_lock_nothing_is_captured():
    assert not testing.can_capture_without_lock()
    assert not testing.can_capture_on_foreign_thread()


def test_code_that_died_does_not_lend_its_address_to_other_code():
    def capture_from(name):
        scope = {"capture": testing.capture}
        exec(compile(f"def {name}(): return capture()", f"<{name}>", "exec"), scope)
        return scope[name]()[-1]

    for number in range(200):
        assert capture_from(f"f{number}") == (f"<f{number}>", f"f{number}", 1)
        gc.collect(0)


@pytest.mark.skipif(
    sys.version_info >= (3, 12), reason="collections start between instructions, never in a call"
)
def test_no_collection_starts_inside_a_capture(recording):
    """Making frame objects could start one, and its finalisers could enter an allocator."""
    inside = []

    def descend(depth):
        if depth:
            return descend(depth - 1)
        address = 0x6000_0000_0000
        state.append(True)
        testing.note_alloc("alloc_new", address, 64, 64)
        state.pop()
        testing.note_free("free_to_device", address)

    state = []
    was = gc.get_threshold()
    gc.callbacks.append(lambda phase, info: inside.append(bool(state)))
    gc.set_threshold(1)
    try:
        for _ in range(50):
            descend(50)
            assert gc.isenabled()
    finally:
        gc.set_threshold(*was)
        gc.callbacks.pop()
    assert True not in inside
    assert len(sl.get_memory_events()) == 100


def test_threads_capture_their_own_stacks():
    results = {}

    def work(name):
        for _ in range(200):
            results.setdefault(name, set()).add(tuple(testing.capture()))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(stacks) == 1 for stacks in results.values())
    (stack,) = results[0]
    assert [function for _, function, _ in stack][-2:] == ["Thread.run", work.__qualname__]


def test_a_file_name_that_is_no_utf8_is_told_with_replacements():
    scope = {"capture": testing.capture}
    exec(compile("frames = capture()", "caf\udce9.py", "exec"), scope)
    assert scope["frames"][-1] == ("caf?.py", "<module>", 1)


def test_a_capture_that_is_repeated_keeps_no_reference():
    def call():
        return testing.capture()

    call()
    before = sys.getrefcount(call.__code__)
    for _ in range(100):
        call()
    after = sys.getrefcount(call.__code__)
    assert after == before


def test_the_module_leaks_nothing_at_exit():
    program = (
        "import strandline as sl\n"
        "sl.record_memory_events()\n"
        "from strandline._native import testing\n"
        "testing.note_alloc('alloc_new', 4096, 64, 64, op='Add')\n"
        "sl.get_memory_events()\n"
        "with sl.memory_label('x'), sl.memory_phase('y'): pass\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_capture_info_names_source_and_clock():
    info = sl.capture_info()
    version = ".".join(map(str, sys.version_info[:2]))
    assert info["sources"] == f"CPython {version} (interpreter frames)"
    assert info["fallback"] is None
    assert info["clock"] in ("CPU counter", "CLOCK_MONOTONIC")
    assert info["can_capture"] is True


def test_resolving_agrees_with_the_traceback_module():
    summary = traceback.extract_stack()[-1]
    frame = testing.capture()[-1]
    assert frame[2] == summary.lineno + 1


def test_only_functions_of_nanobind_are_watched():
    from strandline import _native

    assert not any(_native.watch_call(other) for other in (len, print, 3, str, lambda: None))
    assert _native.watch_call(testing.capture)
    assert _native.watch_call(testing.capture), "twice is once"
    captured, expected = testing.capture(), expected_stack()
    assert captured == expected[-128:]


def test_a_watched_call_from_a_recorded_program_has_the_stack_of_its_line(recording):
    from strandline import _native

    assert _native.watch_call(testing.note_alloc)

    def inner(address):
        testing.note_alloc("alloc_new", address, 64, 64)
        return expected_stack()

    expected = []
    expected.append(inner(0x6000_0000_0000))
    expected.append(inner(0x6000_0000_1000))
    stacks = [event["traceback"] for event in sl.get_memory_events()]
    for address in (0x6000_0000_0000, 0x6000_0000_1000):
        testing.note_free("free_to_device", address)
    assert [frame[:2] for frame in stacks[0]] == [frame[:2] for frame in stacks[1]]
    for stack, seen in zip(stacks, expected, strict=True):
        assert [frame[2] for frame in stack[:-1]] == [frame[2] for frame in seen[:-1]]
    assert stacks[0][-2][2] + 1 == stacks[1][-2][2]
