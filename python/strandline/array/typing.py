# SPDX-License-Identifier: Apache-2.0
"""What functions of arrays take, as types: for annotations of your own, and for editors."""

from collections.abc import Sequence
from typing import Any, Protocol, SupportsFloat, SupportsIndex

from .._native.array import Array, Dtype

__all__ = ["ArrayLike", "AxesLike", "DtypeLike", "ShapeLike", "SupportsBuffer", "SupportsDLPack"]


class SupportsBuffer(Protocol):
    """Memory by the buffer protocol: NumPy's arrays, bytes, memoryview, array.array."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


class SupportsDLPack(Protocol):
    """Memory by DLPack: tensors of MLX, PyTorch, JAX and others."""

    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...


#: An array, a number, nested lists and tuples of numbers or arrays, or memory of others.
ArrayLike = Array | SupportsFloat | SupportsIndex | Sequence[Any] | SupportsBuffer | SupportsDLPack
#: A dtype, or its name: ``"float32"``.
DtypeLike = Dtype | str
#: Extents in elements; an int is one axis.
ShapeLike = SupportsIndex | Sequence[SupportsIndex]
#: An axis or several, negative ones from the end.
AxesLike = SupportsIndex | Sequence[SupportsIndex]
