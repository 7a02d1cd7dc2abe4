# SPDX-License-Identifier: Apache-2.0
"""`strandline run`: what is left at the program's end, and what its children and threads leave."""

import pytest
from program_folder import ALLOCATE, RUN


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_works_and_its_children_are_not_recorded(folder, method):
    script = folder.write(
        ALLOCATE
        + f"""
import multiprocessing, strandline
def square(x):
    return x * x, strandline.is_recording(), __name__
if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    with context.Pool(2) as pool:
        print(pool.map(square, range(3)))
"""
    )
    _, ours = folder.both(script)
    assert "(4, False," in ours.stdout
    trace = folder.snapshot()["device_traces"][0]
    assert [e["action"] for e in trace] == ["segment_alloc", "alloc", "snapshot"]


@pytest.mark.parametrize(
    ("program", "children"),
    [
        ("pass", 0),
        ("import subprocess; [subprocess.run(['true']) for _ in range(3)]", 3),
        ("import subprocess; subprocess.run(['true'], preexec_fn=lambda: None)", 1),
        ("import os\nif os.fork() == 0: os._exit(0)\nos.wait()", 1),
        ("import os; os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)", 1),
        ("import os; os.system('true')", 1),
    ]
    + [
        (
            "import multiprocessing as m\nif __name__ == '__main__':\n"
            f"  c = m.get_context('{method}')\n"
            "  p = [c.Process(target=print) for _ in range(2)]\n"
            "  [x.start() for x in p]\n  [x.join() for x in p]",
            2,
        )
        for method in ("fork", "spawn", "forkserver")
    ],
)
def test_the_children_of_a_program_are_counted(folder, program, children):
    folder.call([*RUN, "--json", "report.json", folder.write(program)])
    assert folder.json()["run"]["unrecorded_processes"] == children


def test_a_forked_child_that_runs_to_its_end_writes_nothing(folder):
    script = folder.write(
        """
        import os
        if os.fork() != 0:
            os.wait()
            os.remove("script.memory.pickle") if os.path.exists("script.memory.pickle") else None
        """
    )
    done = folder.call([*RUN, script])
    assert done.returncode == 0
    assert done.stderr.count("script.memory.pickle") == 1
    assert folder.files() == ["script.memory.pickle", "script.py"]


def test_the_report_tells_the_exit_status(folder):
    folder.call([*RUN, "--json", "report.json", folder.write("import sys; sys.exit(7)")])
    assert folder.json()["run"]["exit_status"] == 7


def test_late_threads_and_atexit_functions_are_part_of_the_run(folder):
    script = folder.write(
        """
        import atexit, threading
        from concurrent.futures import ThreadPoolExecutor
        from strandline._native import testing
        later = threading.Event()
        def work():
            later.wait()
            testing.note_alloc("alloc_new", 4096, 64, 64, op="Thread")
            print("thread", name)
        def last():
            testing.note_alloc("alloc_new", 8192, 64, 64, op="Atexit")
            print("atexit", name)
        name = "global"
        atexit.register(last)
        threading.Thread(target=work).start()
        idle = ThreadPoolExecutor(1)
        idle.submit(print, "pool").result()
        threading.Thread(target=later.set).start()
        """
    )
    _, ours = folder.both(script)
    assert ours.stdout == "pool\nthread global\natexit global\n"
    ops = [e.get("user_metadata") for e in folder.snapshot()["device_traces"][0]]
    assert [m["op"] for m in ops if m] == ["Thread", "Atexit"]


def test_tracebacks_begin_at_the_script(folder):
    folder.call([*RUN, folder.write(ALLOCATE)])
    frames = folder.snapshot()["device_traces"][0][1]["frames"]
    assert [(f["name"], f["line"]) for f in frames] == [("build", 4), ("<module>", 5)]
    assert {f["filename"] for f in frames} == {str(folder.path / "script.py")}


def test_the_report_goes_to_standard_error_after_the_output(folder):
    done = folder.call([*RUN, folder.write(ALLOCATE + "print('mine')")])
    assert done.stdout == "mine\n"
    assert "script.py:4" in done.stderr
    assert str(folder.path / "script.memory.pickle") in done.stderr


def test_a_program_that_closes_its_streams_still_leaves_its_record(folder):
    script = folder.write(ALLOCATE + "import sys\nsys.stdout.close()\nsys.stderr.close()")
    assert folder.call([*RUN, script]).returncode == 0
    assert folder.files() == ["script.memory.pickle", "script.py"]


def test_outputs_are_relative_to_where_the_run_began(folder):
    (folder.path / "elsewhere").mkdir()
    script = folder.write(ALLOCATE + "import os; os.chdir('elsewhere')")
    folder.call([*RUN, "-o", "a.pickle", "--json", "b.json", script])
    assert folder.files() == ["a.pickle", "b.json", "elsewhere", "script.py"]


@pytest.mark.parametrize(
    ("option", "path", "why"),
    [
        ("-o", "nowhere/out.pickle", "there is no folder"),
        ("-o", "folder", "it is a folder"),
        ("--json", "script.py/out.json", "Not a directory"),
    ],
)
def test_an_output_that_cannot_be_written_is_said_before_the_program_starts(
    folder, option, path, why
):
    (folder.path / "folder").mkdir()
    script = folder.write("print('started')")
    done = folder.call([*RUN, option, path, script])
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("strandline: cannot write '") and path in line and why in line
    assert line.endswith(f"choose another file with {option}")
    assert folder.files() == ["folder", "script.py"]


def test_an_output_that_fails_at_the_end_is_said_and_leaves_the_status(folder):
    (folder.path / "out").mkdir()
    script = folder.write("import shutil, sys; shutil.rmtree('out'); sys.exit(3)")
    done = folder.call([*RUN, "-o", "out/a.pickle", script])
    assert done.returncode == 3
    assert "strandline: cannot write snapshot" in done.stderr
    assert "No such file or directory" in done.stderr


def test_options_reach_the_recorder(folder):
    script = folder.write(
        """
        from strandline._native import testing
        for i in range(8):
            testing.note_alloc("alloc_new", 4096 * (i + 1), 16 << i, 16 << i, op="Add")
        """
    )
    folder.call([*RUN, "--max-entries", "3", "--min-size", "64", script])
    trace = folder.snapshot()["device_traces"][0]
    sizes = [e["size"] for e in trace if e["action"] == "alloc"]
    assert sizes == [1024, 2048]  # the third is the snapshot's marker
    folder.call([*RUN, "--min-size", "64", script])
    trace = folder.snapshot()["device_traces"][0]
    assert [e["size"] for e in trace if e["action"] == "alloc"] == [64 << i for i in range(6)]
