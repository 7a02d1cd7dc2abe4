# SPDX-License-Identifier: Apache-2.0
"""Arguments that overflow, lie, or hold themselves, and memory that is short: named errors or right
results, never a wrong byte."""

import math

import numpy as np
import pytest
import strandline as sl
import strandline.array as sa

INF = float("inf")


def test_shapes_that_overflow_are_refused() -> None:
    wide = sa.broadcast_to(sa.ones(1), (2**59,))
    with pytest.raises(
        ValueError, match=r"\[concatenate\] extent; got .*, expected less than 2\^63"
    ):
        sa.concatenate([wide] * 16 + [sa.ones(1)])
    with pytest.raises(ValueError, match=r"\[concatenate\] extent"):
        sa.concatenate([sa.zeros((2**62, 0))] * 4)
    for before, after in ((2**63 - 1, 2**63 - 1), (2**62, 2**62)):
        with pytest.raises(ValueError, match=r"\[pad\] extent"):
            sa.pad(sa.ones(3), (before, after))
    with pytest.raises(ValueError, match=r"shape; got \(0, -5\)"):
        sa.zeros((0, -5))


class Claims(list):
    def __len__(self) -> int:
        return 5


class Clears:
    def __init__(self, holder: list) -> None:
        self.holder = holder

    def __float__(self) -> float:
        self.holder.clear()
        return 1.0


def test_lists_that_are_not_what_they_say_are_refused() -> None:
    with pytest.raises(ValueError, match="lists; got 2 elements in one that said 5"):
        sa.array(Claims([1, 2]))
    changing: list = []
    changing[:] = [Clears(changing), 2, 3]
    with pytest.raises(ValueError, match="lists; got 1 elements in one that said 3"):
        sa.array(changing)


@pytest.mark.parametrize("use", [sa.array, sa.eval, sa.async_eval, lambda c: sa.ones(1)[c]])
def test_lists_that_hold_themselves_are_refused(use) -> None:
    cyclic: list = []
    cyclic.append(cyclic)
    with pytest.raises((ValueError, RecursionError, TypeError, IndexError)):
        use(cyclic)
    with_array: list = [sa.ones(1)]
    with_array.append(with_array)
    with pytest.raises((ValueError, RecursionError, TypeError, IndexError)):
        use(with_array)


def test_integers_that_do_not_fit_are_refused() -> None:
    for make in (lambda: sa.array(2**70), lambda: sa.array([2**63]), lambda: sa.ones(1) * 2**64):
        with pytest.raises(ValueError, match="an integer of 64 bits"):
            make()
    for dtype, number in ((sa.int32, 2**40), (sa.uint8, 300), (sa.uint32, -1)):
        with pytest.raises(ValueError, match=rf"got {number}, expected one that {dtype.name}"):
            sa.array([1, 2], dtype=dtype) + number
    assert sa.array(300, dtype=sa.uint8).item() == sa.array([300], dtype=sa.uint8).item() == 44


def test_bits_of_integers_are_not_taken_for_truth() -> None:
    for use in (lambda a: a & a, lambda a: a | a, lambda a: ~a):
        with pytest.raises(TypeError, match="dtype; got int32, expected bool"):
            use(sa.array([6, 3]))
        assert use(sa.array([True, False])).dtype == sa.bool_


def test_randint_covers_its_range_and_no_more() -> None:
    drawn = np.asarray(sa.random.randint(-3, 4, (20_000,), key=sa.random.key(1)))
    found, counts = np.unique(drawn, return_counts=True)
    assert found.tolist() == [-3, -2, -1, 0, 1, 2, 3]
    assert counts.min() > 2_500  # 2,857 each
    top = sa.random.randint(2**31 - 2, 2**31 - 1, (50,), key=sa.random.key(2))
    assert set(top.tolist()) == {2**31 - 2}


def test_logsumexp_of_infinities() -> None:
    low = sa.array([[-INF, 1.0], [-INF, 2.0]])
    first, second = sa.logsumexp(low, axis=0).tolist()
    assert first == -INF
    assert second == pytest.approx(math.log(math.e + math.e**2))
    assert sa.logsumexp(sa.array([[INF, 1.0], [1.0, INF]])).item() == INF


def test_an_argument_is_differentiated_once() -> None:
    for argnums in ((0, 0), (1, -1)):
        with pytest.raises(ValueError, match="each argument once"):
            sa.grad(lambda x, y: (x * y).sum(), argnums=argnums)(sa.ones(1), sa.ones(1))


@pytest.mark.parametrize("kind", ["UnifiedAllocator", "SegmentAllocator"])
def test_memory_that_queued_work_holds_is_waited_for(kind: str) -> None:
    device = sa.Device(getattr(sl, kind)(sl.sim.Device(1 << 26)))
    with sa.stream(device):
        x = sa.ones((1 << 20,))
        for _ in range(40):
            x = sa.tanh(x) + sa.ones((1 << 20,))
        sa.eval(x)
        assert 1 < x[0].item() < 2
