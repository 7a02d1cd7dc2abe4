# SPDX-License-Identifier: Apache-2.0
"""Stacks read from the interpreter's frames equal those Python tells, on every supported version.

The capture source is built into a bare extension module (frames/frames_module.cpp) for each CPython
found on this machine, and frames/program.py runs in it. A version that is not found is skipped.
"""

import glob
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FRAMES = Path(__file__).with_name("frames")
SOURCES = [
    FRAMES / "frames_module.cpp",
    *(
        ROOT / "python" / "src" / f"{name}.cpp"
        for name in ("cpython_frames", "cpython_source", "fast_source", "frames_selftest")
    ),
    *(
        ROOT / "src" / "record" / f"{name}.cpp"
        for name in (
            "capture",
            "traceback",
            "op_scope",
            "native_capture",
            "native_stack",
            "native_symbols",
            "native_unwind",
        )
    ),
    *(ROOT / "src" / "core" / f"{name}.cpp" for name in ("error", "without_fork")),
]
VERSIONS = ("3.11", "3.12", "3.13")
FACTS = (
    "import sys, sysconfig; "
    "print('{}.{}'.format(*sys.version_info)); print(sysconfig.get_path('include'))"
)


def interpreter(version):
    """(command, folder of headers) of a CPython of this version with its headers, or None."""
    pyenv = os.environ.get("PYENV_ROOT", str(Path.home() / ".pyenv"))
    candidates = [
        sys.executable,
        *sorted(glob.glob(f"{pyenv}/versions/{version}.*/bin/python3"), reverse=True),
        f"/usr/bin/python{version}",
        shutil.which(f"python{version}"),
    ]
    for command in filter(None, candidates):
        try:
            told = subprocess.run(
                [command, "-c", FACTS], capture_output=True, text=True, check=True
            ).stdout.split("\n")
        except (OSError, subprocess.CalledProcessError):
            continue
        internal = Path(told[1], "internal", "pycore_frame.h")
        if told[0] == version and internal.exists():
            return command, told[1]
    return None


def compile_module(headers, folder):
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        pytest.skip("no C++ compiler: install g++ or set CXX")
    command = [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden"]
    command += ["-DSTRANDLINE_HAVE_LIBBACKTRACE=0", "-DFMT_HEADER_ONLY"]
    command += ["-DSTRANDLINE_BUILDING_LIBRARY", "-isystem", headers]
    command += [f"-I{ROOT / part}" for part in ("include", "src", "python/src")]
    target = folder / "frames_module.so"
    subprocess.run([*command, *map(str, SOURCES), "-o", str(target)], check=True)


@pytest.fixture(scope="session", params=VERSIONS)
def run_check(request, tmp_path_factory):
    """Runs one check of frames/program.py in that version."""
    found = interpreter(request.param)
    if found is None:
        pytest.skip(f"no CPython {request.param} with internal headers found on this machine")
    command, headers = found
    folder = tmp_path_factory.mktemp(f"frames_{request.param}")
    compile_module(headers, folder)

    def run(check, *numbers, environment=None):
        done = subprocess.run(
            [
                command,
                "-X",
                "faulthandler",
                str(FRAMES / "program.py"),
                check,
                str(folder),
                *map(str, numbers),
            ],
            capture_output=True,
            text=True,
            timeout=1200,
            env={**os.environ, **(environment or {})},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        word, count = done.stdout.split()
        assert word == "ok"
        return int(count), done.stderr

    return run


def test_random_stacks_equal_those_of_python(run_check):
    compared, _ = run_check("random", 5_000, 20240611)
    assert compared == 3 * 5_000


@pytest.mark.full
def test_100000_random_stacks_equal_those_of_python(run_check):
    compared, _ = run_check("random", 100_000, 7)
    assert compared == 3 * 100_000


def test_addresses_of_dead_code_are_not_mistaken_for_its(run_check):
    assert run_check("reuse", 3_000) == (1_500, "")


def test_lines_and_names_equal_those_of_the_traceback_module(run_check):
    compared, _ = run_check("traceback")
    assert compared > 30


def test_signal_handlers_capture_between_any_two_instructions(run_check):
    compared, _ = run_check("signals", 500)
    assert compared >= 500


def test_finalisers_run_by_the_collector_capture(run_check):
    compared, _ = run_check("collector", 500)
    assert compared >= 500


def test_1000_threads_capture_their_own_stacks(run_check):
    compared, _ = run_check("threads", 1_000)
    assert compared == 5_000


def test_tracing_and_coverage_change_no_frame(run_check):
    compared, _ = run_check("tracing")
    assert compared > 500


def test_both_sides_of_a_fork_go_on(run_check):
    assert run_check("fork")[0] == 21


def test_frames_outward_of_the_entry_are_left_out_also_at_the_cap(run_check):
    assert run_check("entry")[0] == 88


def test_the_end_of_the_interpreter_is_survived(run_check):
    for _ in range(5):
        assert run_check("shutdown") == (1, "")
