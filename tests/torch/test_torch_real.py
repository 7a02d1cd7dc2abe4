# SPDX-License-Identifier: Apache-2.0
"""`strandline run` on PyTorch itself, with its own caching allocator over a fake device.

The figures that the reports are compared with are torch's: the program prints its statistics.
"""

import json
import signal

import pytest
from torch_programs import lines_at_peak

pytestmark = pytest.mark.full

TELL = """
import atexit, json, torch
def tell():
    names = ("allocated", "requested", "active", "reserved")
    print(json.dumps([
        {f"{n}.{k}": torch.cuda.memory_stats(d)[f"{n}_bytes.all.{k}"]
         for n in names for k in ("current", "peak")}
        for d in range(torch.cuda.device_count())]))
atexit.register(tell)
"""

TRAIN = (
    TELL
    + """
import strandline as sl
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(512, 8192, device="cuda")  #[wide]
        self.narrow = nn.Linear(8192, 512, device="cuda")  #[narrow]
    def forward(self, x):
        hidden = self.wide(x)
        return self.narrow(torch.relu(hidden))
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), foreach=False)
for step in range(4):
    with sl.torch.phase(f"step {step}"):
        loss = model(torch.ones(2048, 512, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()  #[step]
        optimizer.zero_grad()
    if step == 1:
        sl.torch.label(model, "model")
        sl.torch.label(optimizer, "adam")
"""
)


def statistics(done) -> list[dict[str, int]]:
    return json.loads(done.stdout.splitlines()[-1])


def sums(snapshot, device: int) -> dict[str, int]:
    segments = [s for s in snapshot["segments"] if s["device"] == device]
    blocks = [b for s in segments for b in s["blocks"]]
    handed_out = [b for b in blocks if b["state"] == "active_allocated"]
    active = [b for b in blocks if b["state"] != "inactive"]
    return {
        "allocated": sum(b["size"] for b in handed_out),
        "active": sum(b["size"] for b in active),
        "requested": sum(b["requested_size"] for b in active),
        "reserved": sum(s["total_size"] for s in segments),
    }


def assert_totals_agree(real, done, name: str = "script.memory.pickle") -> None:
    """Of the snapshot, of `report` and of `check` with torch's own statistics, for each device."""
    snapshot, report = real.snapshot(name), real.json()
    check = real.answer("check", name)
    found = statistics(done)
    assert found
    for device, told in enumerate(found):
        if told["reserved.peak"] == 0:
            continue
        for kind, total in sums(snapshot, device).items():
            assert total == told[f"{kind}.current"], (device, kind)
        (reported,) = [d for d in report["devices"] if d["device"] == device]
        (checked,) = [d for d in check["devices"] if d["device"] == device]
        assert reported["report"]["peak"]["requested_bytes"] == told["requested.peak"]
        assert reported["reserved_at_end_bytes"] == told["reserved.current"]
        assert reported["residual_bytes"] == 0
        assert checked["active_peak"] == told["requested.peak"]
        assert checked["active_end"] == told["requested.current"]
        assert checked["verdict"] == "complete"


def held_at_peak(real, device: int) -> dict[int | None, int]:
    """Requested bytes by the program's innermost line, at the first highest point of the trace; a
    plain walk over the events, forwards, beside the one under test."""
    script = str(real.path / "script.py")
    live: dict[int, tuple[int | None, int]] = {}
    best, at_best, level = 0, {}, 0
    for event in real.snapshot()["device_traces"][device]:
        if event["action"] == "alloc":
            lines = [f["line"] for f in event["frames"] if f["filename"] == script]
            live[event["addr"]] = (lines[0] if lines else None, event["size"])
            level += event["size"]
        elif event["action"] == "free_completed":
            level -= live.pop(event["addr"])[1]
        if level > best:
            best, at_best = level, dict(live)
    sums: dict[int | None, int] = {}
    for line, size in at_best.values():
        sums[line] = sums.get(line, 0) + size
    return sums


def assert_lines_agree(real, device: int = 0) -> None:
    (found,) = [d["report"] for d in real.json()["devices"] if d["device"] == device]
    reported = {
        entry["line"] and entry["line"]["line"]: entry["requested_bytes"]
        for entry in found["by_line"]
    }
    assert reported == held_at_peak(real, device)


