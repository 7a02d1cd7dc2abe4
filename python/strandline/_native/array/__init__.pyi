"""Lazy arrays."""

from collections.abc import Callable, Iterator, Sequence
from typing import overload

import strandline._native
from strandline._native.array import random as random

class Dtype:
    """The type of an array's elements."""

    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int:
        """Bytes of one element."""

    def __repr__(self) -> str: ...

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

    def is_available(self) -> bool:
        """Whether the values are there; never waits."""

    def item(self) -> bool | int | float:
        """The value of an array of one element."""

    def tolist(self) -> object:
        """Nested lists of numbers."""

    def __bool__(self) -> bool: ...
    def __float__(self) -> float: ...
    def __int__(self) -> int: ...
    def __len__(self) -> int: ...
    def __dlpack__(self, **options: object) -> object:
        """Evaluates; read only by agreement."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """The host's memory."""

    def __repr__(self) -> str: ...
    def __hash__(self) -> int: ...
    def __iter__(self) -> Iterator[Array]: ...
    def __add__(self, arg: object, /) -> Array: ...
    def __radd__(self, arg: object, /) -> Array: ...
    def __iadd__(self, arg: object, /) -> Array: ...
    def __sub__(self, arg: object, /) -> Array: ...
    def __rsub__(self, arg: object, /) -> Array: ...
    def __isub__(self, arg: object, /) -> Array: ...
    def __mul__(self, arg: object, /) -> Array: ...
    def __rmul__(self, arg: object, /) -> Array: ...
    def __imul__(self, arg: object, /) -> Array: ...
    def __truediv__(self, arg: object, /) -> Array: ...
    def __rtruediv__(self, arg: object, /) -> Array: ...
    def __itruediv__(self, arg: object, /) -> Array: ...
    def __floordiv__(self, arg: object, /) -> Array: ...
    def __rfloordiv__(self, arg: object, /) -> Array: ...
    def __ifloordiv__(self, arg: object, /) -> Array: ...
    def __mod__(self, arg: object, /) -> Array: ...
    def __rmod__(self, arg: object, /) -> Array: ...
    def __imod__(self, arg: object, /) -> Array: ...
    def __pow__(self, arg: object, /) -> Array: ...
    def __rpow__(self, arg: object, /) -> Array: ...
    def __ipow__(self, arg: object, /) -> Array: ...
    def __matmul__(self, arg: object, /) -> Array: ...
    def __rmatmul__(self, arg: object, /) -> Array: ...
    def __imatmul__(self, arg: object, /) -> Array: ...
    def __and__(self, arg: object, /) -> Array: ...
    def __rand__(self, arg: object, /) -> Array: ...
    def __iand__(self, arg: object, /) -> Array: ...
    def __or__(self, arg: object, /) -> Array: ...
    def __ror__(self, arg: object, /) -> Array: ...
    def __ior__(self, arg: object, /) -> Array: ...
    def __eq__(self, b: object) -> Array: ...
    def __ne__(self, b: object) -> Array: ...
    def __lt__(self, b: object) -> Array: ...
    def __le__(self, b: object) -> Array: ...
    def __gt__(self, b: object) -> Array: ...
    def __ge__(self, b: object) -> Array: ...
    def __neg__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array:
        """Of truth values."""

    def __getitem__(self, index: object | None) -> Array: ...
    def reshape(self, *shape) -> Array:
        """Another shape; one extent may be -1."""

    def transpose(self, *axes) -> Array:
        """Axes in another order, reversed unless said."""

    @property
    def T(self) -> Array:
        """Axes reversed."""

    def astype(self, dtype: object) -> Array: ...
    def flatten(self) -> Array: ...
    def squeeze(self, axis: object | None = ...) -> Array: ...
    def sum(self, axis: object | None = ..., keepdims: bool = ...) -> Array: ...
    def mean(self, axis: object | None = ..., keepdims: bool = ...) -> Array: ...
    def max(self, axis: object | None = ..., keepdims: bool = ...) -> Array: ...
    def min(self, axis: object | None = ..., keepdims: bool = ...) -> Array: ...

