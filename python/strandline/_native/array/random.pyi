"""Random arrays from keys, equal to MLX's."""

import strandline._native.array

def seed(seed: int) -> None:
    """Begins this thread's sequence of keys anew."""

def key(seed: int) -> strandline._native.array.Array:
    """A key: uint32 of shape (2,)."""

def split(key: strandline._native.array.Array, num: int = ...) -> strandline._native.array.Array:
    """Keys that are independent of each other and of the one given."""

def bits(
    shape: object = ..., key: strandline._native.array.Array | None = ...
) -> strandline._native.array.Array:
    """Uniform uint32."""

def uniform(
    low: object = ...,
    high: object = ...,
    shape: object = ...,
    dtype: object | None = ...,
    key: strandline._native.array.Array | None = ...,
) -> strandline._native.array.Array:
    """Evenly in [low, high)."""

def normal(
    shape: object = ...,
    dtype: object | None = ...,
    loc: float = ...,
    scale: float = ...,
    key: strandline._native.array.Array | None = ...,
) -> strandline._native.array.Array:
    """Normal, of mean loc."""

def randint(
    low: object,
    high: object,
    shape: object = ...,
    dtype: object | None = ...,
    key: strandline._native.array.Array | None = ...,
) -> strandline._native.array.Array:
    """Integers in [low, high)."""

def categorical(
    logits: strandline._native.array.Array,
    axis: int = ...,
    key: strandline._native.array.Array | None = ...,
) -> strandline._native.array.Array:
    """Indices drawn by softmax(logits) along an axis."""
