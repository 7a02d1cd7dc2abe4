# SPDX-License-Identifier: Apache-2.0
"""memory_report: the peak as values, as text, and as JSON by its schema."""

import json
import os
from pathlib import Path

import pytest
import strandline as sl

SCHEMA = Path(__file__).parents[2] / "schema" / "peak_report.schema.json"


def weights(heap):
    return heap.alloc(6 << 20, 6_000_000, op="Normal", shape=[1500, 1000], dtype="float32")


def activations(heap):
    return [heap.alloc(1 << 20, op="Tanh", shape=[512, 512], dtype="float32") for _ in range(2)]


@pytest.fixture
def peak(recording):
    """8 MiB at the peak, 6 of them still live after it."""
    with sl.memory_label("parameters"):
        weights(recording)
    for _ in range(3):
        with sl.memory_phase("step"):
            for address in activations(recording):
                recording.free(address)
    return recording


def test_the_report_sums_the_peak_by_line_operation_label_and_phase(peak):
    report = sl.memory_report()
    assert (report.peak.bytes, report.peak.blocks) == (8 << 20, 3)
    assert report.peak.requested == 6_000_000 + (2 << 20)
    assert report.end_active == 6 << 20
    assert report.attributed.bytes == report.peak.bytes
    assert report.unattributed == []
    assert [(n.name, n.held.bytes >> 20) for n in report.by_operation] == [
        ("Normal", 6),
        ("Tanh", 2),
    ]
    assert [(n.name, n.held.bytes >> 20) for n in report.by_label] == [("parameters", 6), ("", 2)]
    assert [(n.name, n.held.bytes >> 20) for n in report.by_phase] == [("", 6), ("step", 2)]
    assert report.peak_phase == "step"
    assert report.run.steps == 3


def test_a_line_tells_where_it_is_what_it_says_and_what_it_made(peak):
    first = sl.memory_report().by_line[0]
    # The heap of these tests is code of the user's as well: the innermost such line counts.
    assert Path(first.line.file).name == "conftest.py"
    assert first.line.function == "Heap.alloc"
    assert first.source.startswith("testing.note_alloc(")
    (normal, tanh) = first.items
    assert (normal.operation, normal.layout) == ("Normal", "(1500, 1000) float32")
    assert (tanh.held.blocks, tanh.is_backward, tanh.called_at) == (2, False, None)


def test_memory_without_an_operation_is_listed_by_its_reason(recording):
    recording.alloc(1 << 20)
    report = sl.memory_report()
    assert report.attributed.bytes == 0
    ((reason, size),) = ((u.reason, u.held.bytes) for u in report.unattributed)
    assert size == 1 << 20 and "operation" in reason


def test_a_value_stays_what_it_is_when_the_recorder_goes_on(peak):
    report = sl.memory_report()
    peak.alloc(1 << 30)
    assert report.peak.bytes == 8 << 20
    assert sl.memory_report().peak.bytes == (6 << 20) + (1 << 30)


def test_the_text_names_line_and_snapshot_and_fits_its_width(peak):
    report = sl.memory_report()
    text = report.text(width=100, snapshot_path="out.pickle")
    assert "8.0 MiB active" in text and "conftest.py:" in text and "out.pickle" in text
    assert "\x1b" not in text and "\x1b" in report.text(color=True)
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "snapshot" not in report.text()


def test_the_json_follows_its_schema_and_says_the_same(peak):
    jsonschema = pytest.importorskip("jsonschema")
    report = sl.memory_report()
    document = json.loads(report.json("out.pickle"))
    jsonschema.validate(document, json.loads(SCHEMA.read_text()))
    assert document["peak"]["active_bytes"] == report.peak.bytes
    assert document["run"]["snapshot"] == "out.pickle"
    assert len(document["by_line"]) == len(report.by_line)


def test_an_empty_record_gives_an_empty_report(run_python):
    done = run_python(
        "import strandline as sl; r = sl.memory_report(); "
        "print(r.peak.bytes, r.by_line, r.run.exit_status, r.run.steps); print(r.text())"
    )
    assert done.stderr == ""
    assert done.stdout.startswith("0 [] None None\n")


def test_the_report_s_parts_hold_their_sums(peak):
    report = sl.memory_report()
    for parts in (report.by_line, report.by_operation, report.by_label, report.by_phase):
        assert sum(part.held.bytes for part in parts) == report.peak.bytes
    assert sum(node.held.bytes for node in report.call_tree) == report.peak.bytes
    leaf = report.call_tree[0]
    while leaf.children:
        leaf = leaf.children[0]
    assert os.path.basename(leaf.frame.file) == "conftest.py"
