# SPDX-License-Identifier: Apache-2.0
"""What is written for other tools, read back by other means: a decoder of protobuf's wire format,
JSON, the pickle of the sample itself."""

import gzip
import json
import pickle
from collections import Counter, defaultdict
from pathlib import Path

import pytest
import strandline as sl
from answers import strandline
from toy_allocator import ToyAllocator, frame, snapshot_of

SAMPLES = sorted((Path(__file__).parents[3] / "shared").glob("samples/snapshots*/*.pickle"))


@pytest.fixture
def worked(write):
    """Two lines; what is freed is allocated, and not in use at the end."""
    allocator = ToyAllocator()
    inner, outer = frame("step; of", 88), frame("main", 9)
    allocator.alloc(1000, frames=[inner, outer])
    allocator.alloc(3000, frames=[inner, outer])
    gone = allocator.alloc(500, frames=[outer])
    allocator.free(gone)
    for event in allocator.events:
        event["user_metadata"] = "weights" if event["size"] == 3000 else ""
    return write(snapshot_of(allocator))


def fields(message):
    """(number, value) of a protobuf message; a length-delimited value is bytes."""
    at = 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        else:
            assert key & 7 == 2
            size = varint()
            yield key >> 3, message[at : at + size]
            at += size
    assert at == len(message)


def grouped(message):
    found = defaultdict(list)
    for number, value in fields(message):
        found[number].append(value)
    return found


def packed(data):
    """Numbers of a packed list: varints without keys."""
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number = shift = 0
    return numbers


def decoded(path):
    """{(stack outermost first, label): values by type} of a pprof profile."""
    profile = grouped(gzip.decompress(path.read_bytes()))
    texts = [text.decode() for text in profile[6]]
    assert texts[0] == ""
    types = []
    for value in profile[1]:
        entry = grouped(value)
        types.append((texts[entry[1][0]], texts[entry[2][0]]))
    functions = {}
    for function in profile[5]:
        entry = grouped(function)
        name, place = entry.get(2, [0]), entry.get(4, [0])  # a number that is 0 is left out
        functions[entry[1][0]] = (texts[name[0]], texts[place[0]])
    locations = {}
    for location in profile[4]:
        entry = grouped(location)
        line = grouped(entry[4][0])
        locations[entry[1][0]] = (*functions[line[1][0]], line.get(2, [0])[0])
    samples = {}
    for sample in profile[2]:
        entry = grouped(sample)
        labels = {}
        for label in entry[3]:
            parts = grouped(label)
            labels[texts[parts[1][0]]] = texts[parts[2][0]]
        stack = tuple(locations[n] for n in reversed(packed(entry[1][0])))
        values = dict(zip([name for name, _ in types], packed(entry[2][0]), strict=True))
        samples[stack, labels.get("label", ""), labels["device"]] = values
    return types, samples


def test_pprof_by_an_independent_decoder(worked, tmp_path):
    path = tmp_path / "peak.pb.gz"
    assert strandline("convert", worked, path, "--fraction", 1).returncode == 0
    types, samples = decoded(path)
    assert types == [
        ("alloc_objects", "count"),
        ("alloc_space", "bytes"),
        ("inuse_objects", "count"),
        ("inuse_space", "bytes"),
    ]
    main = ("main", "/home/u/train.py", 9)
    step = ("step; of", "/home/u/train.py", 88)
    keys = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
    assert {key: tuple(values[k] for k in keys) for key, values in samples.items()} == {
        ((main, step), "", "0"): (1, 1000, 1, 1000),
        ((main, step), "weights", "0"): (1, 3000, 1, 3000),
        ((main,), "", "0"): (1, 500, 0, 0),
    }


@pytest.mark.skipif(not SAMPLES, reason="no samples beside the project")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_profiles_of_real_files_add_up_to_the_peak(sample, tmp_path):
    path = tmp_path / "peak.pb.gz"
    file = sl.Snapshot.load(sample)
    file.write(path)
    file.write(tmp_path / "peak.folded")
    _, samples = decoded(path)
    held = sum(device["held"]["bytes"] for device in file.report()["devices"])
    assert sum(values["inuse_space"] for values in samples.values()) == held
    folded = (tmp_path / "peak.folded").read_text().splitlines()
    assert sum(int(line.rsplit(" ", 1)[1]) for line in folded) == held
    assert len({line.rsplit(" ", 1)[0] for line in folded}) == len(folded)


def test_folded_stacks_keep_their_separators_to_themselves(worked, tmp_path):
    path = tmp_path / "peak.folded"
    assert strandline("convert", worked, path, "--fraction", 1).returncode == 0
    assert path.read_text() == ("main (/home/u/train.py:9);step: of (/home/u/train.py:88) 4000\n")


def test_a_trace_for_perfetto(worked, tmp_path):
    path = tmp_path / "run.trace.json"
    done = strandline("convert", worked, path)
    assert done.returncode == 0 and "not kept" in done.stdout
    trace = json.loads(path.read_text())
    events = trace["traceEvents"]
    assert {e["ph"] for e in events} <= set("MCbei")
    counters = defaultdict(list)
    for event in events:
        if event["ph"] == "C":
            counters[event["name"]].append(event["args"]["bytes"])
    assert counters["requested"] == [1000, 4000, 4500, 4000]
    assert counters["taken"] == [1024, 4096, 4608, 4096]
    assert counters["reserved"] == [2 << 20]
    spans = Counter((e["cat"], e["id"], e["ph"]) for e in events if e["ph"] in "be")
    assert set(spans.values()) == {1} and len(spans) == 6
    (gone,) = [e for e in events if e["ph"] == "b" and e["args"]["requested"] == 500]
    (end,) = [e for e in events if e["ph"] == "e" and e["id"] == gone["id"]]
    assert end["ts"] - gone["ts"] == 20


