# SPDX-License-Identifier: Apache-2.0
"""Arguments of operations that do not fit: the error names the function that was called, the thing,
its value, and what was expected; indices that are outside are told at the wait."""

import re

import pytest

np = pytest.importorskip("numpy")
import strandline.array as sa  # noqa: E402

a23 = a32 = a4 = None  # arrays of these shapes, while the module's tests run
HUGE = 2**40


@pytest.fixture(scope="module", autouse=True)
def operands():
    shapes = {"a23": (2, 3), "a32": (3, 2), "a4": (4,)}
    globals().update({name: sa.zeros(shape) for name, shape in shapes.items()})
    yield
    globals().update(dict.fromkeys(shapes))


REFUSED = [
    (lambda: sa.sum(a23, HUGE), f"[sum] axis; got {HUGE}, expected an axis of the array"),
    (lambda: sa.sum(a23, (0, -HUGE)), f"[sum] axis; got {-HUGE}"),
    (lambda: sa.sum(a23, 2**80), f"[sum] axis; got {2**80}, expected an integer of 64 bits"),
    (lambda: sa.sum(a23, 2), "[sum] axis; got 2, expected -2 to 1"),
    (lambda: sa.sum(a23, (1, -1)), "[sum] axes; got axis 1 twice, expected each axis once"),
    (lambda: sa.argmax(a23, HUGE), f"[argmax] axis; got {HUGE}"),
    (lambda: sa.softmax(a23, HUGE), f"[softmax] axis; got {HUGE}"),
    (lambda: sa.concatenate([a23, a23], HUGE), f"[concatenate] axis; got {HUGE}"),
    (lambda: sa.stack([a23, a23], HUGE), f"[stack] axis; got {HUGE}"),
    (lambda: sa.stack([a23, a23], 3), "[stack] axis; got 3, expected -3 to 2"),
    (lambda: sa.split(a23, 2, HUGE), f"[split] axis; got {HUGE}"),
    (lambda: sa.split(a23, HUGE + 1), f"[split] parts; got {HUGE + 1}, expected a number that"),
    (lambda: sa.split(sa.zeros(0), HUGE), f"[split] parts; got {HUGE}, expected at most 1048576"),
    (lambda: sa.split(a23, 2, 1), "got 2, expected a number that divides 3, the extent of axis 1"),
    (lambda: sa.take(a23, 0, HUGE), f"[take] axis; got {HUGE}"),
    (lambda: sa.swapaxes(a23, 0, HUGE), f"[swapaxes] axis; got {HUGE}"),
    (lambda: sa.moveaxis(a23, HUGE, 0), f"[moveaxis] axis; got {HUGE}"),
    (lambda: sa.expand_dims(a23, HUGE), f"[expand_dims] axis; got {HUGE}"),
    (lambda: sa.expand_dims(a23, 3), "[expand_dims] axis; got 3, expected -3 to 2"),
    (lambda: sa.squeeze(a23, HUGE), f"[squeeze] axis; got {HUGE}"),
    (lambda: sa.squeeze(a23, 1), "[squeeze] axis; got 1 of shape (2, 3), expected an axis of"),
    (lambda: sa.transpose(a23, (0, HUGE)), f"[transpose] axis; got {HUGE}"),
    (lambda: sa.random.categorical(a23, HUGE), f"[categorical] axis; got {HUGE}"),
    (lambda: sa.scatter_add(a23, 0, a4, HUGE), f"[scatter_add] axis; got {HUGE}"),
    (lambda: a23 @ a23, "[matmul] shapes; got (2, 3) and (2, 3), expected as many columns on the"),
    (lambda: sa.zeros((2, 4, 3)) @ sa.zeros((5, 3, 4)),
     "[matmul] shapes; got (2, 4, 3) and (5, 3, 4), expected axes before the last two that"),
    (lambda: a4 @ sa.array(1.0), "[matmul] shapes; got (4,) and (), expected at least one axis"),
    (lambda: a23 + a4, "[add] shapes; got (2, 3) and (4,), expected shapes that broadcast"),
    (lambda: sa.where(a4 > 0, a23, a32), "[where] shapes; got (4,), (2, 3) and (3, 2)"),
    (lambda: sa.clip(a23, a4, None), "[clip] shapes; got (2, 3) and (4,)"),
    (lambda: sa.clip(a23, None, None), "[clip] bounds; got none"),
    (lambda: sa.broadcast_to(a23, (3, 3)),
     "[broadcast_to] array; got shape (2, 3), expected one that broadcasts to (3, 3)"),
    (lambda: sa.broadcast_to(a23, (3,)), "[broadcast_to] array; got shape (2, 3)"),
    (lambda: sa.full((2, 2), a23), "[full] value; got shape (2, 3), expected one that broadcasts"),
    (lambda: sa.concatenate([a23, a23, a32]),
     "[concatenate] shape of array 2; got (3, 2), expected that of the first, (2, 3), but for"),
    (lambda: sa.concatenate([]), "[concatenate] arrays; got none, expected at least one"),
    (lambda: sa.stack([a23, a32]), "[stack] shape of array 1; got (3, 2)"),
    (lambda: sa.pad(a23, [(0, 1), (-1, 0)]), "[pad] widths of axis 1; got (-1, 0)"),
    (lambda: sa.pad(a23, [(0, 1)] * 3), "[pad] widths; got 3 pairs, expected 2: one for each axis"),
    (lambda: sa.pad(a23, 1, a4), "[pad] value; got 4 elements, expected one element"),
    (lambda: sa.reshape(a23, (4, -1)), "[reshape] shape; got (4, -1), expected one for 6 elements"),
    (lambda: sa.reshape(a23, (-1, -1)), "[reshape] shape; got (-1, -1), expected at most one"),
    (lambda: sa.reshape(a23, (-2, -3)), "[reshape] shape; got (-2, -3), expected extents that"),
    (lambda: sa.reshape(a23, 5), "[reshape] shape; got (5,), expected one for 6 elements"),
    (lambda: sa.take(a23, sa.array([0.5])), "[take] indices; got float32, expected integers"),
    (lambda: a23[sa.array([0, 1]), sa.array([0, 1, 2])],
     "[gather] shapes of indices; got (2,), (3,), expected ones that broadcast"),
    (lambda: sa.scatter_add(a23, [0], a4),
     "[scatter_add] updates; got shape (4,), expected one that broadcasts to (1, 3)"),
    (lambda: sa.max(sa.zeros((2, 0))), "[max] array; got shape (2, 0), expected elements along"),
    (lambda: sa.argmax(sa.zeros((2, 0)), 1), "[argmax] array; got shape (2, 0), expected elements"),
    (lambda: sa.logsumexp(sa.zeros((0,))), "[logsumexp] array; got shape (0,), expected elements"),
    (lambda: sa.random.categorical(sa.zeros((2, 0))), "[categorical] logits; got shape (2, 0)"),
    (lambda: sa.stack([sa.zeros((1,) * 10)]), "[stack] axes of the result; got 11"),
    (lambda: sa.expand_dims(sa.zeros((1,) * 10), 0), "[expand_dims] axes of the result; got 11"),
    (lambda: sa.take(sa.zeros((1,) * 10), sa.zeros((1, 1), dtype=sa.int32), 0),
     "[take] axes of the result; got 11"),
    (lambda: sa.arange(0, 3, 0), "[arange] step; got 0, expected a number that is not 0"),
    (lambda: sa.arange(2**70), f"[arange] stop; got {2**70}, expected an integer of 64 bits"),
    (lambda: sa.arange(float("nan")), "[arange] start, stop, step; got 0, nan, 1"),
    (lambda: sa.arange(250, 260, dtype=sa.uint8),
     "[arange] element; got 259, expected one that uint8 holds"),
    (lambda: sa.arange(2**62), f"[arange] shape; got ({2**62},), expected fewer than 2^60"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_does_not_fit_is_named(number):
    call, message = REFUSED[number]
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


OUTSIDE = [
    (lambda x: sa.take(x, sa.array([0, 5]), 1),
     "[take] index at (1,) along axis 1; got 5, expected -3 to 2: the axis has 3 elements"),
    (lambda x: x[sa.array([[0, 0], [0, -3]])],
     "index at (1, 1) along axis 0; got -3, expected -2 to 1: the axis has 2 elements"),
    (lambda x: x[sa.array([0, 1]), sa.array([2, 2**40])],
     f"index at (1,) along axis 1; got {2**40}, expected -3 to 2"),
    (lambda x: sa.take(x, sa.array([6])), "got 6, expected -6 to 5: the axis has 6 elements"),
    (lambda x: sa.take(x, sa.array([2**32 - 1], dtype=sa.uint32)), f"got {2**32 - 1}"),
    (lambda x: sa.scatter_add(x, [2], sa.ones((1, 3))), "[scatter_add] index at (0,) along axis 0"),
    (lambda x: sa.take(sa.zeros((0, 2)), sa.array([0]), 0), "none: the axis has no elements"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(OUTSIDE)))
def test_indices_outside_are_index_errors_once_and_the_stream_goes_on(number):
    call, message = OUTSIDE[number]
    x = sa.array(np.arange(6).reshape(2, 3), dtype=sa.float32)
    made = call(x)
    with pytest.raises(IndexError, match=re.escape(message)):
        sa.eval(made)
    assert (x + x).tolist() == [[0, 2, 4], [6, 8, 10]]
    gradient = sa.grad(lambda a: sa.take(a, sa.array([7]), 0).sum())
    with pytest.raises(IndexError, match="got 7, expected -2 to 1"):
        sa.eval(gradient(x))
