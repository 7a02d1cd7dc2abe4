# SPDX-License-Identifier: Apache-2.0
"""Every field of every event of the public samples, against CPython's pickle: what was read is
written anew and loaded again. Ranges of them, and texts that a terminal must not see."""

import json
import pathlib
import pickle
import subprocess
import sys

import pytest
import strandline as sl
from snapshot_kinds import Program, frame, snapshot

SAMPLES = pathlib.Path(__file__).resolve().parents[3] / "shared" / "samples"
FILES = sorted(
    [*SAMPLES.glob("snapshots/*.pickle"), *SAMPLES.glob("snapshots_torch_2_15/*.pickle")]
)
KEYS = ("action", "addr", "device_free", "size", "stream", "time_us", "pool_id", "frames")


def command(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "strandline", *words], capture_output=True)


@pytest.fixture(params=FILES or [None], ids=lambda path: path.name if path else "none")
def sample(request):
    if request.param is None:
        pytest.skip("no samples beside the project")
    return request.param


def told(event: dict, has_annotate: bool) -> dict:
    fields = {key: event[key] for key in KEYS if key in event}
    fields.setdefault("stream", 0)
    fields.setdefault("time_us", 0)
    fields.setdefault("frames", [])
    fields["pool_id"] = tuple(fields.get("pool_id", (0, 0)))
    fields["context"] = event.get("compile_context") or ""
    if not has_annotate and isinstance(event.get("user_metadata", ""), str):
        fields["metadata"] = event.get("user_metadata", "")
    return fields


def test_every_field_of_every_event_is_read(sample, tmp_path):
    written = tmp_path / "written.pickle"
    done = command("convert", str(sample), str(written))
    assert done.returncode == 0, done.stderr
    original = pickle.loads(sample.read_bytes())
    traces = original["device_traces"] if isinstance(original, dict) else []
    again = pickle.loads(written.read_bytes())["device_traces"]
    for device, trace in enumerate(traces):
        has_annotate = any(event["action"] == "annotate" for event in trace)
        read = again[device] if device < len(again) else []
        assert len(read) == len(trace)
        for number, (before, after) in enumerate(zip(trace, read, strict=True)):
            assert told(after, has_annotate) == told(before, has_annotate), (device, number)


def test_host_memory_is_read_beside_the_devices():
    path = SAMPLES / "snapshots_torch_2_15" / "pinned_host.pickle"
    if not path.exists():
        pytest.skip("no samples beside the project")
    original = pickle.loads(path.read_bytes())
    books = sl.Snapshot.load(path).check()
    traces = original["host_traces"]
    flat = traces if not traces or isinstance(traces[0], dict) else traces[0]
    assert books["host_events"] == len(flat)
    assert books["host_reserved"] == sum(s["total_size"] for s in original["host_segments"])
    # A range of events is one of the devices' traces.
    assert sl.Snapshot.load(path, events=(1, 2)).check()["host_events"] == len(flat)


def test_a_range_is_read_with_the_state_before_it(tmp_path):
    program = Program(seed=3).run(2000)
    path = tmp_path / "file.pickle"
    path.write_bytes(pickle.dumps(snapshot(program)))
    first, end = 700, 1500
    (device,) = sl.Snapshot.load(path, events=(first, end)).check()["devices"]
    born = {}
    for number, event in enumerate(program.events[:first]):
        if event["action"] == "alloc":
            born[event["addr"]] = number
        elif event["action"] == "free_completed":
            del born[event["addr"]]
    levels = program.levels[first : end + 1]
    assert device["range"] == {
        "first_event": first,
        "carried": len(born),
        "in_file": len(program.events),
    }
    assert device["events"] == end - first
    assert device["active_peak"] == max(levels)
    assert device["active_peak_after_event"] == first + levels.index(max(levels)) - 1
    assert device["active_end"] == levels[-1]
    assert (device["residual"], device["orphan_frees"], device["lost_frees"]) == (0, 0, 0)
    obtained = sum(e["action"] == "segment_alloc" for e in program.events[:end])
    assert device["segments"] == obtained


