# SPDX-License-Identifier: Apache-2.0
"""`strandline run` of programs that use torch.cuda, on the stand-in for torch."""

import signal

import pytest
from torch_programs import TRAIN, lines_at_peak, live, sizes


def test_the_report_names_the_lines_and_the_snapshot_is_torch_s(folder):
    done = folder.run("--json", "report.json", text=TRAIN)
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert folder.files() == ["report.json", "script.memory.pickle", "script.py"]
    assert lines_at_peak(folder.json()) == [folder.mark("weights"), folder.mark("scratch")]
    assert folder.json()["devices"][0]["report"]["peak"]["requested_bytes"] == 11 << 20
    assert sizes(folder.snapshot()) == [8 << 20, *[3 << 20] * 3]
    assert "script.py · torch 2.15.0 · " in done.stderr
    assert f"script.py:{folder.mark('weights')}" in done.stderr
    assert f"snapshot   {folder.path / 'script.memory.pickle'}" in done.stderr


def test_stacks_begin_at_the_program(folder):
    folder.run(text=TRAIN)
    (first, *_) = [e for e in folder.snapshot()["device_traces"][0] if e["action"] == "alloc"]
    assert [f["name"] for f in first["frames"]][-2:] == ["make", "<module>"]
    assert first["frames"][-1]["filename"] == str(folder.path / "script.py")
    (segment,) = folder.snapshot()["segments"]
    assert [f["name"] for f in segment["frames"]][-1] == "<module>"


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ("raise ValueError('no good')", 1),
        ("raise SystemExit(7)", 7),
        ("import os, time; os.kill(os.getpid(), 2); time.sleep(60)", -signal.SIGINT),
    ],
)
def test_whatever_ends_the_program_the_snapshot_is_there(folder, end, status):
    text = TRAIN + end + "\n"
    plain = folder.plain(text)
    done = folder.run(text=text)
    assert done.returncode == plain.returncode == status
    assert done.stderr.startswith(plain.stderr)
    assert live(folder.snapshot()) == [8 << 20]
    assert f"script.py:{folder.mark('weights')}" in done.stderr


OUT_OF_MEMORY = """
import torch
MIB = 1 << 20
kept = [torch.empty(20 * MIB, device="cuda") for _ in range(4)]  #[kept]
def attempt():
    scratch = torch.empty(10 * MIB, device="cuda")  #[scratch]
    return torch.empty(16 * MIB, device="cuda")  #[failing]
"""


def test_a_failed_allocation_leaves_the_state_of_that_moment(folder):
    text = OUT_OF_MEMORY + "attempt()\n"
    plain = folder.plain(text, bytes=100 << 20)
    done = folder.run("--json", "report.json", text=text, bytes=100 << 20)
    assert done.returncode == plain.returncode == 1
    assert done.stderr.startswith(plain.stderr)
    assert "script.memory.oom.pickle" in folder.files()
    at_failure = folder.snapshot("script.memory.oom.pickle")
    assert live(at_failure) == [*[20 << 20] * 4, 10 << 20]
    assert [e["action"] for e in at_failure["device_traces"][0]][-2:] == ["oom", "snapshot"]
    assert lines_at_peak(folder.json()) == [folder.mark("kept"), folder.mark("scratch")]
    (failure,) = folder.json("report.oom.json")["failures"]
    assert (failure["asked_bytes"], failure["line"]["line"]) == (
        16 << 20,
        folder.mark("failing"),
    )
    assert [pin["line"]["line"] for pin in failure["holders"]] == [
        folder.mark("kept"),
        folder.mark("scratch"),
    ]
    assert f"script.py:{folder.mark('failing')}" in done.stderr
    assert f"failure    {folder.path / 'script.memory.oom.pickle'}" in done.stderr


def test_failures_that_the_program_survives_are_kept_up_to_a_number(folder):
    text = (
        OUT_OF_MEMORY
        + """
for size in range(12):
    try:
        more = torch.empty((21 + size) * MIB, device="cuda")
    except torch.OutOfMemoryError:
        pass
"""
    )
    done = folder.run(text=text, bytes=100 << 20)
    assert done.returncode == 0
    failed = sizes(folder.snapshot("script.memory.oom.pickle"), action="oom")
    assert failed == [(21 + size) << 20 for size in range(10)]
    assert sizes(folder.snapshot(), action="oom") == [(21 + size) << 20 for size in range(12)]
    assert "12 allocations failed in torch; the last snapshot is of number 10" in done.stderr


