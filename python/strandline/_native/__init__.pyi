"""Native half of strandline; use the functions of the package instead."""

import types

from strandline._native import testing as testing

version: str = ...

def start(max_entries: int, min_size: int, stacks: bool) -> None:
    """Switches recording on."""

def stop() -> None:
    """Switches recording off; events stay."""

def clear_history(tables: bool) -> None:
    """
    Forgets events, phases and counters; with `tables` also every interned id.
    """

def recording() -> bool:
    """Whether events are recorded now."""

def alive() -> bool:
    """
    False in a forked child and after a fault: the recorder is off for good.
    """

def fault() -> str:
    """Why the recorder turned itself off; empty when it did not."""

def active_memory(requested: bool = ...) -> int:
    """Bytes active now, by capacity or as requested."""

def peak_memory(requested: bool = ...) -> int:
    """Largest active since the last reset."""

def reset_peak() -> None:
    """The peak becomes what is active now."""

def mark_snapshot() -> None:
    """Writes a marker event with the active bytes."""

def counters() -> dict[str, object]:
    """Everything recorded, lost or capped."""

def clock_uses_cpu_counter() -> bool:
    """True when events carry the CPU's counter, False for CLOCK_MONOTONIC."""

compiler: str = ...

def events() -> list[dict[str, object]]:
    """The events kept by the ring, oldest first, as dictionaries."""

def traceback_of(address: int) -> list[tuple[str, str, int]] | None:
    """Frames of the live block at `address`, outermost first."""

def label() -> str | None:
    """The label of this thread."""

def set_label(text: str) -> None:
    """Sets the label of this thread; empty clears it."""

def annotate(address: int, text: str) -> bool:
    """Labels the live block at `address`; False when there is none."""

def annotate_array(key: int, text: str) -> bool:
    """Labels the live block an array is bound to; False when there is none."""

def begin_phase(name: str) -> int:
    """Number of the new phase, 0 while recording is off."""

def end_phase(number: int) -> None:
    """Ends a phase; 0 does nothing."""

def set_entry(code: types.CodeType | None) -> None:
    """
    Frames of this code object and all outward of them are left out of tracebacks.
    """

def can_capture() -> bool:
    """Whether some source can tell the stack of this thread."""

def capture_sources() -> str:
    """Names of the capture sources, in order of preference."""

class Adapter:
    """A framework that is being recorded as it is shipped."""

    @property
    def name(self) -> str: ...
    @property
    def framework_version(self) -> str:
        """The version it was built for."""

    def attach(self) -> None:
        """
        Binds to the framework, which is loaded by now. Raises DeviceError with what to do.
        """

    def hook_calls(self) -> dict[str, int]:
        """Calls each hook has seen so far, by the hook's name."""

    def lost_bytes(self) -> int:
        """Bytes the framework counts as active that no block stands for."""

    def label_array(self, key: int, label: str) -> bool:
        """Labels the node of an array; False when it is unknown."""

def adapters() -> list[Adapter]:
    """Every adapter that is loaded."""

def write_snapshot(path: str) -> None:
    """Writes the recorder's snapshot for memory_viz."""

def write_events(events: list[dict[str, object]], path: str) -> None:
    """Writes a snapshot of the events alone."""
