# SPDX-License-Identifier: Apache-2.0
"""Random arrays from keys: the same key gives the same values on every device, and MLX's values.

Without a key, the next key of the calling thread's sequence is used; `seed` begins it anew (it
begins with 0).
"""

from .._native.array.random import (
    bits,
    categorical,
    key,
    normal,
    randint,
    seed,
    split,
    uniform,
)

__all__ = ["bits", "categorical", "key", "normal", "randint", "seed", "split", "uniform"]