def test_each_device_has_its_report(folder):
    text = """
        import torch
        a = torch.empty(3000, device="cuda:0")  #[first]
        b = torch.empty(5000, device="cuda:1")  #[second]
        """
    done = folder.run("--json", "report.json", text=text, devices=2)
    report = folder.json()
    assert [d["device"] for d in report["devices"]] == [0, 1]
    assert lines_at_peak(report, 0) == [folder.mark("first")]
    assert lines_at_peak(report, 1) == [folder.mark("second")]
    assert "device 0 ·" in done.stderr and "device 1 ·" in done.stderr


def test_the_history_keeps_as_many_events_as_were_asked_for(folder):
    folder.run("--max-entries", "5", text=TRAIN)
    assert len(folder.snapshot()["device_traces"][0]) == 5


def test_with_a_record_of_our_own_torch_s_has_a_suffix(folder):
    text = (
        TRAIN
        + """
from strandline._native import testing
testing.note_alloc("alloc_new", 4096, 2048, 2000, op="Add", shape=[500], dtype="float32")
"""
    )
    done = folder.run("-o", "out.pickle", "--json", "r.json", text=text)
    assert folder.files() == [
        "out.pickle",
        "out.torch.pickle",
        "r.json",
        "r.torch.json",
        "script.py",
    ]
    assert sizes(folder.snapshot("out.pickle")) == [2000]
    assert sizes(folder.snapshot("out.torch.pickle"))[0] == 8 << 20
    assert folder.json("r.json")["format"] == "strandline.peak_report"
    assert folder.json("r.torch.json")["format"] == "strandline.file_report"
    assert done.stderr.index("out.pickle") < done.stderr.index("torch 2.15.0")


def test_processes_that_the_program_starts_are_told(folder):
    text = TRAIN + "import subprocess\nsubprocess.run(['true'])\n"
    assert "1 process started by it, not recorded" in folder.run(text=text).stderr


def test_each_rank_has_files_of_its_own(folder):
    folder.settings = {"RANK": "3", "WORLD_SIZE": "8"}
    text = OUT_OF_MEMORY + "attempt()\n"
    folder.run("-o", "out.pickle", "--json", "r.json", text=text, bytes=100 << 20)
    names = ["out.rank-3.oom.pickle", "out.rank-3.pickle", "r.rank-3.json", "r.rank-3.oom.json"]
    assert folder.files() == [*names, "script.py"]
    folder.settings = {"RANK": "0", "WORLD_SIZE": "1"}
    folder.run("-o", "alone.pickle", text=TRAIN)
    assert "alone.pickle" in folder.files()


def test_a_place_for_no_file_takes_the_snapshot_and_no_other_is_made(folder):
    text = OUT_OF_MEMORY + "attempt()\n"
    done = folder.run("-o", "/dev/null", text=text, bytes=100 << 20)
    assert done.returncode == 1
    assert folder.files() == ["script.py"]
    assert f"script.py:{folder.mark('kept')}" in done.stderr


def test_names_made_from_the_user_s_are_tried_before_the_program_starts(folder):
    (folder.path / "out.oom.pickle").mkdir()
    done = folder.run("-o", "out.pickle", text=TRAIN)
    assert (done.returncode, done.stdout) == (2, "")
    assert "out.oom.pickle': it is a folder; choose another file with -o" in done.stderr
    done = folder.run("-o", "r.pickle", "--json", "r.torch.pickle", text=TRAIN)
    assert (done.returncode, done.stdout) == (2, "")
    assert "it is the report (--json)" in done.stderr


def test_what_cannot_be_written_at_the_end_leaves_no_half_file(folder):
    text = TRAIN + "import shutil\nshutil.rmtree('sub')\n"
    (folder.path / "sub").mkdir()
    done = folder.run("-o", "sub/out.pickle", text=text)
    assert done.returncode == 0
    assert folder.files() == ["script.py"]
    assert "strandline: cannot write torch's record: " in done.stderr


def test_without_adapters_torch_is_left_alone(folder):
    text = TRAIN + "print(torch.cuda.memory.history)\n"
    assert folder.run("--without-adapters", text=text).stdout == "trained\nNone\n"
