# SPDX-License-Identifier: Apache-2.0
"""The text of an array is NumPy's, with the dtype always; of large arrays the ends are read."""

import pytest

np = pytest.importorskip("numpy")
import strandline.array as sa  # noqa: E402

SHAPES = [
    (), (0,), (1,), (5,), (40,), (3, 4), (2, 3, 4), (2, 0, 3), (1001,), (7, 200), (20, 20, 20),
    (2, 2, 2, 2), (500, 3),
]  # fmt: skip
SCALES = [1, 1e-5, 1e5, 1e8, 1e12, 3e-7, 1e30]


def numpys_text(values):
    """NumPy's own layout; what is behind it as NumPy writes it for a dtype it cannot infer."""
    text = "array(" + np.array2string(values, separator=", ", prefix="array(", suffix=")") + ","
    extras = [f"dtype={values.dtype.name})"]
    if (values.size == 0 and values.shape != (0,)) or values.size > 1000:
        extras.insert(0, f"shape={values.shape}")
    rest = ", ".join(extras)
    last_line = len(text) - (text.rfind("\n") + 1)
    return text + ("\n      " if last_line + len(rest) + 1 > 75 else " ") + rest


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_text_of_floats_is_numpys(shape, dtype):
    random = np.random.default_rng(7)
    for scale in SCALES:
        drawn = random.normal(size=shape)
        with np.errstate(over="ignore"):
            kinds = [drawn * scale, np.round(drawn * 100), np.abs(drawn) * scale]
            special = np.array(drawn * scale)
            if special.size > 2:
                special.flat[0], special.flat[-1] = np.nan, -np.inf if scale > 1 else np.inf
            for values in [*kinds, special]:
                values = np.asarray(values).astype(dtype)
                assert repr(sa.array(values, dtype=dtype)) == numpys_text(values)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint32", "int32", "int64"])
def test_the_text_of_integers_is_numpys(shape, dtype):
    random = np.random.default_rng(8)
    for high in (2, 10, 200):
        values = np.asarray(random.integers(0, high, shape)).astype(dtype)
        signed = values - 100 if dtype in ("int32", "int64") else values
        for given in (values, signed):
            given = np.asarray(given).astype(dtype)
            assert repr(sa.array(given)) == numpys_text(given)


def test_views_show_their_own_elements():
    values = np.arange(2400, dtype="float32").reshape(40, 60)
    x = sa.array(values)
    for view, seen in ((x.T, values.T), (x[::-1, ::7], values[::-1, ::7]), (x[3], values[3])):
        assert repr(view) == numpys_text(np.ascontiguousarray(seen))


def test_bfloat16_shows_the_fewest_digits_that_read_back():
    x = sa.array([0.1, 1.0, -2.5, 3.14], dtype=sa.bfloat16)
    assert repr(x) == "array([ 0.1 ,  1.  , -2.5 ,  3.14], dtype=bfloat16)"


def test_the_text_of_a_large_array_reads_its_ends_alone():
    wide = sa.broadcast_to(sa.array(7, dtype=sa.uint8), (2**38, 2**20))
    assert repr(wide) == (
        "array([[7, 7, 7, ..., 7, 7, 7],\n       [7, 7, 7, ..., 7, 7, 7],\n"
        "       [7, 7, 7, ..., 7, 7, 7],\n       ...,\n       [7, 7, 7, ..., 7, 7, 7],\n"
        "       [7, 7, 7, ..., 7, 7, 7],\n       [7, 7, 7, ..., 7, 7, 7]],\n"
        "      shape=(274877906944, 1048576), dtype=uint8)"
    )


def test_str_and_format_are_of_the_values():
    x = sa.array([1.5, 2.0])
    assert str(x) == f"{x}" == repr(x) == "array([1.5, 2. ], dtype=float32)"
    assert f"{x[0]:.3f}" == "1.500" and f"{sa.array(7):>4}" == "   7"
    with pytest.raises(TypeError, match=r"\[format\] array; got one of shape \(2,\)"):
        f"{x:.3f}"