def array(value: object, dtype: object | None = ...) -> Array:
    """
    A new array of a number, nested lists, or a buffer, copied. Integers become int32, or int64
    where they need it; floats and buffers of float64 become float32 unless a dtype is given.
    """

def asarray(value: object, dtype: object | None = ..., copy: bool | None = ...) -> Array:
    """
    An array over the own memory of a buffer, or of a tensor that has __dlpack__, where layout
    and device allow it, else a copy. copy=False refuses strides, copy=True always copies. The
    memory must not change while arrays use it.
    """

class Device:
    """Where arrays live, and the allocator they come from."""

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

def make_device(allocator: strandline._native.Allocator) -> Device:
    """The device of an allocator."""

def host_device() -> Device:
    """The host, with its default allocator at the time."""

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

@overload
def synchronize(device: Device) -> None:
    """Waits for all work of a device."""

@overload
def synchronize(stream: Stream) -> None:
    """Waits for the work of a stream."""

def zeros(shape: object, dtype: object | None = ...) -> Array:
    """Zeros, float32 unless said."""

def ones(shape: object, dtype: object | None = ...) -> Array:
    """Ones, float32 unless said."""

def full(shape: object, value: object, dtype: object | None = ...) -> Array:
    """A value spread over a shape."""

def zeros_like(a: Array) -> Array:
    """Zeros of its shape and dtype."""

def ones_like(a: Array) -> Array:
    """Ones of its shape and dtype."""

def arange(
    start: object, stop: object | None = ..., step: object = ..., dtype: object | None = ...
) -> Array:
    """start, start + step, … before stop; with one argument from 0 to it. int32 of integers that fit, int64 of larger ones, float32 of floats."""

def eye(n: int, m: int | None = ..., k: int = ..., dtype: object | None = ...) -> Array:
    """Ones on the k-th diagonal of n rows and m columns."""

def negative(a: object) -> Array:
    """-a"""

def abs(a: object) -> Array:
    """|a|"""

def sign(a: object) -> Array:
    """-1, 0 or 1."""

def square(a: object) -> Array:
    """a * a"""

def logical_not(a: object) -> Array:
    """Whether it is 0."""

def exp(a: object) -> Array:
    """e to the power of a."""

def log(a: object) -> Array:
    """The natural logarithm."""

def sqrt(a: object) -> Array:
    """The square root."""

def rsqrt(a: object) -> Array:
    """1 / sqrt(a)"""

def tanh(a: object) -> Array:
    """The hyperbolic tangent."""

def sigmoid(a: object) -> Array:
    """1 / (1 + exp(-a))"""

def erf(a: object) -> Array:
    """The error function."""

def erfinv(a: object) -> Array:
    """The inverse of the error function."""

def sin(a: object) -> Array:
    """The sine of radians."""

def cos(a: object) -> Array:
    """The cosine of radians."""

def floor(a: object) -> Array:
    """The largest integer not above."""

def ceil(a: object) -> Array:
    """The smallest integer not below."""

def round(a: object) -> Array:
    """The nearest integer, the even one of two."""

def stop_gradient(a: object) -> Array:
    """The same values, without a gradient."""

def contiguous(a: object) -> Array:
    """The same values, row by row in memory."""

def add(a: object, b: object) -> Array:
    """a + b"""

def subtract(a: object, b: object) -> Array:
    """a - b"""

def multiply(a: object, b: object) -> Array:
    """a * b"""

def divide(a: object, b: object) -> Array:
    """The real quotient."""

def floor_divide(a: object, b: object) -> Array:
    """a // b; of integers by 0 it is 0."""

def remainder(a: object, b: object) -> Array:
    """a % b, of the sign of b."""

def power(a: object, b: object) -> Array:
    """a ** b"""

def maximum(a: object, b: object) -> Array:
    """The larger; NaN if one is."""

def minimum(a: object, b: object) -> Array:
    """The smaller; NaN if one is."""

def logaddexp(a: object, b: object) -> Array:
    """log(exp(a) + exp(b))"""

def equal(a: object, b: object) -> Array:
    """a == b"""

