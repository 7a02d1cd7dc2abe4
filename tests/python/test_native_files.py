# SPDX-License-Identifier: Apache-2.0
"""Public pickles through the native file and back, by the independent oracle; all ways in."""

import gzip
import importlib.util
import json
import pickle
import subprocess
from pathlib import Path

import pytest
import strandline as sl
from program_folder import STRANDLINE
from snapshot_kinds import Program, differences, snapshot

SHARED = Path(__file__).resolve().parents[3] / "shared"
ORACLE = SHARED / "tools" / "snapshot_oracle.py"
SAMPLES = sorted(
    path
    for folder in ("snapshots", "snapshots_torch_2_15")
    for path in (SHARED / "samples" / folder).glob("*.pickle")
)


def strandline(*words, **options):
    return subprocess.run(
        [*STRANDLINE, *map(str, words)], capture_output=True, timeout=300, **options
    )


@pytest.fixture(scope="module")
def oracle():
    if not ORACLE.exists():
        pytest.skip("the oracle of the shared tools is absent")
    spec = importlib.util.spec_from_file_location("snapshot_oracle", ORACLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_pickle_comes_back_from_the_native_file(path, oracle, tmp_path):
    native, again = tmp_path / "x.slt", tmp_path / "x.pickle"
    for source, target in ((path, native), (native, again)):
        done = strandline("convert", source, target)
        assert done.returncode == 0, done.stderr
    facts, expected = oracle.facts(str(again)), oracle.facts(str(path))
    assert set(facts.pop("keys")) >= set(expected.pop("keys"))  # all six are written
    facts.pop("file"), expected.pop("file")
    for ours, theirs in zip(facts["devices"], expected["devices"], strict=True):
        for key in ("live_without_alloc_event", "lost_frees"):
            if theirs[key] is None:  # blocks before 2023 have no addresses; those written have
                ours.pop(key), theirs.pop(key)
    assert facts == expected
    assert native.stat().st_size < path.stat().st_size


def test_without_the_samples_a_made_one_comes_back(tmp_path):
    program = Program(seed=31).run(3000)
    source = tmp_path / "made.pickle"
    source.write_bytes(pickle.dumps(snapshot(program)))
    strandline("convert", source, tmp_path / "made.slt")
    strandline("convert", tmp_path / "made.slt", tmp_path / "again.pickle")
    for name in ("made.slt", "again.pickle"):
        (device,) = sl.Snapshot.load(tmp_path / name).check()["devices"]
        assert differences(device, program.facts()) == {}
    keys = ("action", "addr", "size", "time_us", "frames")
    traces = [
        [
            {key: event[key] for key in keys}
            for event in pickle.loads(path.read_bytes())["device_traces"][0]
        ]
        for path in (source, tmp_path / "again.pickle")
    ]
    assert traces[0] == traces[1]


@pytest.fixture
def native(tmp_path):
    program = Program(seed=32).run(2000)
    source = tmp_path / "made.pickle"
    source.write_bytes(pickle.dumps(snapshot(program)))
    strandline("convert", source, tmp_path / "made.slt")
    return tmp_path / "made.slt", program.facts()


def test_the_native_file_is_known_by_its_bytes_whatever_its_name(native, tmp_path):
    path, facts = native
    (tmp_path / "run.pickle").write_bytes(path.read_bytes())
    (tmp_path / "run.slt.gz").write_bytes(gzip.compress(path.read_bytes()))
    for name in ("run.pickle", "run.slt.gz"):
        (device,) = sl.Snapshot.load(tmp_path / name).check()["devices"]
        assert differences(device, facts) == {}


def test_the_native_file_is_read_from_standard_input(native):
    path, facts = native
    done = strandline("check", "-", "--json", input=path.read_bytes())
    assert (done.returncode, done.stderr) == (0, b"")
    assert differences(json.loads(done.stdout)["devices"][0], facts) == {}


def test_every_verb_answers_from_a_native_file_as_from_the_pickle(native):
    path, _ = native
    for verb in ("report", "check", "leaks", "events", "at"):
        more = ["--fraction", "0.5"] if verb == "at" else []
        told = []
        for file in (path, path.with_suffix(".pickle")):
            done = strandline(verb, file, "--json", *more)
            assert done.returncode == 0, done.stderr
            told.append(json.loads(done.stdout))
            told[-1].pop("file")
        assert told[0] == told[1], verb


def test_a_cut_file_is_said_to_be_on_standard_error(native, tmp_path):
    path, _ = native
    (tmp_path / "cut.slt").write_bytes(path.read_bytes()[:-30])
    done = strandline("check", tmp_path / "cut.slt")
    assert b"the file was not closed" in done.stderr
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 3] ^= 1
    (tmp_path / "damaged.slt").write_bytes(damaged)
    done = strandline("check", tmp_path / "damaged.slt")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"checksum" in done.stderr and b"(byte " in done.stderr
