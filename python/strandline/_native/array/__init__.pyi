"""Lazy arrays."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, SupportsIndex, overload

from strandline._native.array import random as random
import strandline.allocators
import strandline.array.typing

class Dtype:
    """The type of an array's elements."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int:
        """Bytes of one element."""

    def __repr__(self) -> str: ...
    def __copy__(self) -> Dtype: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> Dtype: ...

dtypes: dict = ...

class Array:
    """A lazy array. Python's buffer protocol sees its values."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int:
        """Elements."""

    @property
    def nbytes(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def dtype(self) -> Dtype: ...
    @property
    def id(self) -> int:
        """Of the descriptor."""

    @property
    def status(self) -> str:
        """'unscheduled', 'evaluated' or 'available'."""

    @property
    def primitive(self) -> str | None:
        """What makes it, None for a leaf and once it is evaluated."""

    @property
    def address(self) -> int:
        """Of its buffer, as the record has it; 0 before it has one."""

    @property
    def device(self) -> Device:
        """Where its values lie, or will."""

    def is_available(self) -> bool:
        """Whether the values are there; never waits."""

    def item(self) -> bool | int | float:
        """
        The value of an array of one element; ValueError for others. Evaluates.
        """

    def tolist(self) -> Any:
        """
        Nested lists of numbers, one number for an array without axes. Evaluates.
        """

    def __bool__(self) -> bool: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __index__(self) -> int:
        """Of a scalar of integers."""

    def __len__(self) -> int: ...
    def __repr__(self) -> str:
        """
        As NumPy's, with the dtype; of more than 1000 elements the ends of each axis.
        """

    def __hash__(self) -> int:
        """Of the object, which x += 1 keeps."""

    def __iter__(self) -> Iterator[Array]: ...
    def __dlpack__(
        self,
        *,
        stream: None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """
        A DLPack capsule of the memory, which the array API standard of 2024 describes;
        evaluates. Without a copy it is for reading: from version 1.0 on the capsule says so.
        BufferError for another device than (1, 0), the host.
        """

    def __dlpack_device__(self) -> tuple[int, int]:
        """(1, 0), the host: every device of arrays has memory that it reaches."""

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """
        For NumPy where it cannot use the memory: bfloat16 needs a dtype, or ml_dtypes to be
        installed; TypeError without.
        """

    def __add__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __radd__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __iadd__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __sub__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __rsub__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __isub__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __mul__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __rmul__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __imul__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __truediv__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __rtruediv__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __itruediv__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __floordiv__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __rfloordiv__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __ifloordiv__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __mod__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __rmod__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __imod__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __pow__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __rpow__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __ipow__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __matmul__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __rmatmul__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __imatmul__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __and__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __rand__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __iand__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __or__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __ror__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __ior__(self, other: strandline.array.typing.ArrayLike, /) -> Array: ...
    def __eq__(self, other: object, /) -> Array: ...
    def __ne__(self, other: object, /) -> Array: ...
    def __lt__(self, other: object, /) -> Array: ...
    def __le__(self, other: object, /) -> Array: ...
    def __gt__(self, other: object, /) -> Array: ...
    def __ge__(self, other: object, /) -> Array: ...
    def __neg__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array:
        """Of truth values."""

    def __getitem__(self, index: Any, /) -> Array:
        """
        Elements by a number, a slice, None, ..., an array or list of integers, or a tuple of those,
        with NumPy's meaning; slices are views. IndexError outside of an axis, TypeError for others.
        """

    def reshape(self, *shape: strandline.array.typing.ShapeLike) -> Array:
        """
        The elements row by row in another shape, given as one argument or several; one extent
        may be -1. ValueError for another number of elements.
        """

    def transpose(self, *axes: strandline.array.typing.AxesLike) -> Array:
        """
        Axes in another order, given as one argument or several; reversed unless said.
        """

    @property
    def T(self) -> Array:
        """Axes reversed."""

    def astype(self, dtype: strandline.array.typing.DtypeLike) -> Array:
        """Converted: floats to integers towards zero, anything to bool by != 0."""

    def flatten(self) -> Array:
        """Along one axis, row by row."""

    def squeeze(self, axis: strandline.array.typing.AxesLike | None = None) -> Array:
        """
        Without axes of extent 1, all unless said. ValueError for one of another extent.
        """

    def __copy__(self) -> Array: ...
    def __deepcopy__(self, memo: dict[int, Any]) -> Array: ...
    def __getstate__(self) -> tuple[bytes, str, tuple[int, ...]]:
        """
        For pickle: the values, evaluated. Who reads them has them on the default device.
        """

    def __setstate__(self, state: tuple[bytes, str, tuple[int, ...]], /) -> None: ...
    def abs(self) -> Array:
        """|a|"""

    def square(self) -> Array:
        """a * a"""

    def exp(self) -> Array:
        """e to the power of a; integers become float32."""

    def log(self) -> Array:
        """The natural logarithm; integers become float32."""

    def sqrt(self) -> Array:
        """The square root; integers become float32."""

    def rsqrt(self) -> Array:
        """1 / sqrt(a)"""

    def sin(self) -> Array:
        """The sine of radians."""

    def cos(self) -> Array:
        """The cosine of radians."""

    def round(self) -> Array:
        """The nearest integer, the even one of two."""

    def sum(
        self, axis: strandline.array.typing.AxesLike | None = None, keepdims: bool = False
    ) -> Array:
        """
        The sum over an axis, several, or all; bool is counted in int32, uint8 in uint32.
        keepdims leaves axes of extent 1. ValueError for an axis that is not there.
        """

    def prod(
        self, axis: strandline.array.typing.AxesLike | None = None, keepdims: bool = False
    ) -> Array:
        """The product over an axis, several, or all; dtypes as for sum."""

    def mean(
        self, axis: strandline.array.typing.AxesLike | None = None, keepdims: bool = False
    ) -> Array:
        """The mean over an axis, several, or all; of integers a float32."""

    def max(
        self, axis: strandline.array.typing.AxesLike | None = None, keepdims: bool = False
    ) -> Array:
        """
        The largest over an axis, several, or all; NaN if one is. ValueError for an axis
        without elements.
        """

    def min(
        self, axis: strandline.array.typing.AxesLike | None = None, keepdims: bool = False
    ) -> Array:
        """
        The smallest over an axis, several, or all; NaN if one is. ValueError for an axis
        without elements.
        """

    def logsumexp(
        self, axis: strandline.array.typing.AxesLike | None = None, keepdims: bool = False
    ) -> Array:
        """
        log(sum(exp(a))) over an axis, several, or all, without overflow; a float.
        """

    def argmax(self, axis: SupportsIndex | None = None, keepdims: bool = False) -> Array:
        """Index of the first largest along an axis, or of all elements; uint32."""

    def argmin(self, axis: SupportsIndex | None = None, keepdims: bool = False) -> Array:
        """Index of the first smallest along an axis, or of all elements; uint32."""

    def var(
        self,
        axis: strandline.array.typing.AxesLike | None = None,
        keepdims: bool = False,
        ddof: int = 0,
    ) -> Array:
        """
        The variance over an axis, several, or all, divided by n - ddof; a float. ValueError for an
        axis that is not there.
        """

    def swapaxes(self, first: int, second: int) -> Array:
        """Two axes exchanged; a view."""

    def moveaxis(self, source: int, to: int) -> Array:
        """One axis moved, the others in order; a view."""

    def split(self, parts: int | Sequence[int], axis: int = 0) -> list[Array]:
        """
        So many equal parts along an axis, or parts from each index to the next; views. ValueError
        for an extent that is no multiple of the number.
        """

def array(
    value: strandline.array.typing.ArrayLike, dtype: strandline.array.typing.DtypeLike | None = None
) -> Array:
    """
    A new array of a number, nested lists, a buffer or a DLPack tensor, copied. Integers become
    int32, or int64 where they need it; floats and memory of float64 become float32 unless a
    dtype is given. TypeError for what has no numbers, ValueError for lists of unequal lengths.
    """

def asarray(
    value: strandline.array.typing.ArrayLike,
    dtype: strandline.array.typing.DtypeLike | None = None,
    copy: bool | None = None,
) -> Array:
    """
    An array over the own memory of a buffer, or of a tensor that has __dlpack__, in any layout
    of whole, aligned elements, where the device can use it; else a copy. An array is returned
    as it is. copy=True always copies, copy=False raises ValueError where a copy is needed. The
    memory must not change while arrays use it.
    """

class Device:
    """
    Where arrays live: the device of an allocator. None is the host with its default allocator.

    The host must reach the allocator's memory, else ValueError; TypeError for other objects. Two
    devices of one allocator are equal.
    """

    def __init__(self, allocator: strandline.allocators.Allocator | None = None) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def default_stream(self) -> Stream: ...
    @property
    def queued_tasks(self) -> int:
        """Work that was queued and has not run."""

    @property
    def active_memory(self) -> int:
        """Bytes that its allocator has handed out."""

    def __eq__(self, b: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...

class Stream:
    """An in-order queue of a device's work."""

    @property
    def device(self) -> Device: ...
    @property
    def number(self) -> int: ...
    @property
    def is_closed(self) -> bool: ...
    def close(self) -> None:
        """Waits for its work and ends it."""

    def __eq__(self, b: object) -> bool: ...
    def __hash__(self) -> int: ...
    def __repr__(self) -> str: ...

