# SPDX-License-Identifier: Apache-2.0
"""Arrays of several devices: refused together, moved on purpose."""

import pytest
import strandline as sl
import strandline.array as sa

np = pytest.importorskip("numpy")


@pytest.fixture
def gpu():
    return sa.Device(sl.UnifiedAllocator(sl.sim.Device(1 << 30)))


def test_an_operation_names_the_input_that_lies_elsewhere(gpu):
    here = sa.ones(3)
    with sa.stream(gpu):
        there = sa.ones(3) * 2
        with pytest.raises(
            ValueError, match=r"\[Multiply\] input 1; got an array on host, expected "
        ):
            there * here
        assert (there * 2).tolist() == [4, 4, 4]  # a number goes where the operations go
    with pytest.raises(ValueError, match="expected one on host, where the operation runs: move it"):
        there + 1
    with pytest.raises(ValueError, match=r"\[Slice\] input 0; got an array on sim"):
        there[0]
    assert there.tolist() == [2, 2, 2]  # reading is no operation
    assert repr(there) == "array([2., 2., 2.], dtype=float32)"


def test_to_device_moves_values_lazily_and_gradients_back(gpu):
    x = sa.array([1.0, -2.0, 3.0])
    there = sa.to_device(x, gpu)
    assert there.device == gpu and there.status == "unscheduled" and gpu.active_memory == 0
    assert sa.to_device(x, x.device).id == x.id
    assert sa.to_device(there, sa.Device()).tolist() == [1, -2, 3]

    def loss(w):
        w = sa.to_device(w, gpu)
        with sa.stream(gpu):
            return (w * w * w).sum()

    value, gradient = sa.value_and_grad(loss)(x)
    assert (value.device, gradient.device) == (gpu, x.device)
    assert value.item() == 20
    assert gradient.tolist() == [3, 12, 27]


def test_to_device_takes_arrays_and_devices(gpu):
    with pytest.raises(TypeError, match=r"\[to_device\] a; got \[1\], expected an array"):
        sa.to_device([1], gpu)
    with pytest.raises(TypeError, match=r"\[to_device\] device; got 'gpu', expected a Device"):
        sa.to_device(sa.ones(1), "gpu")


def test_arrays_of_two_allocators_of_one_device_meet():
    unified = sa.Device(sl.UnifiedAllocator())
    a = sa.ones(1000)
    with sa.stream(unified):
        b = a + 1
        moved = sa.to_device(a, unified)
    sa.eval(b, moved)
    assert unified.active_memory >= b.nbytes + moved.nbytes
    assert np.array_equal(b, 2 * np.asarray(moved))
