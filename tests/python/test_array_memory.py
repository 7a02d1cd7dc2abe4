# SPDX-License-Identifier: Apache-2.0
"""Memory in and out of arrays: DLPack by the array API of 2024, buffers in any layout, truth
values, bfloat16. NumPy, MLX and PyTorch are the other side."""

import gc
import subprocess
import sys
import weakref

import pytest

np = pytest.importorskip("numpy")
import strandline as sl  # noqa: E402
import strandline.array as sa  # noqa: E402


def layouts():
    """Name and array: what memory can look like."""
    base = np.arange(24, dtype="float64").reshape(4, 6)
    return {
        "rows": base.copy(),
        "transposed": base.copy().T,
        "every other column": base.copy()[:, ::2],
        "backwards": base.copy()[::-1, ::-3],
        "inner": base.copy()[1:3, 2:5],
        "spread": np.broadcast_to(base[0].copy(), (3, 6)),
        "one": np.array([[7.0]]),
        "scalar": np.array(7.0),
        "read only": np.frombuffer(base.tobytes()).reshape(4, 6),
    }


def unaligned():
    return np.ndarray((5,), "float32", np.arange(24, dtype="uint8").data, offset=1)


def between():
    """Elements whose distance is no multiple of their size."""
    record = np.zeros(6, dtype=[("tag", "u1"), ("value", "f4")])
    record["value"] = np.arange(6)
    return record["value"]


class Tensor:
    """Has DLPack alone."""

    def __init__(self, values, device=(1, 0)):
        self.values, self.device = values, device

    def __dlpack__(self, **wishes):
        return self.values.__dlpack__(**wishes)

    def __dlpack_device__(self):
        return self.device


class OldTensor(Tensor):
    """From before DLPack 1.0: knows no max_version."""

    def __dlpack__(self, stream=None):
        return self.values.__dlpack__()


# -- out, by DLPack -------------------------------------------------------------------------------


def capsule_name(capsule):
    return str(capsule).split('"')[1]


def test_a_capsule_is_of_the_version_that_is_asked_for():
    x = sa.arange(4)
    assert capsule_name(x.__dlpack__()) == "dltensor"
    assert capsule_name(x.__dlpack__(max_version=(0, 8))) == "dltensor"
    for version in ((1, 0), (1, 3), (2, 0)):
        assert capsule_name(x.__dlpack__(max_version=version)) == "dltensor_versioned"
    assert x.__dlpack_device__() == (1, 0)


def test_a_tensor_is_for_reading_unless_it_is_a_copy():
    x = sa.arange(6, dtype=sa.float32).reshape(2, 3)
    seen = np.from_dlpack(x)
    assert not seen.flags.writeable and seen.__array_interface__["data"][0] == x.address
    copied = np.from_dlpack(x, copy=True)
    copied[:] = 9
    assert copied.flags.writeable and x.tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not np.shares_memory(copied, seen)
    assert np.shares_memory(np.from_dlpack(x, copy=False), seen)


def test_a_tensor_keeps_its_memory_when_the_array_is_gone_or_another():
    x = sa.arange(4, dtype=sa.float32)
    seen = np.from_dlpack(x)
    x += 100
    assert x.tolist() == [100, 101, 102, 103] and seen.tolist() == [0, 1, 2, 3]
    del x
    gc.collect()
    sa.eval(sa.ones((4,)) + 1)
    assert seen.tolist() == [0, 1, 2, 3]


def test_an_exported_buffer_is_not_donated():
    x = sa.arange(4096, dtype=sa.float32)
    seen, viewed = np.from_dlpack(x), np.asarray(x)
    y = x * 2
    del x
    sa.eval(y)
    assert seen[4095] == viewed[4095] == 4095 and y[4095].item() == 8190


def test_capsules_nobody_consumes_give_their_memory_back():
    device = sa.Device(sl.HostAllocator(sl.sim.Device(1 << 26)))
    with sa.stream(device):
        x = sa.zeros((1000,))
        sa.eval(x)
        for wishes in ({}, {"max_version": (1, 0)}, {"copy": True}):
            x.__dlpack__(**wishes)
        del x
    gc.collect()
    assert device.active_memory == 0


def test_strides_that_go_backwards_leave_as_a_copy():
    x = sa.arange(6, dtype=sa.float32)[::-2]
    assert np.from_dlpack(x).tolist() == [5, 3, 1]
    with pytest.raises(BufferError, match="copy; got False, expected True or None"):
        x.__dlpack__(copy=False)


@pytest.mark.parametrize(
    ("wishes", "kind", "message"),
    [
        ({"dl_device": (2, 0)}, BufferError, r"dl_device; got \(2, 0\), expected \(1, 0\)"),
        ({"dl_device": "cpu"}, TypeError, "dl_device; got 'cpu', expected None or a tuple"),
        ({"max_version": 1}, TypeError, "max_version; got 1, expected None or a tuple"),
        ({"copy": "yes"}, TypeError, "copy; got 'yes', expected True, False or None"),
        ({"stream": 5}, ValueError, "stream; got 5, expected None"),
    ],
)
def test_wishes_that_cannot_be_met_are_refused(wishes, kind, message):
    with pytest.raises(kind, match=r"\[__dlpack__\] " + message):
        sa.ones((2,)).__dlpack__(**wishes)


