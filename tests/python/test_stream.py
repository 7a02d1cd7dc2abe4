# SPDX-License-Identifier: Apache-2.0
"""Streams to a native file from Python: switched on and off, from the command and the environment,
and what is left when the program is killed."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import textwrap
import time

import pytest
import strandline as sl
from program_folder import ALLOCATE, PYTHON, RUN, STRANDLINE
from strandline import _native

# Blocks by two lines in turn, two of three freed again. Until it is killed it says how many events
# are in the file.
ENDLESS = """
import sys
import strandline as sl
from strandline import _native
from strandline._native import testing

sl.record_memory_events(file=sys.argv[1], max_entries=4_000_000)

def one(i):
    testing.note_alloc("alloc_new", 4096 * i, i % 4000 + 1, i % 4000 + 1, op="Add")
def two(i):
    testing.note_alloc("alloc_new", 4096 * i, 512, 400, op="Matmul", shape=[100], dtype="float32")
made = [one, two]

i = told = 0
while True:
    i += 1
    made[i % 2](i)
    if i % 3:
        testing.note_free("free_to_device", 4096 * i)
    if i % 200 == 0 and (now := _native.stream_events()) > told:
        told = now
        print(told, flush=True)
"""


def run_until_killed(path, script, generator):
    """Starts the program, kills it after a random number of its reports and no later; how many
    events it said were in the file."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True
    )
    told = 0
    for _ in range(generator.randrange(1, 6)):
        told = int(process.stdout.readline())
    time.sleep(generator.random() / 20)  # a moment no one chose, perhaps amid a chunk
    process.send_signal(signal.SIGKILL)
    rest = process.stdout.read().split()
    assert process.wait() == -signal.SIGKILL
    return int(rest[-1]) if rest else told


