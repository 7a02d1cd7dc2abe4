# SPDX-License-Identifier: Apache-2.0
"""Where arrays live and where their operations run.

A device of arrays is an allocator's: the host with its default one, the host with another, or a
simulated accelerator with an allocator over it::

    gpu = sa.Device(sl.UnifiedAllocator(sl.sim.Device(8 << 30)))
    with sa.stream(gpu):
        x = sa.ones((1024, 1024))
"""

import contextlib
from collections.abc import Iterator

from .. import _arguments
from .._native import array as _native
from .._native.array import Array, Device, Stream

__all__ = [
    "Device",
    "default_device",
    "new_stream",
    "set_default_device",
    "stream",
    "synchronize",
    "to_device",
]


def default_device() -> Device:
    """Where operations of threads go that are in no `stream`: the host until another is set."""
    return _native.default_device()


def set_default_device(device: Device) -> Device:
    """Operations go there from now on, on all threads; returns the device before."""
    if not isinstance(device, Device):
        raise TypeError(
            _arguments.message("set_default_device", "device", repr(device), "a Device")
        )
    return _native.set_default_device(device)


def new_stream(device: Device | None = None) -> Stream:
    """A further stream, of the default device unless said; any thread may use it."""
    if device is None:
        device = default_device()
    if not isinstance(device, Device):
        expected = "a Device or None"
        raise TypeError(_arguments.message("new_stream", "device", repr(device), expected))
    return _native.new_stream(device)


@contextlib.contextmanager
def stream(where: Stream | Device) -> Iterator[Stream]:
    """Operations of this thread go to a stream, or a device's default stream, inside of it."""
    if isinstance(where, Device):
        where = where.default_stream
    if not isinstance(where, Stream):
        raise TypeError(_arguments.message("stream", "where", repr(where), "a Stream or a Device"))
    _native.push_stream(where)
    try:
        yield where
    finally:
        _native.pop_stream()


def to_device(a: Array, device: Device) -> Array:
    """The values of an array on another device; the array itself where they are there already.

    Lazy, and gradients go back the same way. Between the host and a simulated device, or two of
    those, the evaluating thread waits for the values and copies them.
    """
    if not isinstance(a, Array):
        raise TypeError(_arguments.message("to_device", "a", repr(a), "an array"))
    if not isinstance(device, Device):
        raise TypeError(_arguments.message("to_device", "device", repr(device), "a Device"))
    return _native.to_device(a, device)


def synchronize(what: Stream | Device | None = None) -> None:
    """Wait until all work of a stream has run, or of all streams of a device.

    Without an argument: of all streams of the default device, whichever stream this thread's
    operations go to. (MLX waits for the default stream of its default device.) Arrays that were not
    evaluated have no work to wait for. Raises `strandline.DeviceError` when work failed, once.
    """
    if what is None:
        what = default_device()
    if not isinstance(what, (Stream, Device)):
        expected = "a Stream, a Device or None"
        raise TypeError(_arguments.message("synchronize", "what", repr(what), expected))
    _native.synchronize(what)