def not_equal(a: object, b: object) -> Array:
    """a != b"""

def less(a: object, b: object) -> Array:
    """a < b"""

def less_equal(a: object, b: object) -> Array:
    """a <= b"""

def greater(a: object, b: object) -> Array:
    """a > b"""

def greater_equal(a: object, b: object) -> Array:
    """a >= b"""

def logical_and(a: object, b: object) -> Array:
    """Whether neither is 0."""

def logical_or(a: object, b: object) -> Array:
    """Whether one is not 0."""

def matmul(a: object, b: object) -> Array:
    """The matrix product, as NumPy has it."""

def where(condition: object, a: object, b: object) -> Array:
    """a where the condition holds, else b."""

def clip(a: object, low: object | None = ..., high: object | None = ...) -> Array:
    """a within the bounds that are given."""

def astype(a: object, dtype: object) -> Array:
    """Converted: floats to integers towards zero, anything to bool by != 0."""

def matmul_library() -> str:
    """What multiplies float matrices."""

def sum(a: object, axis: object | None = ..., keepdims: bool = ...) -> Array:
    """
    Over an axis, several, or all; bool is counted in int32, uint8 in uint32.
    """

def prod(a: object, axis: object | None = ..., keepdims: bool = ...) -> Array:
    """The product over an axis, several, or all."""

def mean(a: object, axis: object | None = ..., keepdims: bool = ...) -> Array:
    """The mean over an axis, several, or all."""

def max(a: object, axis: object | None = ..., keepdims: bool = ...) -> Array:
    """The largest over an axis, several, or all."""

def min(a: object, axis: object | None = ..., keepdims: bool = ...) -> Array:
    """The smallest over an axis, several, or all."""

def logsumexp(a: object, axis: object | None = ..., keepdims: bool = ...) -> Array:
    """log(sum(exp(a))) over axes, without overflow."""

def argmax(a: object, axis: object | None = ..., keepdims: bool = ...) -> Array:
    """Index of the first largest, uint32."""

def argmin(a: object, axis: object | None = ..., keepdims: bool = ...) -> Array:
    """Index of the first smallest, uint32."""

def var(a: object, axis: object | None = ..., keepdims: bool = ..., ddof: int = ...) -> Array:
    """The variance over axes, divided by n - ddof."""

def softmax(a: object, axis: object | None = ...) -> Array:
    """exp(a) / sum(exp(a)) over axes."""

def reshape(a: object, shape: object) -> Array:
    """Another shape; one extent may be -1."""

def transpose(a: object, axes: object | None = ...) -> Array:
    """Axes in another order, reversed unless said."""

def swapaxes(a: Array, first: int, second: int) -> Array:
    """Two axes exchanged."""

def moveaxis(a: Array, source: int, to: int) -> Array:
    """One axis moved, the others in order."""

def broadcast_to(a: object, shape: object) -> Array:
    """Spread over a shape."""

def expand_dims(a: object, axis: object) -> Array:
    """New axes of extent 1, counted in the result."""

def squeeze(a: object, axis: object | None = ...) -> Array:
    """Without axes of extent 1, all unless said."""

def flatten(a: object) -> Array:
    """Along one axis, row by row."""

def split(a: object, parts: object, axis: int = ...) -> list[Array]:
    """Equal parts, or parts that end before each index."""

def concatenate(arrays: object, axis: int = ...) -> Array:
    """One after another along an axis."""

def stack(arrays: object, axis: int = ...) -> Array:
    """One beside another along a new axis."""

def pad(a: object, widths: object, value: object = ...) -> Array:
    """More elements before and after, of one value."""

def take(a: object, indices: object, axis: int | None = ...) -> Array:
    """Elements at indices along an axis; of all elements without one."""

def scatter_add(a: Array, indices: object, updates: object, axis: int = ...) -> Array:
    """
    a with updates added at indices along an axis; the updates' first axes are the indices'.
    """

def eval(*trees: object) -> None:
    """Queues what the arrays in these trees need and waits for their values."""

def async_eval(*trees: object) -> None:
    """The same without waiting."""

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
