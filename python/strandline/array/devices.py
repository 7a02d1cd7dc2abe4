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
from .._native.array import Array, Stream
from .._native.array import Device as _Device
from ..allocators import Allocator

__all__ = [
    "Device",
    "default_device",
    "new_stream",
    "set_default_device",
    "stream",
    "synchronize",
    "to_device",
]


def Device(allocator: Allocator | None = None) -> _Device:  # noqa: N802  makes a device
    """The device of an allocator; None is the host with its default allocator.

    The host must reach the allocator's memory, else ValueError; TypeError for other objects. Two
    devices of one allocator are equal.
    """
    if allocator is None:
        return _native.host_device()
    if not isinstance(allocator, Allocator):
        expected = "a strandline allocator or None"
        raise TypeError(_arguments.message("Device", "allocator", repr(allocator), expected))
    return _native.make_device(allocator._native)


def default_device() -> _Device:
    """Where operations of threads go that are in no `stream`: the host until another is set."""
    return _native.default_device()


def set_default_device(device: _Device) -> _Device:
    """Operations go there from now on, on all threads; returns the device before."""
    if not isinstance(device, _Device):
        raise TypeError(
            _arguments.message("set_default_device", "device", repr(device), "a Device")
        )
    return _native.set_default_device(device)


def new_stream(device: _Device | None = None) -> Stream:
    """A further stream, of the default device unless said; any thread may use it."""
    if device is None:
        device = default_device()
    if not isinstance(device, _Device):
        expected = "a Device or None"
        raise TypeError(_arguments.message("new_stream", "device", repr(device), expected))
    return _native.new_stream(device)


@contextlib.contextmanager
def stream(where: Stream | _Device) -> Iterator[Stream]:
    """Operations of this thread go to a stream, or a device's default stream, inside of it."""
    if isinstance(where, _Device):
        where = where.default_stream
    if not isinstance(where, Stream):
        raise TypeError(_arguments.message("stream", "where", repr(where), "a Stream or a Device"))
    _native.push_stream(where)
    try:
        yield where
    finally:
        _native.pop_stream()


def to_device(a: Array, device: _Device) -> Array:
    """The values of an array on another device; the array itself where they are there already.

    Lazy, and gradients go back the same way. Between the host and a simulated device, or two of
    those, the evaluating thread waits for the values and copies them.
    """
    if not isinstance(a, Array):
        raise TypeError(_arguments.message("to_device", "a", repr(a), "an array"))
    if not isinstance(device, _Device):
        raise TypeError(_arguments.message("to_device", "device", repr(device), "a Device"))
    return _native.to_device(a, device)


def synchronize(what: Stream | _Device | None = None) -> None:
    """Wait until all work of a stream has run, or of all streams of a device.

    Without an argument: of all streams of the default device, whichever stream this thread's
    operations go to. (MLX waits for the default stream of its default device.) Arrays that were not
    evaluated have no work to wait for. Raises `strandline.DeviceError` when work failed, once.
    """
    if what is None:
        what = default_device()
    if not isinstance(what, (Stream, _Device)):
        expected = "a Stream, a Device or None"
        raise TypeError(_arguments.message("synchronize", "what", repr(what), expected))
    _native.synchronize(what)
