# SPDX-License-Identifier: Apache-2.0
"""Native stacks seen from Python, and those of a C++ program: kinds, lines, stripped binaries."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import strandline as sl
from strandline._native import testing

PACKAGE = Path(sl.__file__).resolve().parent
PROGRAM = Path(__file__).with_name("native_program.cpp")
PLUGIN = Path(__file__).with_name("native_plugin.cpp")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def frames(heap):
    """The traceback of an allocation, recorded with the kind of stacks asked for."""

    def record(stacks):
        sl.record_memory_events(max_entries=1000, stacks=stacks)
        heap.alloc(64)
        return sl.get_memory_events()[-1]["traceback"]

    sl.clear_history(tables=True)
    yield record
    sl.record_memory_events(False)
    sl.record_memory_events(max_entries=10_000)
    sl.record_memory_events(False)


def is_python(frame):
    return frame[0].endswith(".py") or frame[0].startswith("<")


def test_site_is_the_innermost_frame_of_python(frames):
    (frame,) = frames("site")
    assert frame[:2] == (str(Path(__file__).with_name("conftest.py")), "Heap.alloc")


def test_site_is_the_same_again_and_another_on_another_line(recording):
    sl.record_memory_events(stacks="site", max_entries=10_000)

    def allocate(number):
        testing.note_alloc("alloc_new", 0x5000_0000 + 4096 * number, 64, 64)

    def on_another_line(number):
        testing.note_alloc("alloc_new", 0x5000_0000 + 4096 * number, 64, 64)

    for number, function in enumerate((allocate, allocate, on_another_line)):
        function(number)
    stacks = [event["traceback"] for event in sl.get_memory_events()]
    assert stacks[0] == stacks[1] != stacks[2]
    assert [len(stack) for stack in stacks] == [1, 1, 1]
    for number in range(3):
        testing.note_free("free_to_device", 0x5000_0000 + 4096 * number)


def test_native_frames_end_where_the_interpreter_begins(frames):
    stack = frames("native")
    assert stack
    assert not any(is_python(frame) for frame in stack)
    names = [function for _, function, _ in stack]
    assert any("note_alloc" in name for name in names), names
    assert not any("_PyEval" in name or "Py_RunMain" in name for name in names), names


def test_all_is_the_python_stack_then_ours(frames):
    stack = frames("all")
    kinds = [is_python(frame) for frame in stack]
    assert True in kinds and False in kinds
    assert kinds == sorted(kinds, reverse=True)
    innermost_python = [frame for frame in stack if is_python(frame)][-1]
    assert innermost_python[1] == "Heap.alloc"
    told = [frame[:2] for frame in frames("python")]
    assert [frame[:2] for frame in stack if is_python(frame)] == told


def names_module_function(frame, name):
    """A wheel's module is stripped: there it is known by its offset."""
    return name in frame[1] or re.fullmatch(r"_native\.\S+\+0x[0-9a-f]+", frame[1]) is not None


def test_all_is_merged_through_python_cpp_python_cpp(recording):
    sl.record_memory_events(stacks="all", max_entries=10_000)

    def innermost():
        testing.note_alloc_in_entry(0x5100_0000)

    def middle():
        innermost()

    for _ in range(2):
        testing.call_back(middle)
        stack = sl.get_memory_events()[-1]["traceback"]
        testing.note_free("free_to_device", 0x5100_0000)
        names = [frame[1].rsplit(".", 1)[-1] for frame in stack if is_python(frame)]
        kinds = "".join("p" if is_python(frame) else "n" for frame in stack)
        assert names[-3:] == [
            test_all_is_merged_through_python_cpp_python_cpp.__name__,
            "middle",
            "innermost",
        ]
        outer, between, inner, last = re.fullmatch("(p+)(n+)(pp)(n+)", kinds).groups()
        calling = stack[len(outer) :][: len(between)]
        assert any(names_module_function(frame, "call_back") for frame in calling)
        assert any(
            names_module_function(frame, "note_alloc_in_entry") for frame in stack[-len(last) :]
        )


def test_all_goes_on_beyond_cpp_that_opens_no_entry(recording):
    """What Python calls from within a callback may be C++ that knows nothing of entries."""
    sl.record_memory_events(stacks="all", max_entries=10_000)

    def innermost():
        testing.note_alloc("alloc_new", 0x5100_0000, 64, 64)

    stacks = []
    for _ in range(2):
        testing.call_back(innermost)
        stacks.append(sl.get_memory_events()[-1]["traceback"])
        testing.note_free("free_to_device", 0x5100_0000)
    assert stacks[0] == stacks[1]
    kinds = "".join("p" if is_python(frame) else "n" for frame in stacks[0])
    outer, between, _, _ = re.fullmatch("(p+)(n+)(p)(n+)", kinds).groups()
    calling = stacks[0][len(outer) :][: len(between)]
    assert any(names_module_function(frame, "call_back") for frame in calling)


