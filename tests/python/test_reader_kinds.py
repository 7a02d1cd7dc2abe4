# SPDX-License-Identifier: Apache-2.0
"""The reader on snapshots of kinds that no public sample has, against books kept by their maker."""

import gzip
import io
import os
import pickle
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import strandline as sl
from snapshot_kinds import Program, differences, frame, snapshot

BENCH = Path(__file__).parents[2] / "bench" / "snapshot_read" / "run"


@pytest.fixture
def load(tmp_path):
    """Writes a value as a file and reads it back."""

    def load(value, protocol=4, pack=None, **part):
        data = value if isinstance(value, bytes) else pickle.dumps(value, protocol)
        path = tmp_path / "snapshot.pickle"
        path.write_bytes(pack(data) if pack else data)
        return sl.Snapshot.load(path, **part)

    return load


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_every_protocol_tells_the_same(load, protocol):
    program = Program().run(4000)  # lists past a batch of 1000
    (device,) = load(snapshot(program), protocol).check()["devices"]
    assert differences(device, program.facts()) == {}


@pytest.mark.parametrize("protocol", [0, 1, 2, 4])
def test_the_slow_pure_python_writer_is_read_too(load, protocol):
    program = Program(seed=7).run(1500)
    data = pickle._dumps(snapshot(program), protocol)
    (device,) = load(data).check()["devices"]
    assert differences(device, program.facts()) == {}


class InBatches(pickle._Pickler):
    """Hands over so many items of a dictionary at once, single ones by SETITEM and SETITEMS in
    turn, as other writers may."""

    def __init__(self, file, protocol, batch):
        super().__init__(file, protocol)
        self._batch = batch

    def _batch_setitems(self, items, *_):
        items = list(items)
        for at in range(0, len(items), self._batch):
            some = items[at : at + self._batch]
            is_single = len(some) == 1 and at % 2 == 0
            if not is_single:
                self.write(pickle.MARK)
            for key, value in some:
                self.save(key)
                self.save(value)
            self.write(pickle.SETITEM if is_single else pickle.SETITEMS)


def pickled_in_batches(value, protocol, batch):
    file = io.BytesIO()
    InBatches(file, protocol, batch).dump(value)
    assert pickle.loads(file.getvalue()) == value
    return file.getvalue()


@pytest.mark.parametrize("protocol", [1, 2, 4])
@pytest.mark.parametrize("batch", [1, 2, 3, 7, 1000])
def test_items_of_a_dictionary_may_come_in_any_number_of_batches(load, protocol, batch):
    programs = [Program(seed=13 + d, device=d).run(400) for d in range(2)]
    made = snapshot(*programs)
    made["segments"][0]["note"] = {f"key {i}": i for i in range(2500)}
    data = pickled_in_batches(made, protocol, batch)
    devices = load(data).check()["devices"]
    assert [differences(d, p.facts()) for d, p in zip(devices, programs, strict=True)] == [{}, {}]
    # A part is the same part, so each event is known by its place.
    asked = {"events": (300, 500), "device": 1}
    assert load(data, **asked).check().devices == load(made, **asked).check().devices


@pytest.mark.parametrize("count", [999, 1000, 1001, 2000, 2500])
def test_large_dictionaries_are_one_however_a_writer_splits_them(load, tmp_path, count):
    made = snapshot(Program().run(3))
    made["allocator_settings"] = {f"setting {i}": i for i in range(count)}
    made["device_traces"][0][0] |= {f"key {i}": i for i in range(count)}
    for data in (pickle.dumps(made), pickled_in_batches(made, 4, 1)):
        load(data).write(tmp_path / "again.pickle")
        again = pickle.loads((tmp_path / "again.pickle").read_bytes())
        assert again["allocator_settings"] == made["allocator_settings"]
        assert all(again["device_traces"][0][0][f"key {i}"] == str(i) for i in range(count))


@pytest.mark.parametrize("first", [1, 500, 2999])
def test_a_wrapped_ring_starts_midway_and_adds_up(load, first):
    program = Program(seed=2).run(3000)
    (device,) = load(snapshot(program, first=first)).check()["devices"]
    assert differences(device, program.facts(first)) == {}


def test_devices_keep_apart_though_their_addresses_are_the_same(load):
    programs = [Program(seed=3 + d, device=d).run(500 + 100 * d) for d in range(3)]
    devices = load(snapshot(*programs)).check()["devices"]
    assert [differences(d, p.facts()) for d, p in zip(devices, programs, strict=True)] == [{}] * 3


@pytest.mark.parametrize("base", [2**55, 2**63, 2**64 - 2**40, 2**64, 2**90])
def test_addresses_of_any_width_keep_their_identity(load, base):
    program = Program(seed=5, base=base).run(800)
    facts = program.facts()
    if base >= 2**64:  # blocks cannot touch where no 64 bits tell how far they are apart
        for key in ("broken_segments", "verdict"):
            facts.pop(key)
    (device,) = load(snapshot(program)).check()["devices"]
    assert differences(device, facts) == {}


def test_a_bare_list_of_segments_is_a_state_without_history(load):
    program = Program(seed=6).run(300)
    told = load(snapshot(program)["segments"]).check()
    assert told["keys"] == ["device_traces", "segments"]
    (device,) = told["devices"]
    assert device["verdict"] == "state-only"
    assert device["active_end"] == program.levels[-1] == device["active_start"]


def test_gzip_is_read_by_content_in_several_members_too(load):
    program = Program(seed=8).run(2000)
    data = pickle.dumps(snapshot(program))
    for pack in (gzip.compress, lambda d: gzip.compress(d[:1000]) + gzip.compress(d[1000:])):
        (device,) = load(data, pack=pack).check()["devices"]
        assert differences(device, program.facts()) == {}


