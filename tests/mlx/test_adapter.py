# SPDX-License-Identifier: Apache-2.0
"""Loading the adapter, and everything that can keep it from recording: said, never silent."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import strandline

PACKAGE = pathlib.Path(strandline.__file__).parent
ADAPTER = PACKAGE / "lib" / "libstrandline_mlx.so"


def _python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=900,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_only_the_interposed_symbols_leave_the_adapter():
    done = subprocess.run(
        ["nm", "-D", "--defined-only", str(ADAPTER)], capture_output=True, text=True, check=True
    )
    exported = {line.split()[-1] for line in done.stdout.splitlines()}
    text = (PACKAGE / "adapters" / "mlx" / "hooks.map").read_text()
    listed = set(re.findall(r"^\s+(_Z\w+);", text, re.MULTILINE))
    assert len(listed) >= 14
    assert exported == listed


def test_the_adapter_refers_to_no_symbol_of_mlx():
    done = subprocess.run(
        ["nm", "-D", "--undefined-only", str(ADAPTER)], capture_output=True, text=True, check=True
    )
    assert "_ZN3mlx4core" not in done.stdout


def test_importing_it_after_mlx_is_an_error_that_says_what_to_do():
    done = _python("import mlx.core; import strandline.mlx")
    assert done.returncode == 1
    assert "AdapterError: mlx was imported before strandline.mlx" in done.stderr
    assert "strandline run" in done.stderr


def test_without_mlx_the_message_names_the_package_to_install():
    done = _python(
        "import importlib.util as u\n"
        "real = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'mlx' else real(name, *a)\n"
        "import strandline.mlx"
    )
    assert done.returncode == 1
    assert f"mlx is not installed for {sys.executable}: pip install 'mlx[cpu]==" in done.stderr


def test_without_the_cpu_backend_gpu_streams_are_refused():
    done = _python(
        "import importlib.metadata as m\n"
        "real = m.version\n"
        "def version(name):\n"
        "    if name == 'mlx-cpu': raise m.PackageNotFoundError(name)\n"
        "    return real(name)\n"
        "m.version = version\n"
        "import strandline.mlx"
    )
    assert done.returncode == 1
    assert "GPU streams are not recorded" in done.stderr


_OTHER_VERSION = (
    "import importlib.metadata as m\n"
    "real = m.version\n"
    "m.version = lambda name: '0.99.0' if name == 'mlx' else real(name)\n"
)


def test_another_version_is_built_on_first_use_tested_and_kept(tmp_path):
    code = _OTHER_VERSION + (
        "import strandline as sl, strandline.mlx, mlx.core as mx\n"
        "sl.record_memory_events(True)\n"
        "mx.eval(mx.ones((4, 4)) + 1)\n"
        "print(sum(e['op'] == 'Add' for e in sl.get_memory_events()) > 0)\n"
    )
    first = _python(code, XDG_CACHE_HOME=str(tmp_path))
    assert first.returncode == 0, first.stderr
    assert first.stdout.strip() == "True"
    assert "building the adapter for mlx 0.99.0" in first.stderr
    second = _python(code, XDG_CACHE_HOME=str(tmp_path))
    assert second.stdout.strip() == "True" and second.stderr == ""


def test_another_version_without_a_compiler_is_refused_with_advice(tmp_path):
    done = _python(
        _OTHER_VERSION + "import strandline.mlx", XDG_CACHE_HOME=str(tmp_path),
        PATH=str(tmp_path), CXX="",
    )  # fmt: skip
    assert done.returncode == 1
    assert "no C++ compiler" in done.stderr and "pip install 'mlx[cpu]==" in done.stderr
    assert not list(tmp_path.rglob("*.so"))


def test_an_adapter_that_fails_its_self_test_is_refused(tmp_path):
    code = (
        _OTHER_VERSION
        + "import strandline.mlx.errors"  # loads the adapter, which is built and tested first
    )
    broken = tmp_path / "sitecustomize.py"
    broken.write_text(
        "import sys\n"
        "if 'strandline.mlx_selftest' in sys.orig_argv:\n"
        "    import strandline._native as n\n"
        "    n.active_memory = lambda: 1\n"
    )
    paths = os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])
    done = _python(code, XDG_CACHE_HOME=str(tmp_path / "cache"), PYTHONPATH=paths)
    assert done.returncode == 1
    assert "does not agree with it" in done.stderr
    assert "active memory differs" in done.stderr
    assert not list((tmp_path / "cache").rglob("*.so"))


def test_hooks_that_do_not_take_are_noticed_at_the_import_of_mlx():
    # With local scope the symbols of the adapter stand in front of nothing.
    done = _python(
        "import ctypes\n"
        "real = ctypes.CDLL\n"
        "ctypes.CDLL = lambda path, mode: real(path, mode=2)\n"
        "import strandline.mlx\n"
        "import mlx.core\n"
    )
    assert done.returncode == 1
    assert "hooks did not take" in done.stderr and "desc_init" in done.stderr


def test_run_says_that_hooks_did_not_take_and_lets_the_program_go_on(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import ctypes\nreal = ctypes.CDLL\nctypes.CDLL = lambda path, mode=0: real(path, mode=2)\n"
    )
    (tmp_path / "program.py").write_text(
        "import mlx.core as mx\nprint((mx.ones(3) + 1).sum().item())\n"
    )
    paths = os.pathsep.join([str(tmp_path), str(PACKAGE.parent)])
    done = subprocess.run(
        [sys.executable, "-m", "strandline", "run", "program.py"],
        capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": paths},
    )  # fmt: skip
    assert done.returncode == 0 and done.stdout == "6.0\n"
    assert done.stderr.count("hooks did not take") == 2


def test_loading_changes_none_of_mlx_figures():
    show = "print(mx.get_active_memory(), mx.get_peak_memory(), mx.get_cache_memory())"
    plain = _python(f"import mlx.core as mx; {show}")
    hooked = _python(f"import strandline.mlx; import mlx.core as mx; {show}")
    assert hooked.stdout == plain.stdout != ""


@pytest.mark.parametrize("call", ["label(3, 4)", "label({}, '')"])
def test_wrong_arguments_of_label_are_python_errors(call):
    done = _python(f"import strandline.mlx as m, mlx.core\nm.{call}")
    assert done.returncode == 1
    assert "[label] name; got" in done.stderr


def test_a_report_names_the_framework_only_when_the_program_loaded_it(tmp_path):
    program, report = tmp_path / "program.py", tmp_path / "report.json"
    texts = {"import strandline.array as sa": None, "import mlx.core": "mlx "}
    for text, expected in texts.items():
        program.write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "strandline", "run", "-o", str(tmp_path / "s.pickle"),
             "--json", str(report), str(program)],
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        framework = json.loads(report.read_text())["run"]["framework"]
        assert framework is None if expected is None else framework.startswith(expected)