def test_a_training_run_names_its_lines_phases_and_labels(real):
    done = real.run("--json", "report.json", text=TRAIN)
    assert done.returncode == 0, done.stderr
    assert "leaked" not in done.stderr
    assert_totals_agree(real, done)
    assert_lines_agree(real)
    report = real.json()["devices"][0]["report"]
    held = {real.mark("wide"), real.mark("narrow"), real.mark("step")}
    assert held <= set(lines_at_peak(real.json()))
    assert report["peak"]["phase"].startswith("step ")
    labels = {entry["name"]: entry["requested_bytes"] for entry in report["by_label"]}
    weights = 4 * (512 * 8192 + 8192 + 8192 * 512 + 512)
    assert labels["model"] == weights
    assert labels["adam"] - 2 * weights < 1000  # and a count of steps for each
    assert f"script.py:{real.mark('step')}" in done.stderr


def test_stacks_begin_at_the_program_and_its_output_is_untouched(real):
    plain = real.plain(TRAIN)
    done = real.run(text=TRAIN)
    assert plain.returncode == 0 and done.stdout == plain.stdout
    outermost = {
        (e["frames"][-1]["filename"], e["frames"][-1]["name"])
        for e in real.snapshot()["device_traces"][0]
        if e.get("frames")
    }
    assert (str(real.path / "script.py"), "<module>") in outermost
    assert not any("strandline" in name for name, _ in outermost)


def test_cuda_begins_when_it_would_have_begun_anyway(real):
    text = """
        import os, torch
        print(torch.cuda.is_initialized())
        os.environ["PYTORCH_ALLOC_CONF"] = "max_split_size_mb:64"
        kept = torch.ones(1000, device="cuda")
        print(torch.cuda.memory._snapshot()["allocator_settings"]["max_split_size"])
        """
    assert real.run(text=text).stdout == real.plain(text).stdout


OUT_OF_MEMORY = (
    TELL
    + """
MIB = 1 << 20
kept = []
def hold():
    for _ in range(6):
        kept.append(torch.empty(30 * MIB, dtype=torch.uint8, device="cuda"))  #[hold]
def attempt():
    scratch = torch.empty(50 * MIB, dtype=torch.uint8, device="cuda")  #[scratch]
    return torch.empty(40 * MIB, dtype=torch.uint8, device="cuda")  #[failing]
hold()
"""
)


def test_running_out_of_memory_is_explained(real):
    text = OUT_OF_MEMORY + "attempt()\n"
    done = real.run("--json", "report.json", text=text, bytes=250 << 20)
    assert done.returncode == 1
    assert "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 MiB" in done.stderr
    assert_totals_agree(real, done)
    assert lines_at_peak(real.json()) == [real.mark("hold"), real.mark("scratch")]
    at_failure = real.snapshot("script.memory.oom.pickle")
    assert sums(at_failure, 0)["requested"] == 230 << 20
    assert_explains(real)
    assert f"script.py:{real.mark('failing')}" in done.stderr


def test_a_failure_that_the_program_survives_is_explained_too(real):
    text = (
        OUT_OF_MEMORY
        + """
try:
    attempt()
except torch.OutOfMemoryError:
    print("survived")
"""
    )
    done = real.run("--json", "report.json", text=text, bytes=250 << 20)
    assert done.returncode == 0 and done.stdout.startswith("survived\n")
    assert_totals_agree(real, done)
    assert_explains(real)


def test_an_interrupted_run_leaves_its_record(real):
    text = TRAIN.replace(
        "for step in range(4):", "import itertools\nfor step in itertools.count():"
    )
    text += "    if step == 5:\n        import os, time\n        os.kill(os.getpid(), 2)\n"
    done = real.run("--json", "report.json", text=text)
    assert done.returncode == -signal.SIGINT
    assert done.stderr.index("KeyboardInterrupt") < done.stderr.index("torch 2.15.0")
    assert_totals_agree(real, done)
    assert_lines_agree(real)