# -- in -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", layouts())
@pytest.mark.parametrize("wrap", [lambda values: values, Tensor, OldTensor])
def test_memory_of_any_layout_is_used_as_it_is(name, wrap):
    given = layouts()[name]
    if wrap is OldTensor and not given.flags.writeable:
        pytest.skip("NumPy exports read-only memory from version 1.0 on")
    over = sa.asarray(wrap(given), copy=False)
    seen = np.asarray(over)
    assert np.shares_memory(seen, given) and seen.shape == given.shape
    assert np.array_equal(seen, given) and over.dtype is sa.float64
    assert (over + 1).tolist() == (given + 1).tolist()
    assert over.sum().item() == given.sum()
    copied = sa.asarray(wrap(given), copy=True)
    assert not np.shares_memory(np.asarray(copied), given) and np.array_equal(copied, given)


@pytest.mark.parametrize("make", [unaligned, between])
@pytest.mark.parametrize("wrap", [lambda values: values, Tensor])
def test_memory_that_kernels_cannot_read_is_copied(make, wrap):
    given = make()
    if wrap is Tensor and make is between:
        pytest.skip("DLPack counts whole elements")
    over = sa.asarray(wrap(given))
    assert np.array_equal(np.asarray(over), given) and not np.shares_memory(np.asarray(over), given)
    assert np.array_equal(np.asarray(sa.array(wrap(given))), given)
    with pytest.raises(ValueError, match=r"\[asarray\] memory; .* or copy=None"):
        sa.asarray(wrap(given), copy=False)


def test_memory_that_is_wrapped_already_is_copied():
    given = np.arange(64, dtype="float32")
    first = sa.asarray(given)
    second = sa.asarray(given[8:])
    assert np.shares_memory(np.asarray(first), given) and second[0].item() == 8
    with pytest.raises(ValueError, match="not wrapped yet"):
        sa.asarray(given, copy=False)


def test_wrapped_memory_is_never_written():
    given = np.arange(4096, dtype="float32")
    result = sa.asarray(given)
    for _ in range(3):
        result += 1
    sa.eval(result)
    assert given[4095] == 4095 and result[4095].item() == 4098


@pytest.mark.parametrize("shape", [(0,), (3, 0, 2)])
@pytest.mark.parametrize("copy", [None, True, False])
def test_memory_without_elements_comes_and_goes(shape, copy):
    given = np.zeros(shape, "float32")
    for source in (given, Tensor(given)):
        assert sa.asarray(source, copy=copy).shape == shape
    assert np.from_dlpack(sa.zeros(shape)).shape == np.asarray(sa.zeros(shape)).shape == shape


def test_what_exports_strided_memory_lives_as_long_as_it_is_used():
    class Owner(np.ndarray):
        pass

    given = np.zeros((8, 8), "float32").view(Owner)
    watched = weakref.ref(given)
    over = sa.asarray(Tensor(given[::2, ::-1]))
    assert np.asarray(over).base is not None
    del given
    gc.collect()
    assert watched() is not None
    del over
    sa.synchronize()
    sa.asarray(np.zeros(1, "float32"))  # lets go of what has been released
    gc.collect()
    assert watched() is None


def test_a_dtype_that_needs_a_copy_is_refused_with_copy_false():
    given = np.arange(4, dtype="float64")
    assert sa.asarray(given, dtype=sa.float32).dtype is sa.float32
    for source in (given, sa.arange(4, dtype=sa.float64)):
        with pytest.raises(ValueError, match="copy=None"):
            sa.asarray(source, dtype=sa.float32, copy=False)
    with pytest.raises(ValueError, match="copy=None"):
        sa.asarray([1, 2], copy=False)


def test_an_array_is_its_own_asarray():
    x = sa.arange(3)
    assert sa.asarray(x) is x and sa.asarray(x, copy=False) is x
    assert sa.asarray(x, dtype=sa.int32) is x
    copied = sa.asarray(x, copy=True)
    copied += 1
    assert x.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: np.zeros(2, "int16"), r"items of format 'h' and 2 bytes"),
        (lambda: np.zeros(2, ">f4"), r"items of format '>f'"),
        (lambda: Tensor(np.zeros(2, "complex64")), r"elements of 64 bits, kind 5"),
        (lambda: Tensor(np.zeros(2), device=(2, 1)), r"one on device \(2, 1\)"),
        (lambda: Tensor(np.zeros(2), device="cuda"), r"a device that is no pair"),
    ],
)
def test_memory_that_arrays_do_not_have_is_refused(make, message):
    for use in (sa.asarray, sa.array):
        with pytest.raises(TypeError, match=message):
            use(make())


