# SPDX-License-Identifier: Apache-2.0
"""Quantized weights in every affine width and microscaling mode, products with them, and layers."""

import mlx.core as mx
import mlx.nn as nn
from support.results import show, show_error


def values(seed, *shape):
    return mx.random.normal(shape, key=mx.random.key(seed))


w, x = values(1, 64, 128), values(2, 5, 128)

for bits in (2, 3, 4, 5, 6, 8):
    for group in (32, 64):
        packed = mx.quantize(w, group_size=group, bits=bits)
        show(f"affine {bits} {group}", packed)
        show(f"dequantize {bits} {group}", mx.dequantize(*packed, group_size=group, bits=bits))
        options = {"group_size": group, "bits": bits}
        show(f"product {bits} {group}", mx.quantized_matmul(x, *packed, transpose=True, **options))
        show(
            f"plain {bits} {group}",
            mx.quantized_matmul(x[:, :64], *packed, transpose=False, **options),
        )

for mode in ("mxfp4", "mxfp8", "nvfp4"):
    packed, scales = mx.quantize(w, mode=mode)
    show(mode, [packed, scales, mx.dequantize(packed, scales, mode=mode)])
    show(f"{mode} product", mx.quantized_matmul(x, packed, scales, transpose=True, mode=mode))

experts = mx.quantize(values(3, 4, 64, 128))
routes = mx.array([3, 0, 0, 2, 1], mx.uint32)
show("gather_qmm", mx.gather_qmm(x[:, None], *experts, rhs_indices=routes, transpose=True))

mx.random.seed(4)
model = nn.Sequential(
    nn.Embedding(20, 64), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8, bias=False)
)
tokens = mx.arange(20)
show("before", model(tokens))
nn.quantize(model, group_size=32, bits=4)
show("after", model(tokens))
show("parameters", {name: value for name, value in nn.utils.tree_flatten(model.parameters())})

packed = mx.quantize(w)
show(
    "grad by x",
    mx.grad(lambda x: mx.quantized_matmul(x, *packed, transpose=True).square().sum())(x),
)
show_error("vmap", lambda: mx.vmap(lambda row: mx.quantized_matmul(row[None], *packed))(x))
show_error("odd width", lambda: mx.quantize(values(5, 4, 33)))
