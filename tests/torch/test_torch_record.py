# SPDX-License-Identifier: Apache-2.0
"""`sl.torch.record`, `phase`, `label` and `memory_label` inside a program, on the stand-in."""

import pickle

import pytest

HEAD = "import torch\nimport strandline as sl\n"


def test_a_recording_reports_and_leaves_the_recorder_off(folder):
    text = HEAD + (
        "before = torch.empty(3000, device='cuda')\n"
        "with sl.torch.record() as r:\n"
        "    kept = torch.empty(5000, device='cuda')  #[kept]\n"
        "print(torch.cuda.memory.history)\n"
        "del kept\n"
        "report = r.report()\n"
        "print(report['devices'][0]['report']['by_line'][0]['line']['line'])\n"
        "print(report)\n"
        "print(report._repr_html_()[:1], r.oom())\n"
    )
    done = folder.plain(text)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    # The block before the recording has no stack of its own: torch did not take one.
    assert lines[:2] == ["None", str(folder.mark("kept"))]
    assert f"script.py:{folder.mark('kept')}" in done.stdout
    assert lines[-1] == "< None"


def test_its_snapshot_is_torch_s_file(folder):
    text = HEAD + (
        "with sl.torch.record(max_entries=3) as r:\n"
        "    kept = [torch.empty(1000 + n, device='cuda') for n in range(5)]\n"
        "found = r.snapshot('out.pickle')\n"
        "print(found.check()['devices'][0]['live_blocks'])\n"
    )
    assert folder.plain(text).stdout == "5\n"
    assert folder.files() == ["out.pickle", "script.py"]
    content = pickle.loads((folder.path / "out.pickle").read_bytes())
    assert len(content["device_traces"][0]) == 3
    assert len(content["segments"]) == 5


def test_answers_inside_the_block_tell_of_that_moment(folder):
    text = HEAD + (
        "with sl.torch.record() as r:\n"
        "    one = torch.empty(1000, device='cuda')\n"
        "    print(r.snapshot().check()['devices'][0]['live_blocks'])\n"
        "    two = torch.empty(1000, device='cuda')\n"
        "    print(r.snapshot().check()['devices'][0]['live_blocks'])\n"
    )
    assert folder.plain(text).stdout == "1\n2\n"


def test_recording_that_is_on_already_stays_on(folder):
    text = HEAD + (
        "torch.cuda.memory._record_memory_history(max_entries=77)\n"
        "with sl.torch.record() as r:\n"
        "    pass\n"
        "print(torch.cuda.memory.history['max_entries'])\n"
    )
    assert folder.plain(text).stdout == "77\n"


def test_under_run_a_recording_cuts_nothing(folder):
    text = HEAD + (
        "a = torch.empty(1000, device='cuda')\n"
        "with sl.torch.record() as r:\n"
        "    b = torch.empty(2000, device='cuda')\n"
        "print(r.report()['devices'][0]['report']['peak']['requested_bytes'])\n"
    )
    assert folder.run(text=text).stdout == "3000\n"
    assert folder.files() == ["script.memory.pickle", "script.py"]


@pytest.mark.parametrize(
    ("kind", "program", "message"),
    [
        (
            "",
            "import strandline as sl\nsl.torch.record().__enter__()",
            "RuntimeError: [torch.record] torch; got no import of it, expected one before",
        ),
        (
            "cpu",
            HEAD + "sl.torch.record().__enter__()",
            "Unavailable: torch 2.15.0+cpu is built without CUDA",
        ),
        (
            "",
            HEAD + "sl.torch.record(0)",
            "ValueError: [torch.record] max_entries; got 0, expected an integer from 1",
        ),
        (
            "",
            HEAD + "sl.torch.record().report()",
            "RuntimeError: [torch.record] recording; got one not entered yet",
        ),
        (
            "",
            HEAD + "r = sl.torch.record()\nwith r: pass\nwith r: pass",
            "RuntimeError: [torch.record] recording; got one that was entered before",
        ),
        (
            "",
            "import strandline as sl\nsl.torch.phase('x').__enter__()",
            "RuntimeError: [torch.phase] torch; got no import of it, expected one before",
        ),
        ("", HEAD + "sl.torch.phase(3)", "TypeError: [torch.phase] name; got 3, expected a str"),
        ("", HEAD + "sl.torch.label({}, 3)", "TypeError: [torch.label] name; got 3"),
    ],
)
def test_a_mistake_is_told_by_the_function_called(folder, kind, program, message):
    done = folder.plain(program, kind=kind)
    assert done.returncode == 1
    assert message in done.stderr.splitlines()[-1]