def test_a_tensor_whose_export_fails_says_so_itself():
    class Refusing(Tensor):
        def __dlpack__(self, **wishes):
            raise BufferError("it needs a gradient")

    with pytest.raises(BufferError, match="it needs a gradient"):
        sa.asarray(Refusing(np.zeros(2)))

    class Empty(Tensor):
        def __dlpack__(self, **wishes):
            return None

    with pytest.raises(TypeError, match="no tensor from its __dlpack__"):
        sa.asarray(Empty(np.zeros(2)))


# -- truth values ---------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda values: values, Tensor])
@pytest.mark.parametrize("use", [sa.array, sa.asarray])
def test_bytes_of_bool_are_read_by_their_truth(wrap, use):
    given = np.frombuffer(bytes([0, 1, 2, 255]), dtype=bool)
    truths = use(wrap(given))
    assert truths.tolist() == [False, True, True, True]
    assert truths.sum().item() == 3
    assert (truths == sa.array([False, True, True, True])).tolist() == [True] * 4
    assert np.asarray(truths).tobytes() == bytes([0, 1, 1, 1])


def test_true_bytes_of_bool_are_used_as_they_are():
    given = np.array([True, False, True])
    assert np.shares_memory(np.asarray(sa.asarray(given, copy=False)), given)
    with pytest.raises(ValueError, match="copy=None"):
        sa.asarray(np.frombuffer(bytes([2]), dtype=bool), copy=False)


# -- bfloat16 -------------------------------------------------------------------------------------


def test_numpy_is_told_that_it_has_no_bfloat16():
    x = sa.array([1.5, -2.0], dtype=sa.bfloat16)
    if "ml_dtypes" in sys.modules or _has_ml_dtypes():
        pytest.skip("ml_dtypes is installed")
    for use in (np.asarray, np.array):
        with pytest.raises(TypeError, match=r"got bfloat16, expected .*astype\(float32\)"):
            use(x)
    with pytest.raises(BufferError, match=r"astype\(float32\)"):
        memoryview(x)
    assert np.asarray(x, dtype="float32").tolist() == [1.5, -2.0]
    assert np.asarray(x, dtype="float64").dtype == np.float64


def _has_ml_dtypes():
    try:
        import ml_dtypes  # noqa: F401
    except ImportError:
        return False
    return True


def test_ml_dtypes_bfloat16_comes_and_goes_without_a_copy():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = sa.array([[1.5, -2.0, 3.0]], dtype=sa.bfloat16).T
    seen = np.asarray(x)
    assert seen.dtype == ml_dtypes.bfloat16 and seen.tolist() == [[1.5], [-2.0], [3.0]]
    assert seen.__array_interface__["data"][0] == x.address
    over = sa.asarray(np.array([0.5, 4.0], dtype=ml_dtypes.bfloat16))
    assert over.dtype is sa.bfloat16 and over.tolist() == [0.5, 4.0]


def test_numpys_copy_and_dtype_are_honoured():
    x = sa.array([1.5, 2.0])
    assert np.asarray(x, dtype="float64").tolist() == [1.5, 2.0]
    assert np.shares_memory(np.array(x, copy=False), np.asarray(x))
    copied = np.array(x, copy=True)
    assert copied.flags.writeable and not np.shares_memory(copied, np.asarray(x))
    with pytest.raises(ValueError):
        np.array(x, dtype="float64", copy=False)
    assert x.__array__().tolist() == [1.5, 2.0]
    assert x.__array__(dtype="float64", copy=True).dtype == np.float64
    with pytest.raises(ValueError, match="copy"):
        x.__array__(dtype="float64", copy=False)


MLX = """
import numpy as np, mlx.core as mx, strandline.array as sa
for name in ("bool_", "uint8", "uint32", "int32", "int64", "float16", "bfloat16", "float32"):
    theirs = mx.array([[0, 1, 2], [3, 4, 5]], dtype=getattr(mx, name))
    dtype = getattr(sa, name)
    for view in (theirs, theirs.T, theirs[:, ::2], theirs[::-1]):
        for use in (sa.array, sa.asarray):
            ours = use(view)
            assert ours.dtype is dtype and ours.tolist() == view.tolist(), (name, ours)
        back = mx.array(ours)
        assert back.dtype == theirs.dtype and back.tolist() == view.tolist(), (name, back)
    ours = sa.array([[0, 1, 2], [3, 4, 5]], dtype=dtype)
    for view in (ours, ours.T, ours[:, ::2], ours[::-1], ours[0, ::-1]):
        assert mx.array(view).tolist() == view.tolist(), (name, view)
"""


def test_mlx_arrays_come_and_go():
    pytest.importorskip("mlx.core")
    done = subprocess.run([sys.executable, "-c", MLX], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_torch_tensors_come_and_go():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        theirs = torch.arange(6).reshape(2, 3).to(dtype)
        for view in (theirs, theirs.T, theirs[:, ::2]):
            ours = sa.asarray(view)
            assert ours.tolist() == view.tolist()
            assert torch.equal(torch.from_dlpack(ours), view)
            del ours
    assert torch.from_dlpack(sa.arange(4)[::-1]).tolist() == [3, 2, 1, 0]
    with pytest.raises(BufferError, match="grad"):
        sa.asarray(torch.ones(2, requires_grad=True))
