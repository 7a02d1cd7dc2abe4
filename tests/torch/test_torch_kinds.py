# SPDX-License-Identifier: Apache-2.0
"""Kinds of torch that record nothing or less, imports that fail, and forked children."""

import pytest
from program_folder import STRANDLINE
from torch_programs import TRAIN, sizes

ON_CPU = "import torch\nx = torch.empty(1000)\nprint('done')\n"


@pytest.mark.parametrize(
    ("kind", "text", "line"),
    [
        (
            "cpu",
            ON_CPU,
            "torch 2.15.0+cpu is built without CUDA: what it allocates is not recorded",
        ),
        ("", ON_CPU, "torch 2.15.0 did not use CUDA: nothing of it was recorded"),
        ("ancient", TRAIN, "torch 1.12.1 has no recorder that can be used: 2.1 and newer have"),
    ],
)
def test_a_torch_without_a_record_is_told_and_the_program_runs(folder, kind, text, line):
    done = folder.run(text=text, kind=kind)
    assert (done.returncode, done.stdout) == (0, folder.plain(text, kind=kind).stdout)
    assert f"strandline: {line}\n" in done.stderr
    assert folder.snapshot()["segments"] == []


def test_nothing_is_said_of_a_torch_that_is_not_imported(folder):
    assert "strandline:" not in folder.run(text="print('done')").stderr


def test_an_allocator_without_a_recorder_is_told_and_the_program_runs(folder):
    done = folder.run(text=TRAIN, kind="async")
    assert (done.returncode, done.stdout) == (0, "trained\n")
    said = "torch's recorder cannot be switched on: cudaMallocAsync does not yet support"
    assert f"strandline: {said}" in done.stderr


def test_a_torch_before_phases_is_recorded_all_the_same(folder):
    folder.run(text=TRAIN, kind="old")
    assert sizes(folder.snapshot())[0] == 8 << 20


def test_an_import_that_fails_is_the_program_s_and_may_be_tried_again(folder):
    text = """
        try:
            import torch
        except ImportError as error:
            print(error)
        import torch
        kept = torch.empty(5000, device="cuda")
        """
    done = folder.run(text=text, kind="broken")
    assert done.stdout == "libcudart.so.13: cannot open shared object file\n"
    assert sizes(folder.snapshot()) == [5000]


def test_a_failed_import_that_ends_the_program_looks_as_under_python(folder):
    plain = folder.plain("import torch\n", kind="broken")
    (folder.path / "second_try").unlink()
    done = folder.run(text="import torch\n", kind="broken")
    assert done.returncode == plain.returncode == 1
    assert done.stderr.startswith(plain.stderr)


def test_looking_for_torch_does_not_import_it_and_leaves_no_trace_in_it(folder):
    text = """
        import importlib.util, sys
        print(importlib.util.find_spec("torch").name, "torch" in sys.modules)
        import torch
        print(type(torch.__loader__).__name__, vars(torch.__loader__).keys())
        print(type(torch.__spec__).__mro__, vars(torch.__spec__).keys())
        print(torch.__spec__.loader is torch.__loader__, torch.__file__.endswith("__init__.py"))
        kept = torch.empty(5000, device="cuda")
        """
    done = folder.run(text=text)
    assert done.stdout == folder.plain(text).stdout
    assert done.stdout.splitlines()[0] == "torch False"
    assert sizes(folder.snapshot()) == [5000]


def test_a_torch_found_by_a_finder_of_its_own_is_recorded(folder):
    """As of an editable installation."""
    text = """
        import importlib.util, sys
        paths = [path for path in sys.path if "stand_in" in path]
        sys.path[:] = [path for path in sys.path if path not in paths]
        class Finder:
            @staticmethod
            def find_spec(name, path=None, target=None):
                if name == "torch":
                    return importlib.util.spec_from_file_location(
                        name, paths[0] + "/torch/__init__.py",
                        submodule_search_locations=[paths[0] + "/torch"])
        sys.meta_path.append(Finder)
        import torch
        kept = torch.empty(5000, device="cuda")
        """
    folder.run(text=text)
    assert sizes(folder.snapshot()) == [5000]


def test_torch_imported_in_a_forked_child_is_not_recorded(folder):
    text = """
        import os
        if os.fork() == 0:
            import torch
            kept = torch.empty(5000, device="cuda")
            print(torch.cuda.memory.history, flush=True)
            raise SystemExit
        os.wait()
        """
    done = folder.run(text=text)
    assert done.stdout == "None\n"
    assert folder.snapshot()["device_traces"] in ([], [[]]) or not sizes(folder.snapshot())


def test_a_child_forked_before_cuda_began_records_nothing_and_the_parent_does(folder):
    text = """
        import os, torch
        if os.fork() == 0:
            kept = torch.empty(5000, device="cuda")
            torch.cuda.memory._record_memory_history("all")
            print(torch.cuda.memory.history["max_entries"] > 10**9, flush=True)
            raise SystemExit
        os.wait()
        kept = torch.empty(6000, device="cuda")
        """
    done = folder.run(text=text)
    assert done.stdout == "True\n"
    assert sizes(folder.snapshot()) == [6000]
    assert done.stderr.count("script.memory.pickle") == 1


def test_a_failed_allocation_in_a_forked_child_leaves_nothing(folder):
    text = """
        import os, torch
        kept = torch.empty(1000, device="cuda")
        if os.fork() == 0:
            try:
                torch.empty(1 << 20, device="cuda")
            except torch.OutOfMemoryError:
                print("failed", flush=True)
            raise SystemExit
        os.wait()
        """
    done = folder.run(text=text, bytes=4096)
    assert done.stdout == "failed\n"
    assert folder.files() == ["script.memory.pickle", "script.py"]


def test_torch_alone_is_enough_to_record(folder):
    """The stand-in's programs have no MLX."""
    done = folder.run(text="import sys; print(sys.modules['mlx'])\n" + TRAIN)
    assert (done.returncode, done.stdout) == (0, "None\ntrained\n")
    assert "mlx" not in done.stderr
    assert sizes(folder.snapshot())[0] == 8 << 20


def test_info_tells_of_torch_without_importing_it(folder):
    done = folder.call([*STRANDLINE, "info"], env=folder.environment({"kind": "broken"}))
    assert done.returncode == 0
    (line,) = [line for line in done.stdout.splitlines() if "torch" in line]
    assert line.startswith("adapter     torch") and line.endswith("ready")
    assert not (folder.path / "second_try").exists()
