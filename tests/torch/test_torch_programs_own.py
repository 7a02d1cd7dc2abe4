# SPDX-License-Identifier: Apache-2.0
"""Programs that use torch's recorder themselves: their recording is as without us."""

import pickle

import pytest
from torch_programs import lines_at_peak, live, sizes

WINDOW = """
import torch
KIB = 1 << 10
before = torch.empty(9000, device="cuda")  #[before]
torch.cuda.memory._record_memory_history(max_entries=6, stacks="all")
inside = [torch.empty(KIB * n, device="cuda") for n in range(1, 6)]  #[inside]
torch.cuda.memory._dump_snapshot("theirs.pickle")
torch.cuda.memory._record_memory_history(enabled=None)
inside.clear()
after = torch.empty(700, device="cuda")
"""


def told(path):
    """What a snapshot tells, without what differs from run to run."""
    content = pickle.loads(path.read_bytes())
    events = [(e["action"], e["size"]) for trace in content["device_traces"] for e in trace]
    return events, live(content)


def test_the_program_s_own_dump_is_as_without_us(folder):
    folder.plain(WINDOW)
    expected = told(folder.path / "theirs.pickle")
    (folder.path / "theirs.pickle").unlink()
    folder.run(text=WINDOW)
    assert told(folder.path / "theirs.pickle") == expected
    assert len(expected[0]) == 6


def test_ours_is_cut_in_stretches_around_it_and_the_highest_is_reported(folder):
    done = folder.run("--json", "report.json", text=WINDOW)
    assert sizes(folder.snapshot("script.memory.stretch-1.pickle")) == [9000]
    assert sizes(folder.snapshot("script.memory.stretch-2.pickle")) == [4096, 5120]
    assert sizes(folder.snapshot()) == [700]
    assert live(folder.snapshot()) == [9000, 700]
    assert lines_at_peak(folder.json())[0] == folder.mark("inside")
    assert "3 stretches, since the program used torch's recorder itself" in done.stderr
    assert "script.memory.stretch-2.pickle   (the report above)" in done.stderr


def test_recording_from_the_first_line_on_is_one_stretch(folder):
    text = """
        import torch
        torch.cuda.memory._record_memory_history()
        kept = torch.empty(5000, device="cuda")
        """
    folder.run(text=text)
    assert folder.files() == ["script.memory.pickle", "script.py"]
    assert sizes(folder.snapshot()) == [5000]


def test_switching_off_what_was_never_on_loses_nothing(folder):
    text = """
        import torch
        kept = torch.empty(5000, device="cuda")
        torch.cuda.memory._record_memory_history(enabled=None)
        torch.cuda.memory._record_memory_history(False)
        """
    folder.run(text=text)
    assert folder.files() == ["script.memory.pickle", "script.py"]
    assert sizes(folder.snapshot()) == [5000]


def test_a_program_that_clears_its_history_cuts_there(folder):
    text = """
        import torch
        record = torch.cuda.memory._record_memory_history
        record()
        a = torch.empty(5000, device="cuda")
        record(max_entries=100)
        b = torch.empty(6000, device="cuda")
        record(max_entries=100, clear_history=True)
        c = torch.empty(7000, device="cuda")
        """
    folder.run(text=text)
    assert sizes(folder.snapshot("script.memory.stretch-1.pickle")) == [5000, 6000]
    assert sizes(folder.snapshot()) == [7000]


def test_a_wrong_call_is_the_program_s_error_and_recording_goes_on(folder):
    text = """
        import torch
        torch.cuda.init()
        try:
            torch.cuda.memory._record_memory_history("everything")
        except RuntimeError as error:
            print(error)
        kept = torch.empty(5000, device="cuda")
        """
    done = folder.run(text=text)
    assert done.stdout == "expected state to be 'state', 'all', or None\n"
    assert sizes(folder.snapshot()) == [5000]


def test_more_stretches_than_are_kept_are_counted(folder):
    text = """
        import torch
        record = torch.cuda.memory._record_memory_history
        for step in range(10):
            record()
            kept = torch.empty(1000 + step, device="cuda")
            record(None)
        """
    done = folder.run(text=text)
    names = [name for name in folder.files() if "stretch" in name]
    assert names == [f"script.memory.stretch-{number}.pickle" for number in range(1, 9)]
    assert "stretches of torch's record were not kept" in done.stderr


def test_the_recorder_s_function_looks_as_it_did(folder):
    text = """
        import inspect, torch
        f = torch.cuda.memory._record_memory_history
        print(f.__name__, f.__module__, inspect.signature(f))
        """
    assert folder.run(text=text).stdout == folder.plain(text).stdout


@pytest.mark.parametrize("enabled", ["'all'", "True"])
def test_the_program_s_own_observer_is_called_as_well(folder, enabled):
    text = f"""
        import torch
        torch.cuda.init()
        torch._C._cuda_attach_out_of_memory_observer(lambda *facts: print(facts))
        torch.cuda.memory._record_memory_history({enabled})
        try:
            torch.empty(1 << 20, device="cuda")
        except torch.OutOfMemoryError:
            pass
        """
    done = folder.run(text=text, bytes=4096)
    assert done.stdout == f"(0, {1 << 20}, 4096, 4096)\n"
    assert "script.memory.oom.pickle" in folder.files()
