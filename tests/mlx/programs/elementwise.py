# SPDX-License-Identifier: Apache-2.0
"""Elementwise operations over the dtypes; broadcasting, scalars, empty and strided operands."""

import mlx.core as mx
from support.results import show

FLOATS = (mx.float32, mx.float16, mx.bfloat16)
INTEGERS = (mx.int8, mx.int16, mx.int32, mx.int64, mx.uint8, mx.uint16, mx.uint32, mx.uint64)
UNARY = (
    "abs negative sign square sqrt rsqrt reciprocal exp expm1 log log1p log2 log10 sin cos tan "
    "sinh cosh tanh arcsinh sigmoid erf ceil floor round isnan isinf isfinite logical_not "
    "stop_gradient"
).split()
UNIT_INTERVAL = "arcsin arccos arctan arctanh erfinv degrees radians".split()
BINARY = (
    "add subtract multiply divide maximum minimum power remainder floor_divide arctan2 logaddexp "
    "equal not_equal less less_equal greater greater_equal logical_and logical_or"
).split()
BITWISE = "bitwise_and bitwise_or bitwise_xor left_shift right_shift".split()


def floats():
    for dtype in FLOATS:
        x = mx.linspace(0.1, 3.0, 48).reshape(6, 8).astype(dtype)
        y = mx.linspace(2.5, 0.5, 8).astype(dtype)
        for name in UNARY:
            show(f"{name} {dtype}", getattr(mx, name)(x))
        for name in UNIT_INTERVAL:
            show(f"{name} {dtype}", getattr(mx, name)(x / 4))
        for name in BINARY:
            show(f"{name} {dtype}", getattr(mx, name)(x, y))
        show(f"divmod {dtype}", mx.divmod(x, y))
        show(f"clip {dtype}", mx.clip(x, 0.5, y))
    show("arccosh", mx.arccosh(mx.linspace(1.0, 9.0, 17)))
    show("float64", mx.sin(mx.arange(9, dtype=mx.float32).astype(mx.float64)) * 2)


def integers():
    for dtype in INTEGERS:
        x = (mx.arange(40) % 7 + 1).astype(dtype).reshape(5, 8)
        y = (mx.arange(8) % 3 + 1).astype(dtype)
        for name in BINARY[:3] + BINARY[5:9] + BITWISE:
            show(f"{name} {dtype}", getattr(mx, name)(x, y))
        show(f"divide {dtype}", x / y)
        show(f"invert {dtype}", ~x)
        show(f"cast {dtype}", (x.astype(mx.float32) * 0.5).astype(dtype))
    show("bool", [mx.array([True, False]) & mx.array([True, True]), ~mx.array([True, False])])


def complex_numbers():
    z = mx.linspace(-1, 1, 12) + 1j * mx.linspace(2, -2, 12)
    for name in "exp sin cos tan log sqrt abs real imag conjugate negative square".split():
        show(f"complex {name}", getattr(mx, name)(z))
    show("complex product", z * z[::-1] + z / (z + 3))
    show("complex scalar", mx.array(1 + 2j) * 3)


def shapes():
    scalar, empty = mx.array(1.5), mx.zeros((0, 4))
    show(
        "scalars",
        [scalar + 1, 1 - scalar, scalar * True, mx.array(3) // 2, mx.array(7, mx.uint8) % 4],
    )
    show("empty", [empty + 1, mx.exp(empty), empty * mx.ones((1, 4)), mx.zeros((3, 0, 2)) > 0])
    x = mx.arange(60, dtype=mx.float32).reshape(3, 4, 5)
    show("strided", [x.transpose(2, 0, 1) + 1, x[:, ::2] * x[:, 1::2], mx.exp(-x[::-1, :, 1:4])])
    show(
        "broadcast",
        [x[:, :1] + x[:1], mx.broadcast_to(scalar, (2, 3)) * 2, x + mx.arange(4)[:, None]],
    )
    show(
        "select",
        [
            mx.where(x > 30, x, -x),
            mx.where(x > 30, 0, 1),
            mx.nan_to_num(mx.array([mx.nan, mx.inf])),
        ],
    )
    show("mixed", [mx.array([1, 2], mx.int8) + mx.array([1.5, 2], mx.float16), mx.array([1]) / 3])
    show("fp8", mx.from_fp8(mx.to_fp8(mx.linspace(-2, 2, 16)), mx.float32))
    show("one large", mx.tanh(mx.arange(1_000_003, dtype=mx.float32) / 1e5))


floats()
integers()
complex_numbers()
shapes()