def default_device() -> Device:
    """The host until another is set."""

def set_default_device(device: Device) -> Device:
    """The one before."""

def new_stream(device: Device) -> Stream:
    """A further stream of a device."""

def current_stream() -> Stream:
    """Where this thread's operations go."""

def push_stream(stream: Stream) -> None:
    """This thread's operations go there until pop_stream."""

def pop_stream() -> None:
    """Ends the innermost push_stream."""

def to_device(a: Array, device: Device) -> Array:
    """Another device's copy of an array."""

@overload
def synchronize(device: Device) -> None:
    """Waits for all work of a device."""

@overload
def synchronize(stream: Stream) -> None:
    """Waits for the work of a stream."""

def zeros(
    shape: strandline.array.typing.ShapeLike, dtype: strandline.array.typing.DtypeLike | None = None
) -> Array:
    """Zeros of a shape, float32 unless said."""

def ones(
    shape: strandline.array.typing.ShapeLike, dtype: strandline.array.typing.DtypeLike | None = None
) -> Array:
    """Ones of a shape, float32 unless said."""

def full(
    shape: strandline.array.typing.ShapeLike,
    value: strandline.array.typing.ArrayLike,
    dtype: strandline.array.typing.DtypeLike | None = None,
) -> Array:
    """
    A value, which broadcasts to the shape, spread over it; of the value's dtype unless said.
    """