def check_killed(path, told):
    """The file opens, says that it was cut, and has the first events, all it was said to have."""
    done = subprocess.run(
        [*STRANDLINE, "check", str(path), "--json"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "the file was not closed" in done.stderr
    (device,) = json.loads(done.stdout)["devices"]
    assert device["verdict"] in ("complete", "starts-midway")
    assert device["residual"] == 0
    actions = device["actions"]
    assert actions["alloc"] + actions["free_completed"] >= told
    assert actions["alloc"] - actions["free_completed"] == device["live_blocks"]
    return actions["alloc"] + actions["free_completed"]


def kill_often(tmp_path, times):
    generator = random.Random(20262)
    for number in range(times):
        path = tmp_path / f"killed_{number}.slt"
        told = run_until_killed(path, textwrap.dedent(ENDLESS), generator)
        assert check_killed(path, told) >= told > 0
        path.unlink()


def test_a_killed_program_leaves_all_it_had_written(tmp_path):
    kill_often(tmp_path, 5)


@pytest.mark.full
def test_a_hundred_killed_programs_leave_all_they_had_written(tmp_path):
    kill_often(tmp_path, 100)


def check(path):
    done = subprocess.run(
        [*STRANDLINE, "check", str(path), "--json"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)["devices"]


@pytest.fixture
def stream(heap, tmp_path):
    """Recording to a file."""
    sl.clear_history(tables=True)
    path = tmp_path / "run.slt"
    sl.record_memory_events(max_entries=10_000, file=path)
    yield path
    heap.free_all()
    sl.record_memory_events(False)
    sl.clear_history(tables=True)


def test_a_stream_is_complete_when_recording_goes_off(heap, stream):
    kept = heap.alloc(4096, 4000, op="Add", shape=[1000], dtype="float32")
    with sl.memory_phase("step"):
        heap.free(heap.alloc(8192, op="Matmul"))
    assert _native.stream_path() == str(stream)
    sl.record_memory_events(False)
    assert _native.stream_path() is None
    (device,) = check(stream)
    assert device["verdict"] == "complete"
    assert device["actions"] == {
        "alloc": 2,
        "free_completed": 1,
        "free_requested": 1,
        "segment_alloc": 2,
        "segment_free": 1,
    }
    assert (device["active_end"], device["active_peak"]) == (4000, 12192)
    report = sl.Snapshot.load(stream).report()["devices"][0]["report"]
    assert {op["name"]: op["bytes"] for op in report["by_operation"]} == {
        "Add": 4000,
        "Matmul": 8192,
    }
    assert [p["name"] for p in report["by_phase"]][:1] == ["step"]
    heap.free(kept)


def test_a_stream_tells_lines_as_the_snapshot_does(heap, stream, tmp_path):
    heap.alloc(4096)
    sl.dump_snapshot(tmp_path / "same.pickle")
    sl.record_memory_events(False)
    told = [
        sl.Snapshot.load(path).report()["devices"][0]["report"]["by_line"]
        for path in (stream, tmp_path / "same.pickle")
    ]
    assert told[0] == told[1]
    assert told[0][0]["bytes"] == 4096


def test_another_file_ends_the_first_stream(heap, stream, tmp_path):
    heap.alloc(64)
    second = tmp_path / "second.slt"
    sl.record_memory_events(max_entries=10_000, file=second)
    heap.alloc(128)
    sl.record_memory_events(max_entries=10_000)  # without a file the stream goes on
    heap.alloc(256)
    sl.record_memory_events(False)
    assert check(stream)[0]["actions"]["alloc"] == 1
    (device,) = check(second)
    assert device["actions"]["alloc"] == 2
    assert device["live_blocks"] == 3
    assert device["verdict"] == "starts-midway"


def test_a_file_that_cannot_be_written_is_refused_before_recording(heap, tmp_path):
    with pytest.raises(sl.DeviceError, match="nowhere"):
        sl.record_memory_events(file=tmp_path / "nowhere" / "run.slt")
    assert not sl.is_recording()
    with pytest.raises(TypeError, match="a path"):
        sl.record_memory_events(file=3)


def test_a_program_that_ends_completes_its_file(folder):
    script = folder.write(
        """
        import strandline as sl
        from strandline._native import testing
        sl.record_memory_events(file="run.slt")
        import os; os.chdir("/")
        testing.note_alloc("alloc_new", 4096, 64, 60)
        raise SystemExit(3)
        """
    )
    assert folder.call([*PYTHON, script]).returncode == 3
    (device,) = check(folder.path / "run.slt")
    assert device["active_end"] == 60


def test_run_streams_beside_its_report(folder):
    done = folder.call([*RUN, "--stream", "run.slt", folder.write(ALLOCATE)])
    assert done.returncode == 0
    assert f"every event: {folder.path / 'run.slt'}" in done.stderr
    (device,) = check(folder.path / "run.slt")
    assert device["actions"]["alloc"] == 1
    text = folder.call([*STRANDLINE, "report", "run.slt"]).stdout
    assert "script.py:4" in text


def test_run_says_before_the_program_starts_that_it_cannot_stream(folder):
    script = folder.write("print('started')")
    done = folder.call([*RUN, "--stream", "nowhere/run.slt", script])
    assert (done.returncode, done.stdout) == (2, "")
    assert "--stream" in done.stderr
    done = folder.call([*RUN, "--stream", "same", "-o", "same", script])
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize("words", [["script.py"], ["-m", "script"]])
def test_the_environment_records_a_program_that_imports_us(folder, words):
    folder.write("import strandline\n" + ALLOCATE)
    done = folder.call([*PYTHON, *words], env={**os.environ, "STRANDLINE_RECORD": "run.slt"})
    assert (done.returncode, done.stderr) == (0, "")
    assert check(folder.path / "run.slt")[0]["actions"]["alloc"] == 1


def test_the_environment_records_a_program_that_never_heard_of_us(folder):
    """By the .pth file that the wheel puts beside the package."""
    if not pathlib.Path(sl.__file__).parents[1].joinpath("strandline_record.pth").exists():
        pytest.skip("the package is not an installed wheel")
    script = folder.write("import sys\nprint('strandline' in sys.modules)")
    done = folder.call([sys.executable, script])
    assert (done.stdout, done.stderr) == ("False\n", "")
    done = folder.call([sys.executable, script], env={**os.environ, "STRANDLINE_RECORD": "run.slt"})
    assert (done.stdout, done.stderr) == ("True\n", "")
    assert json.loads(folder.call([*STRANDLINE, "check", "run.slt", "--json"]).stdout)


def test_the_environment_is_what_run_streams_to_without_an_option(folder):
    script = folder.write(ALLOCATE)
    folder.call([*RUN, script], env={**os.environ, "STRANDLINE_RECORD": "env.slt"})
    assert check(folder.path / "env.slt")[0]["actions"]["alloc"] == 1


def test_the_environment_leaves_the_verbs_on_files_alone(folder):
    folder.call([*RUN, "--stream", "run.slt", folder.write(ALLOCATE)])
    before = folder.files()
    done = folder.call(
        [*STRANDLINE, "check", "run.slt"], env={**os.environ, "STRANDLINE_RECORD": "new.slt"}
    )
    assert done.returncode == 0
    assert folder.files() == before


CHILD = """
import os, subprocess, sys
import strandline
from strandline._native import testing
testing.note_alloc("alloc_new", 4096, 64, 64)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, "script.py", "child"], check=True)
    if os.fork() == 0:
        testing.note_alloc("alloc_new", 8192, 64, 64)
        sys.exit()
    os.wait()
"""


def test_children_do_not_write_the_file_of_their_parent(folder):
    script = folder.write(CHILD)
    environment = {**os.environ, "STRANDLINE_RECORD": "run.slt"}
    done = folder.call([*PYTHON, script], env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert check(folder.path / "run.slt")[0]["actions"]["alloc"] == 1
    environment["STRANDLINE_RECORD"] = "run_%p.slt"
    done = folder.call([*PYTHON, script], env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    files = [name for name in folder.files() if name.startswith("run_")]
    assert len(files) == 2, "the program and the one it started; the fork is no program"
    for name in files:
        assert check(folder.path / name)[0]["actions"]["alloc"] == 1


def test_an_environment_that_cannot_be_is_said_and_the_program_goes_on(folder):
    script = folder.write("import strandline\nprint('ran')")
    done = folder.call([*PYTHON, script], env={**os.environ, "STRANDLINE_RECORD": "no/run.slt"})
    assert (done.returncode, done.stdout) == (0, "ran\n")
    (line,) = done.stderr.splitlines()
    assert line.startswith("strandline: STRANDLINE_RECORD: ")


def test_many_new_stacks_under_a_busy_interpreter_hold_nothing_up(run_python, tmp_path):
    """Delivery needs the interpreter lock to tell frames, and those who flush wait for delivery."""
    done = run_python(
        """
        import sys, threading
        import strandline as sl
        from strandline._native import testing
        sl.record_memory_events(file=sys.argv[1])
        def make(i):
            names = {}
            exec(f"def f{i}(t):\\n t.note_alloc('alloc_new', {4096 * (i + 1)}, 64, 64)", names)
            return names[f"f{i}"]
        def work(base):
            for i in range(base, base + 500):
                make(i)(testing)
        threads = [threading.Thread(target=work, args=(b * 1000,)) for b in range(4)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        """,
        str(tmp_path / "run.slt"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert check(tmp_path / "run.slt")[0]["actions"]["alloc"] == 2000