def test_phases_are_annotations_of_the_snapshot(folder):
    text = HEAD + (
        "@sl.torch.phase('step')\n"
        "def step():\n"
        "    with sl.torch.phase('forward'):\n"
        "        return torch.empty(1000, device='cuda')\n"
        "torch.cuda.init()\n"
        "kept = [step() for _ in range(2)]\n"
    )
    folder.run("--json", "report.json", text=text)
    found = [(a["name"], a["stage"]) for a in folder.snapshot()["external_annotations"]]
    once = [("step", "START"), ("forward", "START"), ("forward", "END"), ("step", "END")]
    assert found == once * 2


LABELS = HEAD + (
    "torch.cuda.init()\n"
    "class Model(torch.nn.Module):\n"
    "    def __init__(self):\n"
    "        self.weight = torch.empty(4000, device='cuda')\n"
    "        self.tied = self.weight\n"
    "        self.mask = torch.empty(500, device='cuda')\n"
    "        self.host = torch.empty(500)\n"
    "model = Model()\n"
    "model.weight.grad = torch.empty(4000, device='cuda')\n"
    "optimizer = torch.optim.Optimizer()\n"
    "optimizer.state['weight'] = {'exp_avg': torch.empty(4001, device='cuda'), 'step': 3}\n"
    "print(sl.torch.label(model), sl.torch.label(optimizer, 'adam'))\n"
    "print(sl.torch.label([{'a': torch.empty(30, device='cuda')}], 'data'))\n"
)


def test_labels_name_the_blocks_of_a_model_and_an_optimiser(folder):
    done = folder.run("--json", "report.json", text=LABELS)
    assert done.stdout == "3 1\n1\n"
    found = {
        e["size"]: e["user_metadata"]
        for e in folder.snapshot()["device_traces"][0]
        if e["action"] == "annotate"
    }
    assert found[500] == "Model.mask" and found[4001] == "adam.exp_avg.0"
    assert found[30] == "data.0.a"
    report = folder.json()["devices"][0]["report"]
    assert {entry["name"]: entry["bytes"] for entry in report["by_label"]} == {
        "Model": 8500,
        "adam": 4001,
        "data": 30,
    }


def test_a_label_of_allocations_nests_and_ends(folder):
    text = HEAD + (
        "with sl.torch.memory_label('outer'):\n"
        "    with sl.torch.memory_label({'b': 1, 'a': 2}):\n"
        "        x = torch.empty(1, device='cuda')\n"
        "    y = torch.empty(2, device='cuda')\n"
        "z = torch.empty(3, device='cuda')\n"
    )
    folder.run(text=text)
    trace = folder.snapshot()["device_traces"][0]
    found = {e["size"]: e.get("user_metadata", "") for e in trace if e["action"] == "alloc"}
    assert found == {1: '{"a":2,"b":1}', 2: "outer", 3: ""}


def test_a_torch_before_phases_and_labels_is_told_once_and_the_program_runs(folder):
    text = LABELS + (
        "for _ in range(2):\n"
        "    with sl.torch.phase('step'), sl.torch.memory_label('x'):\n"
        "        pass\n"
        "print('done')\n"
    )
    done = folder.plain(text, kind="old")
    assert done.stdout == "0 0\n0\ndone\n"
    assert done.stderr.count("UserWarning: strandline.torch.label: torch 2.15.0 cannot label") == 1
    assert done.stderr.count("UserWarning: strandline.torch.phase") == 1
    assert done.stderr.count("UserWarning: strandline.torch.memory_label") == 1


def test_a_failed_allocation_is_answered_after_the_block(folder):
    text = HEAD + (
        "try:\n"
        "    with sl.torch.record() as r:\n"
        "        kept = torch.empty(3000, device='cuda')\n"
        "        torch.empty(6000, device='cuda')  #[failing]\n"
        "except torch.OutOfMemoryError:\n"
        "    del kept\n"
        "    print(r.oom())\n"
        "try:\n"
        "    torch.empty(50000, device='cuda')\n"
        "except torch.OutOfMemoryError:\n"
        "    print(r._failures)\n"
    )
    done = folder.plain(text, bytes=8192)
    assert done.stderr == ""
    assert f"script.py:{folder.mark('failing')}" in done.stdout
    assert done.stdout.splitlines()[-1] == "1"
