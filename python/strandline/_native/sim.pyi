"""A simulated device."""

from collections.abc import Callable, Sequence

import strandline._native

class Finding:
    """What work did that a real device would answer with garbage."""

    @property
    def kind(self) -> str: ...
    @property
    def operation(self) -> str: ...
    @property
    def other(self) -> str:
        """The operation it is unordered with."""

    @property
    def address(self) -> int:
        """The first byte concerned."""

    @property
    def size(self) -> int: ...
    def __repr__(self) -> str: ...

class Machine:
    """A machine with one simulated device."""

    def __init__(self, options: dict[str, object]) -> None: ...
    def allocate(self, bytes: int, alignment: int, placement: str) -> strandline._native.Buffer:
        """Memory of the device."""

    @property
    def free_bytes(self) -> int: ...
    @property
    def total_bytes(self) -> int: ...
    @property
    def base(self) -> int:
        """Where the address space starts."""

    @property
    def poisoned_bytes(self) -> int: ...
    @property
    def now_ns(self) -> int:
        """The host's virtual time."""

    def counters(self) -> dict[str, int]:
        """Calls made by kind, waits, refused frees, lost errors."""

    def add_fault(self, call: str, nth: int, repeat: str, error: str) -> None:
        """The n-th call of a kind from now on fails."""

    def clear_faults(self) -> None: ...
    def findings(self) -> list[Finding]:
        """In the order they were found."""

    def clear_findings(self) -> None: ...
    def create_stream(self, name: str) -> int: ...
    def destroy_stream(self, stream: int) -> None: ...
    def copy(
        self,
        stream: int,
        to: strandline._native.Buffer,
        to_offset: int,
        source: strandline._native.Buffer,
        source_offset: int,
        bytes: int,
    ) -> None: ...
    def fill(
        self, stream: int, to: strandline._native.Buffer, offset: int, bytes: int, value: int
    ) -> None: ...
    def enqueue(
        self,
        stream: int,
        name: str,
        reads: Sequence[strandline._native.Buffer],
        writes: Sequence[strandline._native.Buffer],
        body: Callable[[], object] | None,
    ) -> None: ...
    def submit(self, stream: int) -> None: ...
    def wait(self, stream: int) -> None: ...
    def wait_all(self) -> None: ...
    def pending(self, stream: int) -> int: ...
    def run_one(self, stream: int) -> bool: ...
    def run_all(self) -> None: ...
    def create_event(self) -> int:
        """A device event, never recorded."""

    def destroy_event(self, event: int) -> None: ...
    def record(self, event: int, stream: int) -> None: ...
    def stream_wait_event(self, stream: int, event: int) -> None: ...
    def wait_event(self, event: int) -> None: ...
    def event_is_done(self, event: int) -> bool: ...
    def event_ns(self, event: int) -> int: ...
