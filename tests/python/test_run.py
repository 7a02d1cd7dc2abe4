# SPDX-License-Identifier: Apache-2.0
"""`strandline run`: the program behaves as under plain Python.

Most programs here are run twice, by Python and by us, and compared.
"""

import signal
import sys
import zipfile

import pytest
from program_folder import ALLOCATE, PYTHON, RUN

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
    assert "package.memory.pickle" in folder.files()


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
