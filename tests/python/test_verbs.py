# SPDX-License-Identifier: Apache-2.0
"""The verbs on files, as a person at a terminal and as a program that reads JSON."""

import json
import pickle

import pytest
from answers import answer, strandline
from snapshot_kinds import Program, differences, frame, snapshot

USER = frame("step", 88)
LIBRARY = frame("linear", 7, "/usr/lib/python3.11/site-packages/torch/nn.py")


@pytest.fixture
def program():
    """1,000 from before the trace, 3,000 by a line at the peak, 2,000 of them freed again."""
    program = Program()
    program.alloc(1000, frames=[frame("load", 5)])
    first = len(program.events)
    program.alloc(1000, frames=[LIBRARY, USER])
    gone = program.alloc(2000, frames=[LIBRARY, USER])
    program.free(gone)
    program.first = first
    return program


@pytest.fixture
def path(program, tmp_path):
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps(snapshot(program, first=program.first)))
    return path


def test_check_tells_the_books(path, program):
    (device,) = answer("check", path)["devices"]
    assert differences(device, program.facts(program.first)) == {}
    text = strandline("check", path).stdout
    assert "device 0: starts-midway" in text
    assert "residual               0: the trace and the blocks agree" in text


def test_check_exits_1_on_books_that_do_not_add_up(program, tmp_path):
    program.event("alloc", next(iter(program.live)), 10, [])
    bad = tmp_path / "bad.pickle"
    bad.write_bytes(pickle.dumps(snapshot(program)))
    (device,) = answer("check", bad, status=1)["devices"]
    assert device["verdict"] == "inconsistent"


def test_a_file_that_cannot_be_read_is_one_line_and_status_2(tmp_path):
    bad = tmp_path / "bad.pickle"
    bad.write_bytes(b"\x80\x04cos\nsystem\n.")
    for words in (["check", bad], ["report", bad], ["check", tmp_path / "missing"]):
        done = strandline(*words)
        assert (done.returncode, done.stdout) == (2, "")
        (line,) = done.stderr.splitlines()
        assert line.startswith("strandline: ")
    assert "GLOBAL" in strandline("check", bad).stderr
    assert "(byte 2)" in strandline("check", bad).stderr


def test_report_names_the_users_line_and_what_is_older(path):
    (device,) = answer("report", path)["devices"]
    assert device["is_peak"] and device["level_bytes"] == 4000
    assert device["before_trace"] == {"bytes": 1000, "requested_bytes": 1000, "blocks": 1}
    lines = device["report"]["by_line"]
    told = [(line["line"]["function"], line["line"]["line"], line["bytes"]) for line in lines]
    assert told == [("step", 88, 3000), ("load", 5, 1000)]
    text = strandline("report", path).stdout
    assert "3.9 KiB requested, 3 blocks, after event 1" in text
    assert "train.py:88" in text


def test_report_fails_over_a_budget_by_its_exit_status(path):
    assert strandline("report", path, "--fail-over", "4000B").returncode == 0
    assert strandline("report", path, "--fail-over", "3.9KiB").returncode == 1
    assert strandline("report", path, "--fail-over", "many").returncode == 2


def test_at_tells_any_moment(path):
    (start,) = answer("at", path, "--event", -1)["devices"]
    assert (start["level_bytes"], start["after_event"]) == (1000, -1)
    (end,) = answer("at", path, "--fraction", 1)["devices"]
    assert end["level_bytes"] == 2000
    assert strandline("at", path, "--event", 99).returncode == 2


def test_diff_ranks_growth_by_stack(path, program, tmp_path):
    program.alloc(9000, frames=[frame("more", 3)])
    after = tmp_path / "after.pickle"
    after.write_bytes(pickle.dumps(snapshot(program)))
    told = answer("diff", path, after)
    assert (told["a_peak"]["bytes"], told["b_peak"]["bytes"]) == (4000, 11000)
    grown = [(s["line"]["function"], s["growth_bytes"]) for s in told["stacks"]]
    assert grown == [("more", 9000), ("load", 0), ("step", -2000)]
    assert strandline("diff", path, after, "--fail-growth", "200%").returncode == 0
    assert strandline("diff", path, after, "--fail-growth", "100%").returncode == 1
    assert "only in B" in strandline("diff", path, after).stdout


def test_leaks_are_what_the_trace_allocated_and_kept(path):
    (leak,) = answer("leaks", path)["stacks"]
    assert (leak["bytes"], leak["blocks"], leak["allocs"]) == (1000, 1, 2)
    assert leak["line"]["function"] == "step"


def test_events_are_filtered(path):
    told = answer("events", path, "--action", "alloc", "--frame", "linear", "--min-size", 1500)
    assert told["matching"] == 1
    assert told["events"][0]["size"] == 2000
    assert "… 3 more" in strandline("events", path, "--top", 1).stdout


@pytest.mark.parametrize("suffix", ["pickle", "json"])
def test_convert_writes_the_same_anew(path, program, tmp_path, suffix):
    target = tmp_path / f"new.{suffix}"
    done = strandline("convert", path, target)
    assert (done.returncode, done.stderr) == (0, "")
    made = snapshot(program, first=program.first)
    if suffix == "pickle":
        assert answer("check", target)["devices"] == answer("check", path)["devices"]
        told = pickle.loads(target.read_bytes())
    else:
        told = json.loads(target.read_text())
    keys = ("action", "addr", "size", "time_us", "frames")
    (trace,) = told["device_traces"]
    assert [{k: e[k] for k in keys} for e in trace] == [
        {k: e[k] for k in keys} for e in made["device_traces"][0]
    ]
    for ours, theirs in zip(told["segments"], made["segments"], strict=True):
        assert ours["blocks"] == theirs["blocks"]


@pytest.mark.parametrize(
    "verb", "check report at diff leaks fragmentation oom events slice convert completion".split()
)
def test_every_verb_has_help_with_an_example(verb):
    done = strandline(verb, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"Example: strandline {verb} " in done.stdout
    assert f"  {verb}" in strandline("--help").stdout
