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
from .._native.array import Device as _Device
from .._native.array import Stream
from ..allocators import Allocator

__all__ = [
    "Device",
    "default_device",
    "new_stream",
    "set_default_device",
    "stream",
    "synchronize",
]


def Device(allocator: Allocator | None = None) -> _Device:  # noqa: N802  makes a device
    """The device of an allocator; None is the host with its default allocator."""
    if allocator is None:
        return _native.host_device()
    if not isinstance(allocator, Allocator):
        expected = "a strandline allocator or None"
        raise TypeError(_arguments.message("Device", "allocator", repr(allocator), expected))
    return _native.make_device(allocator._native)


def default_device() -> _Device:
    """The host until another is set."""
    return _native.default_device()


def set_default_device(device: _Device) -> _Device:
    """Operations go there from now on, on all threads; returns the device before."""
    if not isinstance(device, _Device):
        raise TypeError(
            _arguments.message("set_default_device", "device", repr(device), "a Device")
        )
    return _native.set_default_device(device)


def new_stream(device: _Device | None = None) -> Stream:
    """A further stream, of the default device unless said."""
    return _native.new_stream(default_device() if device is None else device)


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


def synchronize(what: Stream | _Device | None = None) -> None:
    """Wait for a stream's or a device's work, the default device's unless said.

    Raises `strandline.DeviceError` when work failed, once.
    """
    _native.synchronize(default_device() if what is None else what)
