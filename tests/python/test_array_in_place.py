# SPDX-License-Identifier: Apache-2.0
"""Operators in place: the object stays and has another array, as MLX's does."""

import gc
import operator
import threading

import pytest

np = pytest.importorskip("numpy")
import strandline as sl  # noqa: E402
import strandline.array as sa  # noqa: E402

NUMBERS = ["iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"]


@pytest.mark.parametrize("name", NUMBERS)
def test_b15_an_operator_in_place_keeps_the_object_and_changes_its_id(name):
    values = np.array([5.0, 7.0, -3.0], "float32")
    x = sa.array(values)
    held, holder = x, [x]
    before, object_before = x.id, id(x)
    x = getattr(operator, name)(x, 2)
    assert x is held and holder[0] is x and id(x) == object_before and x.id != before
    expected = getattr(operator, name)(values.copy(), 2)
    assert np.array_equal(np.asarray(held), expected)


@pytest.mark.parametrize("name", ["iand", "ior"])
def test_b15_truth_values_too(name):
    x = held = sa.array([True, False, True])
    x = getattr(operator, name)(x, sa.array([True, True, False]))
    expected = getattr(operator, name)(np.array([True, False, True]), [True, True, False])
    assert x is held and x.tolist() == expected.tolist()


def test_b15_a_matrix_product_in_place():
    x = held = sa.array([[1.0, 2.0], [3.0, 4.0]])
    x @= sa.array([[0.0, 1.0], [1.0, 0.0]])
    assert x is held and x.tolist() == [[2, 1], [4, 3]]


def test_a_shape_and_a_dtype_may_change_in_place_as_mlxs_do():
    x = held = sa.array([1, 2])
    x += 1.5
    assert held.dtype is sa.float32 and held.tolist() == [2.5, 3.5]
    x += sa.zeros((3, 1))
    assert held.shape == (3, 2)


def test_arrays_made_before_keep_their_values():
    x = sa.array([1.0, 2.0])
    doubled, view, alias = x * 2, x[::-1], sa.array(x)
    seen = np.asarray(x)
    x += 10
    assert x.tolist() == [11, 12]
    assert doubled.tolist() == [2, 4] and view.tolist() == [2, 1] and alias.tolist() == [1, 2]
    assert seen.tolist() == [1, 2]


def test_what_is_refused_leaves_the_array_as_it_was():
    x = held = sa.array([1.0, 2.0])
    before = x.id
    with pytest.raises(ValueError, match=r"\[add\] shapes"):
        x += sa.zeros((3,))
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+="):
        x += "one"
    assert held.id == before and held.tolist() == [1, 2]


def test_a_chain_in_place_works_in_one_buffer():
    device = sa.Device(sl.HostAllocator(sl.sim.Device(1 << 26)))
    with sa.stream(device):
        x = sa.zeros((1 << 20,))
        sa.eval(x)
        once = device.active_memory
        for _ in range(20):
            x += 1
        sa.eval(x)
        assert x[0].item() == 20 and device.active_memory == once
        for _ in range(3):
            address = x.address
            x *= 2
            sa.eval(x)
            assert x.address == address
    del x
    gc.collect()
    assert device.active_memory == 0


def test_gradients_go_through_operators_in_place():
    def loss(x):
        x *= 3
        x += 1
        return (x * x).sum()

    assert sa.grad(loss)(sa.array([1.0, 2.0])).tolist() == [24, 42]
    given = sa.array([1.0, 2.0])
    sa.grad(loss)(given)
    assert given.tolist() == [1, 2]


def test_an_object_keeps_its_hash():
    x = sa.array([1.0])
    known = {x: "x"}
    x += 1
    assert known[x] == "x"


def test_an_array_may_change_while_another_thread_reads_it():
    x = sa.zeros((1000,))
    wrong = []

    def read():
        for _ in range(200):
            values = x.tolist()
            if any(value != values[0] for value in values):
                wrong.append(values)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(200):
        x += 1
        sa.eval(x)
    for reader in readers:
        reader.join()
    assert wrong == [] and x[999].item() == 200
