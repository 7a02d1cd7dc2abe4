# SPDX-License-Identifier: Apache-2.0
"""A training step of the full character model on the simulated device: under seeded interleavings,
and with a fault at each of its calls to the device. What comes out is right or an exception that is
documented; nothing stale is read, memory is back at its level, and the next step is right.

The model is that of examples/char_transformer.py, small, its optimizer on a stream of its own.
"""

import contextlib
import gc
import sys
from pathlib import Path

import pytest
import strandline as sl
import strandline.array as sa

np = pytest.importorskip("numpy")
sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
import char_transformer as model  # noqa: E402  lies in examples

SIZES = {"VOCABULARY_SIZE": 8, "WIDTH": 8, "HEADS": 2, "LAYERS": 2, "CONTEXT": 4, "BATCH": 2}
NOT_CALLS = {"waits", "refused_frees", "errors_lost"}
FAULTS_QUICKLY = 8  # of each kind of call, evenly over the step


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, value in SIZES.items():
        monkeypatch.setattr(model, name, value)


class Training:
    """Parameters, moments and a batch on a device, and the step that all tests take from there."""

    def __init__(self, **options):
        self.machine = sl.sim.Device(1 << 30, **options)
        self.allocator = sl.UnifiedAllocator(self.machine)
        self.device = sa.Device(self.allocator)
        self.second = sa.new_stream(self.device)
        with sa.stream(self.device):
            self.parameters = model.init_parameters(7)
            self.optimizer = model.AdamW(self.parameters)
            tokens = np.arange(10, dtype="uint8").reshape(2, 5) % 8
            self.window = sa.array(tokens)
            self.moments = (self.optimizer.first, self.optimizer.second)
            sa.eval(self.parameters, self.moments)
        gc.collect()
        self.level = self.allocator.get_active_memory()

    def outputs(self):
        """Loss, new parameters and new moments, not yet evaluated."""
        self.optimizer.first, self.optimizer.second = self.moments
        with sa.stream(self.device):
            loss_and_grad = sa.value_and_grad(model.loss_fn)
            loss, gradients = loss_and_grad(self.parameters, self.window)
            with sa.stream(self.second):
                updated = self.optimizer.update(self.parameters, gradients, 0.01)
        made = [loss, updated, self.optimizer.first, self.optimizer.second]
        self.optimizer.first = self.optimizer.second = None
        return made

    def step(self):
        """Their values, bit for bit."""
        made = self.outputs()
        sa.eval(made)
        return bits(made)

    def calls_of_a_step(self):
        self.allocator.clear_cache()
        before = self.machine.counters()
        self.step()
        self.allocator.clear_cache()  # with the calls that free
        after = self.machine.counters()
        made = {name: after[name] - before.get(name, 0) for name in after}
        return {name: count for name, count in made.items() if count and name not in NOT_CALLS}

    def at_rest(self):
        self.machine.clear_faults()
        with contextlib.suppress(sl.DeviceError):  # of work that nobody had waited for
            sa.synchronize(self.device)
        gc.collect()
        return self.allocator.get_active_memory() == self.level and self.device.queued_tasks == 0

    def with_fault(self, expected, call, nth, **fault):
        """Whether the step threw; the same arrays are asked for again then, and a next step."""
        self.allocator.clear_cache()
        made = self.outputs()
        self.machine.fail(call, nth, **fault)
        thrown = False
        try:
            sa.eval(made)
            assert bits(made) == expected
        except (sl.DeviceError, sl.OutOfMemoryError):
            thrown = True
        self.machine.clear_faults()
        try:
            sa.eval(made)
            assert bits(made) == expected
        except sl.DeviceError as error:
            assert call == "run", error  # work that failed is not run again
        made = None
        assert self.at_rest()
        assert self.step() == expected
        assert self.at_rest()
        assert self.machine.findings() == []
        return thrown


def bits(tree):
    if isinstance(tree, dict):
        return {name: bits(branch) for name, branch in tree.items()}
    if isinstance(tree, list):
        return [bits(branch) for branch in tree]
    return np.asarray(tree).tobytes()


@pytest.fixture(scope="module")
def expected():
    """The step's values on a device that runs its work in order and never fails."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in SIZES.items():
            patch.setattr(model, name, value)
        return Training().step()


def seeds(count):
    return [{"interleaving": "seeded", "seed": seed} for seed in range(1, count + 1)]


@pytest.mark.parametrize("order", ["by_stream", "by_buffer"])
def test_every_interleaving_gives_the_same_bits(expected, order, count=6):
    for options in [{"interleaving": "newest_first"}, *seeds(count)]:
        training = Training(order=order, **options)
        assert training.step() == expected, options
        assert training.step() == expected, options
        assert training.at_rest(), options
        assert training.machine.findings() == [], options


@pytest.mark.full
@pytest.mark.parametrize("order", ["by_stream", "by_buffer"])
def test_very_many_interleavings_give_the_same_bits(expected, order):
    test_every_interleaving_gives_the_same_bits(expected, order, count=200)


def try_faults(expected, at_most, **fault):
    training = Training(interleaving="seeded", seed=11)
    assert training.step() == expected
    thrown = {}
    for call, count in training.calls_of_a_step().items():
        every = max(1, count // at_most)
        tried = range(1, count + 1, every)
        thrown[call] = sum(training.with_fault(expected, call, nth, **fault) for nth in tried)
    return thrown


def test_a_fault_at_calls_of_every_kind_leaves_nothing_behind(expected):
    thrown = try_faults(expected, FAULTS_QUICKLY)
    for call in ("create_event", "record_event", "wait_event", "enqueue", "run"):
        assert thrown[call] > 0, thrown


@pytest.mark.full
@pytest.mark.parametrize("error", ["fitting", "out_of_memory", "device_error"])
def test_a_fault_at_every_call_leaves_nothing_behind(expected, error):
    thrown = try_faults(expected, sys.maxsize, error=error)
    for call in ("create_event", "record_event", "wait_event", "enqueue", "run"):
        assert thrown[call] > 0, thrown
    # Memory that is short is waited for, and then it is there.
    assert (thrown["allocate"] > 0) == (error == "device_error"), thrown


@pytest.mark.full
def test_calls_that_fail_from_one_on_leave_nothing_behind(expected):
    thrown = try_faults(expected, 40, repeat="from_then_on")
    assert thrown["allocate"] > 0, thrown