def zeros_like(a: strandline.array.typing.ArrayLike) -> Array:
    """Zeros of its shape and dtype."""

def ones_like(a: strandline.array.typing.ArrayLike) -> Array:
    """Ones of its shape and dtype."""

def arange(
    start: float,
    stop: float | None = None,
    step: float = 1,
    dtype: strandline.array.typing.DtypeLike | None = None,
) -> Array:
    """
    start, start + step, … before stop; with one argument from 0 to it. int32 of integers
    that fit, int64 of larger ones, float32 of floats. ValueError for a step of 0 and for bounds
    that are not finite.
    """

def eye(
    n: int, m: int | None = None, k: int = 0, dtype: strandline.array.typing.DtypeLike | None = None
) -> Array:
    """Ones on the k-th diagonal of n rows and m columns, n unless said."""

def negative(a: strandline.array.typing.ArrayLike) -> Array:
    """-a"""

def abs(a: strandline.array.typing.ArrayLike) -> Array:
    """|a|"""

def sign(a: strandline.array.typing.ArrayLike) -> Array:
    """-1, 0 or 1."""

def square(a: strandline.array.typing.ArrayLike) -> Array:
    """a * a"""

def logical_not(a: strandline.array.typing.ArrayLike) -> Array:
    """Whether it is 0."""

def exp(a: strandline.array.typing.ArrayLike) -> Array:
    """e to the power of a; integers become float32."""

def log(a: strandline.array.typing.ArrayLike) -> Array:
    """The natural logarithm; integers become float32."""

def sqrt(a: strandline.array.typing.ArrayLike) -> Array:
    """The square root; integers become float32."""

def rsqrt(a: strandline.array.typing.ArrayLike) -> Array:
    """1 / sqrt(a)"""

def tanh(a: strandline.array.typing.ArrayLike) -> Array:
    """The hyperbolic tangent."""

def sigmoid(a: strandline.array.typing.ArrayLike) -> Array:
    """1 / (1 + exp(-a))"""

def erf(a: strandline.array.typing.ArrayLike) -> Array:
    """The error function."""

def erfinv(a: strandline.array.typing.ArrayLike) -> Array:
    """The inverse of the error function."""

def sin(a: strandline.array.typing.ArrayLike) -> Array:
    """The sine of radians."""

def cos(a: strandline.array.typing.ArrayLike) -> Array:
    """The cosine of radians."""

def floor(a: strandline.array.typing.ArrayLike) -> Array:
    """The largest integer not above."""

def ceil(a: strandline.array.typing.ArrayLike) -> Array:
    """The smallest integer not below."""

def round(a: strandline.array.typing.ArrayLike) -> Array:
    """The nearest integer, the even one of two."""

def stop_gradient(a: strandline.array.typing.ArrayLike) -> Array:
    """The same values, without a gradient."""

def contiguous(a: strandline.array.typing.ArrayLike) -> Array:
    """The same values, row by row in memory."""