@pytest.mark.skipif(not SAMPLES, reason="no samples beside the project")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_traces_of_real_files_pair_their_spans(sample, tmp_path):
    path = tmp_path / "run.trace.json"
    sl.Snapshot.load(sample).write(path)
    events = json.loads(path.read_text())["traceEvents"]
    began = Counter((e["cat"], e["id"]) for e in events if e["ph"] == "b")
    ended = Counter((e["cat"], e["id"]) for e in events if e["ph"] == "e")
    assert began == ended


KEPT = ("segments", "device_traces", "external_annotations", "host_segments", "host_traces")


def plain(value):
    """Tuples as lists: JSON has no others."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def without_defaults(record):
    """An event, a segment or a block without what a file may leave out and means nothing."""
    empty = (None, "", "N/A", [], 0, [0, 0])
    return {key: value for key, value in record.items() if value not in empty}


def comparable(snapshot):
    """What two files must share. What blocks that are free are said to have been asked for, and
    notes of the host's events, are not part of it."""
    if isinstance(snapshot, list):
        snapshot = {"segments": snapshot, "device_traces": []}
    snapshot = plain(snapshot)
    made = {key: snapshot.get(key, []) for key in KEPT}
    for key in ("device_traces", "host_traces"):
        traces = made[key]
        if traces and isinstance(traces[0], dict):
            traces = [traces]
        made[key] = [[without_defaults(event) for event in trace] for trace in traces if trace]
    for key in ("segments", "host_segments"):
        made[key] = [comparable_segment(segment) for segment in made[key]]
    made["settings"] = snapshot.get("allocator_settings", {})
    return made


SUMS = ("allocated_size", "active_size", "requested_size")


def comparable_segment(segment):
    """Sums are those of its blocks, which a made-up file may have otherwise."""
    segment = {key: value for key, value in segment.items() if key not in SUMS}
    blocks = []
    for block in segment["blocks"]:
        block = dict(block)
        if block["state"] == "inactive":
            block.pop("requested_size", None)
        blocks.append(without_defaults(block))
    return without_defaults(segment) | {"blocks": blocks}


@pytest.mark.skipif(not SAMPLES, reason="no samples beside the project")
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("suffix", ["pickle", "json"])
def test_convert_keeps_all_that_real_files_have(sample, tmp_path, suffix):
    if sample.stem == "legacy_history":
        pytest.skip("its blocks are of the form before 2023, which is written as today's")
    path = tmp_path / f"new.{suffix}"
    lost = sl.Snapshot.load(sample).write(path)
    data = path.read_bytes()
    new = comparable(pickle.loads(data) if suffix == "pickle" else json.loads(data))
    old = comparable(pickle.loads(sample.read_bytes()))
    if sample.stem == "kv_cache_labels":  # an alloc has the label of the annotate that came later
        assert lost == ["1 labels of allocs that a later annotate may have replaced"]
        for snapshot in (new, old):
            for event in snapshot["device_traces"][0]:
                event.pop("user_metadata", None)
    else:
        assert lost == []
    for key in old:
        assert new[key] == old[key], key


def test_convert_says_what_it_could_not_keep(write, tmp_path):
    allocator = ToyAllocator()
    allocator.alloc(1000)
    made = snapshot_of(allocator) | {"rank": 3}
    made["segments"][0]["npu"] = 1
    made["device_traces"][0][0]["core"] = {"id": [1, None]}
    made["device_traces"][0].append({"action": "workspace_snapshot", "addr": 5, "size": 6})
    made["external_annotations"] = [{"name": "s", "stage": "START", "device": 3, "time_us": 7}]
    done = strandline("convert", write(made), tmp_path / "new.pickle")
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == [
        "not kept: 1 values of unknown keys of segments, blocks, frames and host events",
        "not kept: 1 values of unknown keys of the whole",
    ]
    new = pickle.loads((tmp_path / "new.pickle").read_bytes())
    assert new["device_traces"][0][0]["core"] == {"id": [1, None]}
    other = new["device_traces"][0][-1]
    assert (other["action"], other["addr"], other["size"]) == ("workspace_snapshot", 5, 6)
    assert new["external_annotations"] == made["external_annotations"]
    assert new["allocator_settings"] == made["allocator_settings"]


def test_formats_by_name_and_those_that_are_none(worked, tmp_path):
    path = tmp_path / "profile"
    assert strandline("convert", worked, path, "--to", "pprof").returncode == 0
    assert decoded(path)[1]
    done = strandline("convert", worked, path, "--to", "csv")
    assert done.returncode == 2 and "pickle, slt, json" in done.stderr
    with pytest.raises(ValueError, match="chrome"):
        sl.Snapshot.load(worked).write(path, "csv")
    with pytest.raises(sl.DeviceError, match="nowhere"):
        sl.Snapshot.load(worked).write("/nowhere/x.pickle")
