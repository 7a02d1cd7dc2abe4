"""What allocators and adapters call."""

from collections.abc import Callable, Sequence
from typing import NoReturn

def note_alloc(
    action: str,
    address: int,
    size: int,
    requested: int,
    *,
    op: str = ...,
    shape: Sequence[int] = ...,
    dtype: str = ...,
    stream: int = ...,
    pool: int = ...,
    owner: str = ...,
    device: int = ...,
) -> None:
    """One allocation; with `op` inside a scope of that operation."""

def note_alloc_in_entry(address: int) -> None:
    """An allocation of 64 bytes inside a binding entry."""

def call_back(function: Callable[[], object]) -> None:
    """
    Calls a function from C++ that has noted where it was entered and where it calls back.
    """

def note_free(
    action: str, address: int, *, size: int = ..., stream: int = ..., device: int = ...
) -> None:
    """The end of a block; `size` is used when it is unknown."""

def note_segment(action: str, address: int, size: int) -> None:
    """A segment event, or cache_to_device."""

def bind(
    address: int,
    array: int,
    *,
    op: str = ...,
    shape: Sequence[int] = ...,
    dtype: str = ...,
    view_bytes: int = ...,
    view_offset: int = ...,
) -> None:
    """Binds the array of a key to the block at `address`."""

def leave(array: int) -> None:
    """The array of a key dies."""

def fail(what: str) -> None:
    """Turns the recorder off for good, as a fault inside it does."""

def capture() -> list[tuple[str, str, int]] | None:
    """The stack of this thread, outermost first."""

def capture_while_raising(exception: BaseException) -> NoReturn:
    """Captures while an exception is pending, then raises it."""

def can_capture_without_lock() -> bool:
    """
    What can_capture says once this thread has let go of the interpreter lock.
    """

def can_capture_on_foreign_thread() -> bool:
    """What can_capture says on a thread Python knows nothing of."""

def throw_error(kind: str, message: str) -> NoReturn:
    """Throws one of the library's errors."""