def test_two_devices_are_reported_each(real):
    text = (
        TELL
        + """
from torch import nn
front = nn.Linear(512, 2048, device="cuda:0")
back = nn.Linear(2048, 512, device="cuda:1")
for _ in range(3):
    hidden = front(torch.ones(4096, 512, device="cuda:0"))  #[front]
    moved = hidden.to("cuda:1")  #[moved]
    back(moved).mean().backward()
"""
    )
    done = real.run("--json", "report.json", text=text, devices=2)
    assert done.returncode == 0, done.stderr
    assert_totals_agree(real, done)
    for device in (0, 1):
        assert_lines_agree(real, device)
    assert real.mark("front") in lines_at_peak(real.json(), 0)
    assert real.mark("moved") in lines_at_peak(real.json(), 1)


def test_the_program_s_own_recording_is_as_without_us(real):
    text = """
        import pickle, torch
        before = torch.empty(9000, device="cuda")
        torch.cuda.memory._record_memory_history(max_entries=50)
        inside = [torch.empty(10000 * n, device="cuda") for n in range(1, 6)]
        torch.cuda.memory._dump_snapshot("theirs.pickle")
        torch.cuda.memory._record_memory_history(enabled=None)
        after = torch.empty(700, device="cuda")
        with open("theirs.pickle", "rb") as file:
            content = pickle.load(file)
        print([[(e["action"], e["size"]) for e in trace] for trace in content["device_traces"]])
        print(content["external_annotations"])
        """
    plain = real.plain(text)
    done = real.run("--json", "report.json", text=text)
    assert plain.returncode == 0 and done.stdout == plain.stdout
    sizes = [
        [e["size"] for e in real.snapshot(name)["device_traces"][0] if e["action"] == "alloc"]
        for name in (
            "script.memory.stretch-1.pickle",
            "script.memory.stretch-2.pickle",
            "script.memory.pickle",
        )
    ]
    assert sizes == [[36000], [40000 * n for n in range(1, 6)], [2800]]


def test_mlx_beside_torch_has_a_report_of_its_own(real, mlx_package):
    real.packages.append(mlx_package)
    text = (
        TELL
        + """
import mlx.core as mx
kept = torch.empty(1 << 20, device="cuda")  #[torch]
array = mx.ones((1000, 1000))  #[mlx]
mx.eval(array)
"""
    )
    done = real.run("--json", "report.json", text=text)
    assert done.returncode == 0, done.stderr
    own = real.json()
    assert own["format"] == "strandline.peak_report"
    assert own["by_line"][0]["line"]["line"] == real.mark("mlx")
    assert lines_at_peak(real.json("report.torch.json")) == [real.mark("torch")]
    assert real.snapshot("script.memory.torch.pickle")["segments"]
    assert done.stderr.index(f"script.py:{real.mark('mlx')}") < done.stderr.index("torch 2.15.0")


def test_a_recording_in_a_notebook_reports_and_explains(real):
    text = """
        import torch
        import strandline as sl
        with sl.torch.record() as r:
            kept = torch.ones(1000, 1000, device="cuda")  #[kept]
            try:
                torch.empty(1 << 40, dtype=torch.uint8, device="cuda")  #[failing]
            except torch.OutOfMemoryError:
                pass
        print(torch._C._cuda_isHistoryEnabled())
        print(r.report())
        print(r.oom())
        """
    done = real.plain(text)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("False\n")
    assert f"script.py:{real.mark('kept')}" in done.stdout
    assert f"script.py:{real.mark('failing')}" in done.stdout


def test_a_backward_pass_that_fails_on_another_thread_is_kept(real):
    text = """
        import torch
        x = torch.ones(20 << 20, dtype=torch.uint8, device="cuda").float().requires_grad_()
        y = (x * 2).exp()
        y.sum().backward()
        """
    done = real.run(text=text, bytes=300 << 20)
    assert done.returncode == 1 and "OutOfMemoryError" in done.stderr
    assert "script.memory.oom.pickle" in real.files()


def assert_explains(real) -> None:
    (failure,) = real.json("report.oom.json")["failures"]
    assert failure["device"] == 0 and failure["asked_bytes"] == 40 << 20
    assert failure["line"]["line"] == real.mark("failing")
    assert failure["device_free_bytes"] == 20 << 20
    held = {pin["line"]["line"]: pin["bytes"] for pin in failure["holders"]}
    assert held == {real.mark("hold"): 180 << 20, real.mark("scratch"): 50 << 20}