def add(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """a + b; they broadcast, and dtypes are promoted."""

def subtract(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """a - b"""

def multiply(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """a * b"""

def divide(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """The real quotient; integers become float32."""

def floor_divide(
    a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike
) -> Array:
    """a // b; of integers by 0 it is 0."""

def remainder(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """a % b, of the sign of b."""

def power(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """a ** b"""

def maximum(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """The larger; NaN if one is."""

def minimum(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """The smaller; NaN if one is."""

def logaddexp(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """log(exp(a) + exp(b))"""

def equal(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """a == b"""

def not_equal(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """a != b"""

def less(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """a < b"""

def less_equal(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """a <= b"""

def greater(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """a > b"""

def greater_equal(
    a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike
) -> Array:
    """a >= b"""

def logical_and(
    a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike
) -> Array:
    """Whether neither is 0."""

def logical_or(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """Whether one is not 0."""

def matmul(a: strandline.array.typing.ArrayLike, b: strandline.array.typing.ArrayLike) -> Array:
    """
    The matrix product over the last two axes, as NumPy has it; the axes before broadcast.
    """

def where(
    condition: strandline.array.typing.ArrayLike,
    a: strandline.array.typing.ArrayLike,
    b: strandline.array.typing.ArrayLike,
) -> Array:
    """a where the condition is not 0, else b; the three broadcast."""

def clip(
    a: strandline.array.typing.ArrayLike,
    low: strandline.array.typing.ArrayLike | None = None,
    high: strandline.array.typing.ArrayLike | None = None,
) -> Array:
    """a within the bounds that are given; the three broadcast."""

def astype(a: strandline.array.typing.ArrayLike, dtype: strandline.array.typing.DtypeLike) -> Array:
    """Converted: floats to integers towards zero, anything to bool by != 0."""

def matmul_library() -> str:
    """
    What multiplies float matrices: OpenBLAS with its version, or plain loops.
    """

def sum(
    a: strandline.array.typing.ArrayLike,
    axis: strandline.array.typing.AxesLike | None = None,
    keepdims: bool = False,
) -> Array:
    """
    The sum over an axis, several, or all; bool is counted in int32, uint8 in uint32.
    keepdims leaves axes of extent 1. ValueError for an axis that is not there.
    """

def prod(
    a: strandline.array.typing.ArrayLike,
    axis: strandline.array.typing.AxesLike | None = None,
    keepdims: bool = False,
) -> Array:
    """The product over an axis, several, or all; dtypes as for sum."""

def mean(
    a: strandline.array.typing.ArrayLike,
    axis: strandline.array.typing.AxesLike | None = None,
    keepdims: bool = False,
) -> Array:
    """The mean over an axis, several, or all; of integers a float32."""

def max(
    a: strandline.array.typing.ArrayLike,
    axis: strandline.array.typing.AxesLike | None = None,
    keepdims: bool = False,
) -> Array:
    """
    The largest over an axis, several, or all; NaN if one is. ValueError for an axis
    without elements.
    """

def min(
    a: strandline.array.typing.ArrayLike,
    axis: strandline.array.typing.AxesLike | None = None,
    keepdims: bool = False,
) -> Array:
    """
    The smallest over an axis, several, or all; NaN if one is. ValueError for an axis
    without elements.
    """

def logsumexp(
    a: strandline.array.typing.ArrayLike,
    axis: strandline.array.typing.AxesLike | None = None,
    keepdims: bool = False,
) -> Array:
    """
    log(sum(exp(a))) over an axis, several, or all, without overflow; a float.
    """

def argmax(
    a: strandline.array.typing.ArrayLike, axis: SupportsIndex | None = None, keepdims: bool = False
) -> Array:
    """Index of the first largest along an axis, or of all elements; uint32."""

def argmin(
    a: strandline.array.typing.ArrayLike, axis: SupportsIndex | None = None, keepdims: bool = False
) -> Array:
    """Index of the first smallest along an axis, or of all elements; uint32."""

def var(
    a: strandline.array.typing.ArrayLike,
    axis: strandline.array.typing.AxesLike | None = None,
    keepdims: bool = False,
    ddof: int = 0,
) -> Array:
    """
    The variance over an axis, several, or all, divided by n - ddof; a float. ValueError for an
    axis that is not there.
    """

def softmax(
    a: strandline.array.typing.ArrayLike, axis: strandline.array.typing.AxesLike | None = None
) -> Array:
    """
    exp(a) / sum(exp(a)) over an axis, several, or all, without overflow; of its shape.
    """

def reshape(
    a: strandline.array.typing.ArrayLike, shape: strandline.array.typing.ShapeLike
) -> Array:
    """
    The elements row by row in another shape; one extent may be -1. A view where strides allow.
    ValueError for another number of elements.
    """

def broadcast_to(
    a: strandline.array.typing.ArrayLike, shape: strandline.array.typing.ShapeLike
) -> Array:
    """
    Spread over a shape: extents are equal from the right, or 1. A view. ValueError otherwise.
    """

def flatten(a: strandline.array.typing.ArrayLike) -> Array:
    """Along one axis, row by row."""

def expand_dims(
    a: strandline.array.typing.ArrayLike, axis: strandline.array.typing.AxesLike
) -> Array:
    """New axes of extent 1, counted in the result."""

def squeeze(
    a: strandline.array.typing.ArrayLike, axis: strandline.array.typing.AxesLike | None = None
) -> Array:
    """
    Without axes of extent 1, all unless said. ValueError for one of another extent.
    """

def transpose(
    a: strandline.array.typing.ArrayLike, axes: strandline.array.typing.AxesLike | None = None
) -> Array:
    """
    Axes in another order, reversed unless said; a view. ValueError unless each is named once.
    """

def swapaxes(a: strandline.array.typing.ArrayLike, first: int, second: int) -> Array:
    """Two axes exchanged; a view."""

def moveaxis(a: strandline.array.typing.ArrayLike, source: int, to: int) -> Array:
    """One axis moved, the others in order; a view."""

def split(
    a: strandline.array.typing.ArrayLike, parts: int | Sequence[int], axis: int = 0
) -> list[Array]:
    """
    So many equal parts along an axis, or parts from each index to the next; views. ValueError
    for an extent that is no multiple of the number.
    """

def concatenate(arrays: Sequence[strandline.array.typing.ArrayLike], axis: int = 0) -> Array:
    """
    One after another along an axis; the other extents are equal, dtypes are promoted.
    """

def stack(arrays: Sequence[strandline.array.typing.ArrayLike], axis: int = 0) -> Array:
    """
    Arrays of one shape beside another along a new axis, counted in the result.
    """

def pad(
    a: strandline.array.typing.ArrayLike,
    widths: int | tuple[int, int] | Sequence[tuple[int, int]],
    value: strandline.array.typing.ArrayLike = 0,
) -> Array:
    """
    More elements before and after, of one value: widths are a number for both ends of all axes,
    a pair for all axes, or a pair for each.
    """

def take(
    a: strandline.array.typing.ArrayLike,
    indices: strandline.array.typing.ArrayLike,
    axis: int | None = None,
) -> Array:
    """
    Elements at indices along an axis, whose place the indices' axes take; of all elements
    without one. An index outside shows as an IndexError when the work is waited for.
    """

def scatter_add(
    a: strandline.array.typing.ArrayLike,
    indices: strandline.array.typing.ArrayLike,
    updates: strandline.array.typing.ArrayLike,
    axis: int = 0,
) -> Array:
    """
    a with updates added at indices along an axis; the updates' first axes are the indices', the
    others those of a. Indices that are named twice add twice.
    """

def eval(*trees: Any) -> None:
    """
    Queues what the arrays in these lists, tuples and dictionaries need and waits for their
    values. DeviceError when work failed, ValueError inside of a function that is being
    differentiated, TypeError for what is no tree of arrays.
    """

def async_eval(*trees: Any) -> None:
    """Queues what the arrays in these trees need; returns before it has run."""

def value_and_grad(
    function: Callable[[list[Array]], list[Array]],
    inputs: Sequence[Array],
    arguments: Sequence[int],
) -> tuple[list[Array], list[Array]]:
    """
    Results, and the gradients of the first with respect to the inputs of these numbers.
    """

def graph_text(outputs: Sequence[Array], names: Sequence[tuple[str, Array]], as_dot: bool) -> str:
    """The graph that makes the outputs, for Graphviz or for people."""

def plan(outputs: Sequence[Array]) -> list[tuple[str, Array, int]]:
    """What eval would run, in order: operation, array, consumers."""

def consumers(a: Array, outputs: Sequence[Array]) -> int:
    """Uses of an array, or its siblings, in the graph of the outputs."""

def label(a: Array, text: str) -> bool:
    """Labels its node and its block; False when the recorder knows neither."""

def eval_limits() -> tuple[int, int]:
    """(width of the tape, tasks queued before the caller waits)"""

def set_eval_limits(max_width: int, max_queued_tasks: int) -> tuple[int, int]:
    """The limits before."""