def test_the_verbs_take_ranges_and_number_events_as_the_file_does(tmp_path):
    program = Program(seed=4).run(500)
    path = tmp_path / "file.pickle"
    path.write_bytes(pickle.dumps(snapshot(program)))
    done = command("events", str(path), "--events", "100:103", "--json")
    assert done.returncode == 0, done.stderr
    listed = json.loads(done.stdout)["events"]
    assert [event["event"] for event in listed] == [100, 101, 102]
    assert [event["address"] for event in listed] == [e["addr"] for e in program.events[100:103]]
    done = command("at", str(path), "--events", "100:300", "--event", "250", "--json")
    assert done.returncode == 0, done.stderr
    (device,) = json.loads(done.stdout)["devices"]
    assert (device["after_event"], device["level_bytes"]) == (250, program.levels[251])
    start = program.events[0]["time_us"]
    done = command("check", str(path), "--time", f"{start + 50}:", "--json")
    assert json.loads(done.stdout)["devices"][0]["range"]["first_event"] == 5
    done = command("check", str(path), "--time", "0.05ms:", "--json")
    assert json.loads(done.stdout)["devices"][0]["range"]["first_event"] == 5


@pytest.mark.parametrize("words", [["--events", "5"], ["--events", "a:"], ["--time", "3 weeks:"]])
def test_a_range_that_is_none_is_told(tmp_path, words):
    path = tmp_path / "file.pickle"
    path.write_bytes(pickle.dumps(snapshot(Program().run(5))))
    done = command("check", str(path), *words)
    assert done.returncode == 2
    assert words[1].split(":")[0].encode() in done.stderr


def test_nothing_in_a_file_drives_the_terminal(tmp_path):
    nasty = "\x1b]0;owned\x07\x1b[2J\r\n\x9b31m\u202e"
    program = Program()
    at = program.alloc(1 << 20, frames=[frame("f" + nasty, 3, "/home/u/" + nasty + "train.py")])
    for event in program.events:
        event["user_metadata"] = "label" + nasty
        event["key" + nasty] = 1
    program.event("action" + nasty, at, 5, [])
    path = tmp_path / ("file" + nasty.replace("\n", "") + ".pickle")
    path.write_bytes(pickle.dumps(snapshot(program)))
    for words in (
        ["report", "--call-tree"],
        ["check"],
        ["leaks"],
        ["events"],
        ["at", "--fraction", "1"],
        ["report", "--fail-over", "1B", "--events", "0:"],
    ):
        done = command(words[0], str(path), *words[1:])
        shown = (done.stdout + done.stderr).decode()
        assert not {c for c in shown if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)}, words
        assert "\u202e" not in shown
        assert "owned" in shown
    done = command("diff", str(path), str(path))
    assert "\x1b" not in done.stdout.decode()
    done = command("report", "missing\x1b[2J")
    assert b"\x1b" not in done.stderr and b"missing" in done.stderr


def test_the_line_of_a_block_is_the_innermost_python_line_of_the_user(tmp_path):
    path = SAMPLES / "snapshots" / "training.pickle"
    if not path.exists():
        pytest.skip("no samples beside the project")
    report = sl.Snapshot.load(path).report()["devices"][0]["report"]
    places = {row["line"]["file"] for row in report["by_line"] if row["line"]}
    assert any(place.endswith(".py") for place in places)
    mixed = Program()
    script = frame("step", 7, "/home/u/train.py")
    mixed.alloc(1 << 20, frames=[frame("empty", 3, "/src/kernel.cpp"), script])
    mixed.alloc(1 << 19, frames=[frame("main", 9, "/src/main.cpp")])
    written = tmp_path / "mixed.pickle"
    written.write_bytes(pickle.dumps(snapshot(mixed)))
    (device,) = sl.Snapshot.load(written).report()["devices"]
    lines = [row["line"] for row in device["report"]["by_line"]]
    assert lines == [
        {"file": "/home/u/train.py", "line": 7, "function": "step"},
        {"file": "/src/main.cpp", "line": 9, "function": "main"},
    ]
