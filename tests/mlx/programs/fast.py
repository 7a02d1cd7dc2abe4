# SPDX-License-Identifier: Apache-2.0
"""The operations of `mx.fast` in their forms, values and gradients."""

import mlx.core as mx
from support.results import show


def values(seed, *shape, dtype=mx.float32):
    return mx.random.normal(shape, dtype, key=mx.random.key(seed))


def norms():
    weight, bias = values(1, 16), values(2, 16)
    for dtype in (mx.float32, mx.float16, mx.bfloat16):
        x = values(3, 4, 6, 16, dtype=dtype)
        w, b = weight.astype(dtype), bias.astype(dtype)
        show(
            f"layer_norm {dtype}",
            [mx.fast.layer_norm(x, w, b, 1e-5), mx.fast.layer_norm(x, None, None, 1e-5)],
        )
        show(f"rms_norm {dtype}", [mx.fast.rms_norm(x, w, 1e-5), mx.fast.rms_norm(x, None, 1e-5)])
    x = values(4, 5, 16)
    layer = mx.grad(
        lambda x, w, b: mx.fast.layer_norm(x, w, b, 1e-5).square().sum(), argnums=(0, 1, 2)
    )
    rms = mx.grad(lambda x, w: (mx.fast.rms_norm(x, w, 1e-5) ** 3).sum(), argnums=(0, 1))
    show("layer_norm grad", layer(x, weight, bias))
    show("rms_norm grad", rms(x, weight))


def rotary():
    x = values(5, 2, 3, 7, 8)
    for traditional in (False, True):
        options = {"traditional": traditional, "scale": 1.0}
        show(f"rope {traditional}", mx.fast.rope(x, 8, base=10000.0, offset=0, **options))
        show(f"rope part {traditional}", mx.fast.rope(x, 4, base=500.0, offset=3, **options))
        offsets = mx.array([1, 5])
        show(
            f"rope offsets {traditional}",
            mx.fast.rope(x, 8, base=10000.0, offset=offsets, **options),
        )
        frequencies = mx.array([1.0, 2.0, 4.0, 8.0])
        show(
            f"rope freqs {traditional}",
            mx.fast.rope(x, 8, base=None, offset=2, freqs=frequencies, **options),
        )

    def turned(x):
        options = {"traditional": False, "base": 1e4, "scale": 0.5, "offset": 1}
        return mx.fast.rope(x, 8, **options).square()[..., :3].sum()

    show("rope grad", mx.grad(turned)(x))


def attention():
    q, k, v = values(6, 2, 4, 9, 8), values(7, 2, 2, 11, 8), values(8, 2, 2, 11, 8)
    sdpa = mx.fast.scaled_dot_product_attention
    show("attention", sdpa(q, k, v, scale=0.35))
    show("attention causal", sdpa(q, k, v, scale=0.35, mask="causal"))
    show("attention bool mask", sdpa(q, k, v, scale=0.35, mask=mx.tri(9, 11, dtype=mx.bool_)))
    show("attention added mask", sdpa(q, k, v, scale=0.35, mask=values(9, 9, 11)))
    show("attention sinks", sdpa(q, k, v, scale=0.35, sinks=values(10, 4)))
    show(
        "attention half",
        sdpa(*(a.astype(mx.float16) for a in (q, k, v)), scale=0.35, mask="causal"),
    )

    def loss(q, k, v):
        return sdpa(q, k, v, scale=0.35, mask="causal").square().sum()

    show("attention grad", mx.grad(loss, argnums=(0, 1, 2))(q, k, v))
    show("attention one query", sdpa(q[:, :, :1], k, v, scale=0.35))


def others():
    logits, targets = values(11, 6, 10), mx.arange(6) + 2
    show("cross_entropy", mx.fast.cross_entropy(logits, targets))
    show("cross_entropy grad", mx.grad(lambda x: mx.fast.cross_entropy(x, targets).sum())(logits))
    q, k, v = values(12, 2, 9, 2, 8), values(13, 2, 9, 2, 8), values(14, 2, 9, 4, 8)
    decay, beta = mx.sigmoid(values(15, 2, 9, 4)), mx.sigmoid(values(16, 2, 9, 4))
    show("gated_delta_update", mx.fast.gated_delta_update(q, k, v, decay, beta))


norms()
rotary()
attention()
others()
