"""Random arrays from keys, equal to MLX's."""

import strandline.array.typing

def seed(seed: int) -> None:
    """
    Begins this thread's sequence of keys anew, from an integer of 64 bits without a sign.
    """

def key(seed: int) -> Array:
    """A key, uint32 of shape (2,), of an integer of 64 bits without a sign."""

def split(key: Array, num: int = 2) -> Array:
    """
    Keys that are independent of each other and of the one given: uint32 of shape (num, 2).
    """

def bits(shape: strandline.array.typing.ShapeLike = (), key: Array | None = None) -> Array:
    """Uniform uint32."""

def uniform(
    low: strandline.array.typing.ArrayLike = 0,
    high: strandline.array.typing.ArrayLike = 1,
    shape: strandline.array.typing.ShapeLike = (),
    dtype: strandline.array.typing.DtypeLike | None = None,
    key: Array | None = None,
) -> Array:
    """
    Evenly in [low, high); the bounds broadcast to the shape. float32 unless said.
    """

def normal(
    shape: strandline.array.typing.ShapeLike = (),
    dtype: strandline.array.typing.DtypeLike | None = None,
    loc: float = 0.0,
    scale: float = 1.0,
    key: Array | None = None,
) -> Array:
    """Normal, of mean loc and standard deviation scale. float32 unless said."""

def randint(
    low: strandline.array.typing.ArrayLike,
    high: strandline.array.typing.ArrayLike,
    shape: strandline.array.typing.ShapeLike = (),
    dtype: strandline.array.typing.DtypeLike | None = None,
    key: Array | None = None,
) -> Array:
    """
    Integers in [low, high); the bounds broadcast to the shape. int32 unless said.
    """

def categorical(
    logits: strandline.array.typing.ArrayLike, axis: int = -1, key: Array | None = None
) -> Array:
    """
    Indices drawn by softmax(logits) along an axis, which the result lacks; uint32.
    """
