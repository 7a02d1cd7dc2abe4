# SPDX-License-Identifier: Apache-2.0
"""`strandline run`: the program behaves as under plain Python, and the record is left at its end.

Most programs here are run twice, by Python and by us, and compared.
"""

import pickle
import signal
import subprocess
import sys
import textwrap
import zipfile

import pytest

PYTHON = [sys.executable]
STRANDLINE = [sys.executable, "-m", "strandline"]
RUN = [*STRANDLINE, "run", "--without-adapters"]

ALLOCATE = """
from strandline._native import testing
def build():
    testing.note_alloc("alloc_new", 4096, 2048, 2000, op="Add", shape=[500], dtype="float32")
build()
"""


@pytest.fixture
def folder(tmp_path):
    """A folder to work in, with a script of a text put there by `write`."""

    class Folder:
        path = tmp_path

        def write(self, text, name="script.py"):
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(textwrap.dedent(text))
            return name

        def call(self, command, **options):
            return subprocess.run(
                command, cwd=tmp_path, capture_output=True, text=True, timeout=120, **options
            )

        def files(self):
            return sorted(file.name for file in tmp_path.iterdir() if file.name != "__pycache__")

        def both(self, *words, options=()):
            """The same words by Python and by us; standard output and status must agree."""
            plain = self.call([*PYTHON, *words])
            ours = self.call([*RUN, *options, *words])
            assert ours.stdout == plain.stdout
            assert ours.returncode == plain.returncode
            return plain, ours

        def snapshot(self, name="script.memory.pickle"):
            return pickle.loads((tmp_path / name).read_bytes())

    return Folder()


WHO_AM_I = """
import sys
print(sys.argv, sys.path[0], __name__, __file__, __package__, __spec__ and __spec__.name)
print(sys.modules["__main__"].__dict__ is globals(), __cached__ and "cached", __loader__.name)
"""


@pytest.mark.parametrize("arguments", [[], ["-x", "--top", "3", "--", "-m", "a b", ""]])
def test_a_script_sees_its_own_arguments_path_and_names(folder, arguments):
    script = folder.write(WHO_AM_I, "deep/er/script.py")
    plain, _ = folder.both(script, *arguments)
    assert repr([script, *arguments]) in plain.stdout


def test_a_safe_path_stays_without_the_script_s_folder(folder):
    script = folder.write("import sys; print(sys.path[:2])")
    plain = folder.call([*PYTHON, "-P", script])
    ours = folder.call([sys.executable, "-P", "-m", "strandline", *RUN[3:], script])
    assert ours.stdout == plain.stdout
    assert str(folder.path) not in ours.stdout


def test_a_script_behind_a_link_finds_its_neighbours(folder):
    folder.write("value = 3", "deep/neighbour.py")
    folder.write("import neighbour, sys; print(neighbour.value, sys.path[0])", "deep/script.py")
    (folder.path / "link.py").symlink_to(folder.path / "deep" / "script.py")
    folder.both("link.py")


def test_a_module_sees_its_own_arguments_path_and_names(folder):
    folder.write(WHO_AM_I, "module.py")
    folder.both("-m", "module", "-m", "--json", "x")


def test_a_package_runs_its_main_with_its_relative_imports(folder):
    folder.write("value = 'from the package'", "package/__init__.py")
    folder.write(WHO_AM_I + "from . import value\nprint(value)", "package/__main__.py")
    plain, _ = folder.both("-m", "package", "x")
    assert "from the package" in plain.stdout
    assert "package.__main__.memory.pickle" in folder.files() or (
        "package.memory.pickle" in folder.files()
    )


def test_a_folder_and_an_archive_are_run_by_their_main(folder):
    folder.write(WHO_AM_I, "app/__main__.py")
    folder.both("app", "x")
    with zipfile.ZipFile(folder.path / "app.zip", "w") as archive:
        archive.write(folder.path / "app" / "__main__.py", "__main__.py")
    folder.both("app.zip", "x")


def test_double_dash_ends_our_options(folder):
    script = folder.write("import sys; print(sys.argv)")
    done = folder.call([*RUN, "--top", "3", "--", script, "--", "-o"])
    assert done.stdout == "['script.py', '--', '-o']\n"