def test_none_takes_no_traceback(frames):
    assert frames(None) is None


def test_captures_are_counted_by_thread(frames):
    def counts():
        threads = {entry["thread"]: entry for entry in sl.capture_info()["threads"]}
        return threads.get(own, {"captures": 0, "new_stacks": 0, "failed": 0})

    frames("python")
    own = sl.get_memory_events()[-1]["thread"]
    before = counts()
    for _ in range(3):
        frames("python")
    after = counts()
    assert after["captures"] - before["captures"] == 3
    assert after["new_stacks"] - before["new_stacks"] == 1
    assert after["failed"] == before["failed"]


# -- a C++ program --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The example program, built with debug information against the installed library."""
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    headers = next((p for p in (PACKAGE / "include", ROOT / "include") if p.exists()), None)
    library = PACKAGE / "lib"
    if compiler is None or headers is None or not (library / "libstrandline.so").exists():
        pytest.skip("needs a C++ compiler and the library of the package")
    target = tmp_path_factory.mktemp("native") / "native_program"
    command = [compiler, "-std=c++20", "-g", "-O1", "-fno-omit-frame-pointer", f"-I{headers}"]
    command += [str(PROGRAM), "-o", str(target), f"-L{library}", "-lstrandline"]
    command += [f"-Wl,-rpath,{library.resolve()}", "-Wl,--build-id"]
    subprocess.run(command, check=True)
    return target


def line_of(words, file=PROGRAM):
    lines = file.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if words in line)


def run(program, *arguments):
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def ours(stack):
    """(function, line) of the frames of the example itself."""
    return [
        (frame["function"].split("(")[0], frame["line"])
        for frame in stack
        if frame["file"] == str(PROGRAM)
    ]


def test_a_cpp_program_gets_names_and_lines(program):
    if "libbacktrace" not in sl.capture_info()["native"]:
        pytest.skip("this build has no libbacktrace, which tells lines")
    expected = [
        ("allocate_in_the_example", line_of("// line of the allocation")),
        ("step", line_of("// line of the step")),
        ("main", line_of("// line in main")),
    ]
    assert ours(run(program)) == expected


def test_a_library_loaded_after_frames_were_read_gets_lines_too(program):
    if "libbacktrace" not in sl.capture_info()["native"]:
        pytest.skip("this build has no libbacktrace, which tells lines")
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    plugin = program.with_name("plugin.so")
    command = [compiler, "-g", "-O1", "-fno-omit-frame-pointer", "-shared", "-fPIC"]
    subprocess.run([*command, str(PLUGIN), "-o", str(plugin)], check=True)
    found = [(f["function"], f["line"]) for f in run(program, plugin) if f["file"] == str(PLUGIN)]
    assert found == [("plugin_step", line_of("// line in the plugin", PLUGIN))]


def test_a_stripped_program_is_resolved_from_its_unstripped_twin(program, tmp_path):
    if shutil.which("strip") is None or shutil.which("addr2line") is None:
        pytest.skip("needs binutils")
    stripped = tmp_path / "native_program"
    shutil.copy(program, stripped)
    subprocess.run(["strip", "--strip-all", str(stripped)], check=True)
    output = subprocess.run([str(stripped)], capture_output=True, text=True, check=True).stdout
    assert "native_program+0x" in output
    assert "allocate_in_the_example" not in output
    done = subprocess.run(
        [sys.executable, "-m", "strandline", "symbolize", str(program)],
        input=output,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    place = f"{PROGRAM}:{line_of('// line of the step')}"
    assert f"step() ({place})" in done.stdout
    assert "allocate_in_the_example(unsigned long) (" in done.stdout
    assert "native_program+0x" not in done.stdout.replace("_start", "")


def test_a_binary_of_another_build_is_refused(program, tmp_path):
    if shutil.which("strip") is None or shutil.which("addr2line") is None:
        pytest.skip("needs binutils")
    text = '"native_program+0x1234" "native_program [build id 00ff]"'
    done = subprocess.run(
        [sys.executable, "-m", "strandline", "symbolize", str(program)],
        input=text,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stdout == text
    assert "no binary given has the build id of native_program: 00ff" in done.stderr