def test_zstd_is_read_by_content(load):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow makes the file")
    program = Program(seed=9).run(2000)
    data = pickle.dumps(snapshot(program))
    pack = pyarrow.Codec("zstd").compress
    for packed in (
        lambda d: pack(d, asbytes=True),
        lambda d: pack(d[:99], True) + pack(d[99:], True),
    ):
        (device,) = load(data, pack=packed).check()["devices"]
        assert differences(device, program.facts()) == {}


def test_packed_files_cut_short_or_damaged_are_refused(load):
    packed = gzip.compress(pickle.dumps(snapshot(Program().run(500))))
    with pytest.raises(sl.FormatError, match="cut short"):
        load(packed[:-9])
    damaged = packed[:2000] + bytes([packed[2000] ^ 0xFF]) + packed[2001:]
    with pytest.raises(sl.FormatError):
        load(damaged)


def test_every_prefix_of_a_pickle_is_refused_with_its_offset(load):
    data = pickle.dumps(snapshot(Program().run(3)))
    for length in range(len(data)):
        with pytest.raises(sl.FormatError) as error:
            load(data[:length])
        assert error.value.offset <= length


def test_annotate_gives_the_whole_life_its_label(load):
    program = Program()
    at = program.alloc(1000)
    program.event("annotate", at, 1000, [])
    program.events[-1]["user_metadata"] = "kv cache"
    (device,) = load(snapshot(program)).report()["devices"]
    (label,) = device["report"]["by_label"]
    assert (label["name"], label["bytes"]) == ("kv cache", 1000)


def test_unknown_keys_and_actions_are_kept_and_counted(load):
    program = Program()
    at = program.alloc(1000)
    program.event("workspace_snapshot", at, 5, [])
    for event in program.events:
        event["npu_core"] = {"id": 3, "of": [1, 2, None, 1.5, True]}
    made = snapshot(program) | {"rank": 5}
    told = load(made).check()
    assert told["unknown_keys"] == {"npu_core": 3, "rank": 1}
    assert told["devices"][0]["actions"] == {
        "alloc": 1,
        "segment_alloc": 1,
        "workspace_snapshot": 1,
    }
    assert told["devices"][0]["verdict"] == "complete"


def test_missing_keys_are_no_error(load):
    program = Program().run(50)
    for event in program.events:
        for key in ("frames", "time_us", "stream", "compile_context", "user_metadata"):
            del event[key]
    made = snapshot(program)
    del made["allocator_settings"], made["external_annotations"]
    (device,) = load(made).check()["devices"]
    assert device["active_end"] == program.levels[-1]
    assert device["verdict"] == "complete"


def test_a_double_alloc_and_a_lost_free_are_told(load):
    program = Program()
    at = program.alloc(1000)
    program.event("alloc", at, 1000, [])
    (device,) = load(snapshot(program)).check()["devices"]
    assert (device["double_allocs"], device["residual"]) == (1, -1000)
    assert device["verdict"] == "inconsistent"

    program = Program()
    lost = program.alloc(3000)
    del program.live[lost]
    (device,) = load(snapshot(program)).check()["devices"]
    assert (device["lost_frees"], device["residual"]) == (1, -3000)
    assert device["verdict"] == "inconsistent"


def test_stacks_are_read_innermost_first_however_deep(load):
    program = Program()
    deep = [frame(f"f{i}", i) for i in range(3000)]
    program.alloc(1 << 20, frames=deep)
    read = load(snapshot(program))
    assert read.check()["devices"][0]["max_stack_depth"] == 3000
    report = read.report()["devices"][0]["report"]
    (line,) = report["by_line"]
    depth, calls = 0, report["call_tree"]
    while calls:
        depth, calls = depth + 1, calls[0]["children"]
    assert depth == 256  # of the 3000: a tree that readers of JSON can take
    assert line["line"] == {"file": "/home/u/train.py", "line": 0, "function": "f0"}


class Evil:
    def __reduce__(self):
        return (os.system, ("touch strandline_was_here",))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_with_code_is_refused_and_nothing_runs(load, tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(sl.FormatError, match="is refused: a snapshot has no code to run"):
        load({"segments": [Evil()], "device_traces": []}, protocol)
    assert not (tmp_path / "strandline_was_here").exists()


def test_standard_input_is_read_in_pieces(tmp_path):
    program = Program(seed=11).run(3000)
    data = pickle.dumps(snapshot(program))
    done = subprocess.run(
        [sys.executable, "-m", "strandline", "check", "-"], input=data, capture_output=True
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"complete" in done.stdout


@pytest.mark.parametrize("megabytes", [64, pytest.param(1000, marks=pytest.mark.full)])
def test_large_files_are_read(tmp_path, megabytes):
    bench = runpy.run_path(str(BENCH))
    if not bench["SAMPLE"].exists():
        pytest.skip(f"no {bench['SAMPLE']}")
    path = tmp_path / "large.pickle"
    events, _ = bench["make"](path, bench["SAMPLE"], megabytes * 1_000_000)
    assert path.stat().st_size > megabytes * 900_000
    trace = max(pickle.loads(bench["SAMPLE"].read_bytes())["device_traces"], key=len)
    repeats = events // len(trace)
    (device,) = sl.Snapshot.load(path).check()["devices"]
    actions = Counter(event["action"] for event in trace)
    assert device["actions"] == {name: count * repeats for name, count in actions.items()}
    sizes = {"alloc": 1, "free_completed": -1}
    change = sum(sizes.get(event["action"], 0) * event["size"] for event in trace)
    assert (device["active_start"], device["active_end"]) == (-repeats * change, 0)
    assert device["max_stack_depth"] == max(len(event["frames"]) for event in trace)