def test_pickles_of_main_classes_and_late_imports_of_main_work(folder):
    folder.both(
        folder.write(
            """
            import pickle, __main__
            class Thing:
                pass
            print(type(pickle.loads(pickle.dumps(Thing()))) is Thing, __main__.Thing is Thing)
            """
        )
    )


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing_works_and_its_children_are_not_recorded(folder, method):
    script = folder.write(
        ALLOCATE
        + f"""
import multiprocessing, strandline
def square(x):
    try:
        recording = strandline.is_recording()
    finally:
        pass
    return x * x, recording, __name__
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
    assert read_json(folder)["run"]["unrecorded_processes"] == children


def read_json(folder, name="report.json"):
    import json

    return json.loads((folder.path / name).read_text())


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


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("", 0),
        ("sys.exit()", 0),
        ("sys.exit(7)", 7),
        ("sys.exit(-1)", 255),
        ("sys.exit('a text')", 1),
        ("raise ValueError('no good')", 1),
        ("raise KeyboardInterrupt", -signal.SIGINT),
        ("import os; os._exit(9)", 9),
        ("import os; os.kill(os.getpid(), 15)", -signal.SIGTERM),
        ("import os; os.kill(os.getpid(), 2); import time; time.sleep(60)", -signal.SIGINT),
    ],
)
def test_the_exit_status_is_the_program_s(folder, end, status):
    script = folder.write(ALLOCATE + f"import sys\nprint('started', flush=True)\n{end}\n")
    plain, ours = folder.both(script)
    assert ours.returncode == status
    assert ours.stderr.startswith(plain.stderr)
    died = "os._exit" in end or "15" in end
    assert folder.files() == (["script.py"] if died else ["script.memory.pickle", "script.py"])


def test_the_report_tells_the_exit_status(folder):
    folder.call([*RUN, "--json", "report.json", folder.write("import sys; sys.exit(7)")])
    assert read_json(folder)["run"]["exit_status"] == 7


def test_a_traceback_is_as_plain_python_prints_it(folder):
    script = folder.write(
        """
        def inner():
            try:
                {}["missing"]
            except KeyError as error:
                raise ValueError("no good") from error
        inner()
        """
    )
    plain, ours = folder.both(script)
    assert "KeyError" in plain.stderr
    assert ours.stderr.startswith(plain.stderr)


def test_a_syntax_error_is_as_plain_python_prints_it_and_nothing_is_written(folder):
    plain, ours = folder.both(folder.write("def f(:\n"))
    assert ours.stderr == plain.stderr
    assert folder.files() == ["script.py"]


def test_the_program_s_own_excepthook_is_called(folder):
    folder.both(
        folder.write(
            """
            import sys, traceback
            def hook(kind, error, trace):
                print(kind.__name__, [f.name for f in traceback.extract_tb(trace)])
            sys.excepthook = hook
            def f():
                1 / 0
            f()
            """
        )
    )


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "strandline run: error: no script to run"),
        (["--"], "strandline run: error: no script to run"),
        (["-m"], "strandline run: error: no module after -m"),
        (
            ["--max-entries", "0", "script.py"],
            "error: argument --max-entries: got '0', expected a whole number from 1 to 4294967296",
        ),
        (
            ["--top", "many", "script.py"],
            "error: argument --top: got 'many', expected a whole number from 1 to 10000",
        ),
        (["--nonsense", "script.py"], "error: unrecognized arguments: --nonsense"),
        (["-o"], "error: argument -o/--output: expected one argument"),
        (["missing.py"], "strandline: cannot open 'missing.py': No such file or directory"),
        (["-m", "no.such.module"], "strandline: error while finding module 'no.such.module'"),
        (["-m", "nosuchmodule"], "strandline: no module named 'nosuchmodule'"),
    ],
)
def test_a_wrong_command_line_is_told_with_status_2(folder, words, message):
    done = folder.call([*RUN, *words])
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_without_mlx_nothing_starts_and_the_message_says_what_to_install(folder):
    folder.write("import sys; sys.modules['mlx'] = None", "site/sitecustomize.py")
    script = folder.write("print('started')")
    import os

    environment = os.environ | {"PYTHONPATH": f"site:{os.environ.get('PYTHONPATH', '')}"}
    done = folder.call([*STRANDLINE, "run", script], env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line == (
        f"strandline: nothing would be recorded: mlx is not installed for {sys.executable}: "
        "pip install 'mlx[cpu]==0.32.4'; or run with --without-adapters"
    )


@pytest.mark.parametrize("words", [[], ["fly"]])
def test_an_unknown_command_is_told_with_status_2(folder, words):
    done = folder.call([*STRANDLINE, *words])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("strandline: ") and "usage: strandline run" in done.stderr


def test_info_tells_versions_capture_and_adapters(folder):
    import json

    import strandline

    done = folder.call([*STRANDLINE, "info", "--json"])
    facts = json.loads(done.stdout)
    assert facts["strandline"] == strandline.__version__
    assert facts["capture"].startswith("CPython ")
    assert facts["adapters"][0]["name"] == "mlx"
    text = folder.call([*STRANDLINE, "info"]).stdout
    assert f"strandline  {strandline.__version__}" in text
    assert "adapter     mlx" in text


def test_version_and_help_go_to_standard_output(folder):
    assert folder.call([*STRANDLINE, "--version"]).stdout.startswith("strandline ")
    assert "usage: strandline run" in folder.call([*STRANDLINE, "--help"]).stdout
    assert "--max-entries" in folder.call([*STRANDLINE, "run", "--help"]).stdout
