# SPDX-License-Identifier: Apache-2.0
"""Fourier transforms: every kind, odd and padded lengths, strided input, and their gradients."""

import mlx.core as mx
from support.results import show


def signal(*shape, seed=1):
    return mx.random.normal(shape, key=mx.random.key(seed))


x = signal(6, 15)
z = signal(4, 8) + 1j * signal(4, 8, seed=2)
volume = signal(3, 4, 5)

show(
    "fft",
    [mx.fft.fft(x), mx.fft.fft(z), mx.fft.fft(z, axis=0), mx.fft.fft(x, n=20), mx.fft.fft(x, n=9)],
)
show("ifft", [mx.fft.ifft(z), mx.fft.ifft(mx.fft.fft(x)), mx.fft.ifft(z.T, axis=1)])
show("rfft", [mx.fft.rfft(x), mx.fft.rfft(x, axis=0), mx.fft.rfft(x[:, ::2])])
show("irfft", [mx.fft.irfft(z), mx.fft.irfft(mx.fft.rfft(x), n=15), mx.fft.irfft(z, n=7, axis=0)])
show(
    "2d",
    [mx.fft.fft2(z), mx.fft.ifft2(z), mx.fft.rfft2(x), mx.fft.irfft2(mx.fft.rfft2(x), s=(6, 15))],
)
show(
    "nd",
    [
        mx.fft.fftn(volume),
        mx.fft.ifftn(volume, axes=(0, 2)),
        mx.fft.rfftn(volume, s=(4, 6), axes=(0, 1)),
    ],
)
show("irfftn", mx.fft.irfftn(mx.fft.rfftn(volume), s=(3, 4, 5), axes=(0, 1, 2)))
show(
    "shift",
    [mx.fft.fftshift(x), mx.fft.ifftshift(x, axes=1), mx.fft.fftfreq(9), mx.fft.rfftfreq(9, 0.1)],
)
show("lengths", [mx.abs(mx.fft.fft(signal(n))) for n in (1, 2, 3, 7, 64, 97, 1024)])
show("grad", mx.grad(lambda v: mx.abs(mx.fft.rfft(v)).square().sum())(x))
show("convolution", mx.fft.irfft(mx.fft.rfft(x, 32) * mx.fft.rfft(x[0], 32), 32))
show("vmap", mx.vmap(mx.fft.fft, in_axes=1)(x))
