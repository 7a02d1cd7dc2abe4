# SPDX-License-Identifier: Apache-2.0
"""Filters, own frames, gates, completion: what all verbs share."""

import pickle
import subprocess

import pytest
import strandline as sl
from answers import answer, strandline
from toy_allocator import ToyAllocator, frame, snapshot_of

LIBRARY = "/usr/lib/python3.11/site-packages/torch/nn.py"


@pytest.fixture
def path(tmp_path):
    """1000 bytes by step through a library, 3000 labelled, both live; 500 freed again."""
    allocator = ToyAllocator()
    allocator.alloc(1000, frames=[frame("linear", 7, LIBRARY), frame("step", 88)])
    allocator.alloc(3000, stream=7, frames=[frame("load", 5)])
    allocator.free(allocator.alloc(500, frames=[frame("gone", 6)]))
    for event in allocator.events:
        event["user_metadata"] = "data.x" if event["size"] == 3000 else ""
    made = tmp_path / "run.pickle"
    made.write_bytes(pickle.dumps(snapshot_of(allocator)))
    return made


def lines(document):
    return [line["line"]["function"] for line in document["devices"][0]["report"]["by_line"]]


@pytest.mark.parametrize(
    ("text", "functions"),
    [
        ("frame~nn.py", ["step"]),
        ("frame=train.py:5", ["load"]),
        ("label=data.x", ["load"]),
        ("size<=1KiB", ["step"]),
        ("not label~data", ["step"]),
        ("stream=7 or frame=step", ["load", "step"]),
        ("device=1", []),
    ],
)
def test_report_and_at_show_what_matches(path, text, functions):
    told = answer("at", path, "--fraction", 1, "--filter", text)
    assert lines(told) == functions
    assert told["devices"][0]["held"]["bytes"] == 4000
    at_peak = lines(answer("report", path, "--filter", f"({text}) size>=600"))
    assert at_peak == functions


def test_leaks_diff_events_and_oom_take_it_too(path):
    (leak,) = answer("leaks", path, "--filter", "frame=load")["stacks"]
    assert leak["line"]["function"] == "load"
    told = answer("diff", path, "--event-a", -1, "--fraction-b", 1, "--filter", "size>=2KiB")
    (grown,) = told["stacks"]
    assert (grown["line"]["function"], grown["growth_bytes"]) == ("load", 3000)
    told = answer("events", path, "--filter", "action=alloc frame~train.py size>600")
    assert [e["size"] for e in told["events"]] == [1000, 3000]
    (told,) = answer("oom", path, "--size", 1, "--filter", "frame=load")["failures"]
    assert [h["line"]["function"] for h in told["holders"]] == ["load"]


def test_a_filter_that_is_none_is_refused_before_anything_is_read(path):
    for verb in ("report", "at", "leaks", "events", "fragmentation", "oom"):
        done = strandline(verb, path.parent / "missing", "--filter", "size>=1MiB sizee=3")
        assert (done.returncode, done.stdout) == (2, "")
        assert "character 12" in done.stderr and '"sizee=3"' in done.stderr
    with pytest.raises(ValueError, match="character 1;"):
        sl.Snapshot.load(path).report(filter="?")


def test_own_files_decide_which_line_is_shown(path):
    told = answer("at", path, "--fraction", 1, "--own", "torch/")
    named = [line["line"] and line["line"]["function"] for line in by_line(told)]
    assert named == [None, "linear"]
    told = answer("at", path, "--fraction", 1, "--own", "*/train.py")
    assert [line["line"]["function"] for line in by_line(told)] == ["load", "step"]


def by_line(document):
    return document["devices"][0]["report"]["by_line"]


def test_gates_say_why_on_standard_error(path):
    done = strandline("report", path, "--fail-over", "4KiB")
    assert done.returncode == 1
    assert "device 0 holds 4500 bytes, over the limit of 4KiB (4096 bytes)" in done.stderr
    assert strandline("report", path, "--fail-over", "4KiB", "--filter", "size>600").returncode == 0
    done = strandline("diff", path, "--event-a", 1, "--fraction-b", 1, "--fail-growth", "5%")
    assert done.returncode == 1
    assert "grew from 1000 to 4000 bytes" in done.stderr


def test_diff_needs_two_sides(path):
    done = strandline("diff", path)
    assert done.returncode == 2 and "second file" in done.stderr


def test_typed_answers(path):
    file = sl.Snapshot.load(path)
    assert file.check().devices[0].verdict == "complete"
    assert file.report(fraction=1).devices[0].held.bytes == 4000
    assert file.report(fraction=1).devices[0].report.by_line[0].line.function == "load"
    assert file.leaks(filter="size>600").stacks[0].bytes == 3000
    grown = file.diff(event_a=-1, fraction_b=1)
    assert (grown.a_peak.bytes, grown.b_peak.bytes) == (0, 4000)
    assert file.diff(file, fraction_a=1, fraction_b=1).stacks[0].growth_bytes == 0
    assert file.events(filter="action=alloc", top=2).events[1].size == 3000
    assert file.slice(events=(0, 2)).check().devices[0].active_end == 1000
    for shown in (file.check(), file.report(), file.leaks(), grown, file.events(), file.oom()):
        assert "<table" in shown._repr_html_() or "none" in shown._repr_html_()
        assert shown.to_dict()["version"] == 1


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda f: f.report(event=99), IndexError),
        (lambda f: f.report(fraction=2), IndexError),
        (lambda f: f.report(event=1, fraction=1), ValueError),
        (lambda f: f.report(device=-1), ValueError),
        (lambda f: f.report(own="train.py"), TypeError),
        (lambda f: f.report(fraction="half"), TypeError),
        (lambda f: f.diff("other.pickle"), TypeError),
        (lambda f: f.oom(event=1), ValueError),
        (lambda f: f.slice(events=(5, 2)), ValueError),
        (lambda f: f.slice(events=5), TypeError),
    ],
)
def test_values_that_cannot_be_used(path, call, error):
    with pytest.raises(error):
        call(sl.Snapshot.load(path))


def complete(words):
    """What bash would offer for the last of the words."""
    script = strandline("completion", "bash").stdout
    array = " ".join(f"'{word}'" for word in words)
    program = (
        f"{script}\nCOMP_WORDS=({array})\nCOMP_CWORD={len(words) - 1}\n"
        '_strandline\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(["bash", "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_bash_completes_verbs_options_and_files(path, monkeypatch):
    monkeypatch.chdir(path.parent)
    assert complete(["strandline", "frag"]) == ["fragmentation"]
    assert {"run", "report", "slice", "completion"} <= set(complete(["strandline", ""]))
    assert complete(["strandline", "report", "--fail"]) == ["--fail-over"]
    assert complete(["strandline", "run", "--max"]) == ["--max-entries"]
    assert complete(["strandline", "report", "ru"]) == ["run.pickle"]


@pytest.mark.parametrize(("shell", "marks"), [("zsh", "#compdef"), ("fish", "complete -c")])
def test_the_other_shells_have_a_script_too(shell, marks):
    done = strandline("completion", shell)
    assert done.returncode == 0 and done.stdout.startswith(("#", marks))
    assert "fragmentation" in done.stdout and "fail-over" in done.stdout
    assert strandline("completion", "tcsh").returncode == 2
