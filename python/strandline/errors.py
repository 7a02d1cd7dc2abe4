# SPDX-License-Identifier: Apache-2.0
"""Exceptions of strandline that Python has no class for.

Other errors are ValueError, IndexError, TypeError and RuntimeError. Messages read
``[function] what; got X, expected Y``.
"""

__all__ = ["DeviceError", "FormatError", "OutOfMemoryError"]


class OutOfMemoryError(MemoryError):
    """Memory could not be had; sizes are bytes."""

    requested: int
    available: int
    limit: int

    def __init__(
        self, message: str, requested: int = 0, available: int = 0, limit: int = 0
    ) -> None:
        super().__init__(message, requested, available, limit)
        self.requested = requested
        self.available = available
        self.limit = limit

    def __str__(self) -> str:
        return str(self.args[0])


class DeviceError(RuntimeError):
    """The device, the operating system or a framework refused a call."""


class FormatError(ValueError):
    """A file is not what it says it is; ``offset`` says where, in bytes from its start."""

    offset: int

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message, offset)
        self.offset = offset

    def __str__(self) -> str:
        return str(self.args[0])
