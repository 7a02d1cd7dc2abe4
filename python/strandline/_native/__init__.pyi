"""Native half of strandline; use the functions of the package instead."""

from collections.abc import Sequence
import types
from typing import Annotated

from numpy.typing import NDArray

from strandline._native import array as array, memory as memory, sim as sim, testing as testing

version: str = ...

def start(max_entries: int, min_size: int, stacks: str) -> None:
    """Switches recording on; `stacks` is a kind of stacks, empty for none."""

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

def capture_fallback() -> str:
    """
    Why stacks come from CPython's public API; empty when its frames are read.
    """

def watch_call(callable: object) -> bool:
    """
    Gathers one stack for all that a call of this function makes. False where it is not a function of nanobind.
    """

def capture_counts() -> list[dict[str, int]]:
    """What each thread has captured."""

def native_capture() -> str:
    """
    What unwinds C++ stacks where no entry is open, and what tells their lines.
    """

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

    def use_allocator(self, allocator: Allocator) -> None:
        """
        Puts an allocator beneath the framework. Raises ValueError when it is too late.
        """

    @property
    def allocator(self) -> str | None:
        """Name of the allocator beneath the framework; None for its own."""

    @property
    def refusal(self) -> str:
        """Why it kept its own all the same, or empty."""

    def lost_bytes(self) -> int:
        """Bytes the framework counts as active that no block stands for."""

    def label_array(self, key: int, label: str) -> bool:
        """Labels the node of an array; False when it is unknown."""

def adapters() -> list[Adapter]:
    """Every adapter that is loaded."""

class Held:
    """Bytes of capacity, bytes asked for, and how many blocks."""

    @property
    def bytes(self) -> int: ...
    @property
    def requested(self) -> int: ...
    @property
    def blocks(self) -> int: ...

class Location:
    """A line of code."""

    @property
    def file(self) -> str: ...
    @property
    def function(self) -> str: ...
    @property
    def line(self) -> int: ...

class HeldItem:
    """What one line made of one kind; texts are empty if unknown."""

    @property
    def operation(self) -> str: ...
    @property
    def layout(self) -> str: ...
    @property
    def is_backward(self) -> bool: ...
    @property
    def called_at(self) -> Location | None:
        """Of a backward item: the line that asked for the gradient."""

    @property
    def held(self) -> Held: ...

class HeldName:
    """What one operation, label or phase holds."""

    @property
    def name(self) -> str: ...
    @property
    def held(self) -> Held: ...
    @property
    def parts(self) -> list[HeldName]:
        """Of a label: the full labels it is the root of."""

class CallNode:
    """A frame with what it and what it called hold."""

    @property
    def frame(self) -> Location: ...
    @property
    def is_users(self) -> bool: ...
    @property
    def held(self) -> Held: ...
    @property
    def children(self) -> list[CallNode]: ...

class HeldLine:
    """What one line of the user's code holds."""

    @property
    def line(self) -> Location | None:
        """None when no frame is the user's."""

    @property
    def innermost(self) -> Location | None:
        """Innermost frame of most of the bytes."""

    @property
    def source(self) -> str | None:
        """Text of the line, None when it cannot be read."""

    @property
    def held(self) -> Held: ...
    @property
    def items(self) -> list[HeldItem]: ...
    @property
    def labels(self) -> list[HeldName]: ...

class Unattributed:
    """Bytes that lack a line, an operation or a layout."""

    @property
    def reason(self) -> str: ...
    @property
    def held(self) -> Held: ...

class Growth:
    """Change of active bytes over the last steps of one phase."""

    @property
    def phase(self) -> str: ...
    @property
    def steps(self) -> int: ...
    @property
    def bytes(self) -> int: ...

class Note:
    """A fact about the record, with its number."""

    @property
    def kind(self) -> str: ...
    @property
    def number(self) -> int: ...
    @property
    def text(self) -> str: ...

class RunInfo:
    """What is known of the run."""

    @property
    def program(self) -> str: ...
    @property
    def framework(self) -> str: ...
    @property
    def exit_status(self) -> int | None: ...
    @property
    def steps(self) -> int | None: ...
    @property
    def seconds(self) -> float | None: ...
    @property
    def children(self) -> int: ...
    @property
    def lost_bytes(self) -> int: ...

class MemoryReport:
    """What held memory at the peak; lists largest first."""

    @property
    def run(self) -> RunInfo: ...
    def __str__(self) -> str: ...
    @property
    def peak(self) -> Held: ...
    @property
    def requested_peak(self) -> int: ...
    @property
    def cached(self) -> int | None:
        """At the peak; None when that moment is lost."""

    @property
    def peak_phase(self) -> str:
        """Empty outside of every phase."""

    @property
    def peak_time_us(self) -> int: ...
    @property
    def start_time_us(self) -> int: ...
    @property
    def end_active(self) -> int: ...
    @property
    def events(self) -> int:
        """Written, those overwritten since included."""

    @property
    def events_overwritten(self) -> int: ...
    @property
    def attributed(self) -> Held:
        """Has the user's line, an operation and a layout."""

    @property
    def unattributed(self) -> list[Unattributed]: ...
    @property
    def by_line(self) -> list[HeldLine]: ...
    @property
    def by_operation(self) -> list[HeldName]: ...
    @property
    def by_label(self) -> list[HeldName]: ...
    @property
    def by_phase(self) -> list[HeldName]: ...
    @property
    def call_tree(self) -> list[CallNode]: ...
    @property
    def growth(self) -> Growth | None: ...
    @property
    def notes(self) -> list[Note]: ...
    def text(
        self,
        top: int = ...,
        width: int = ...,
        color: bool = ...,
        call_tree: bool = ...,
        snapshot_path: str = ...,
    ) -> str:
        """For a terminal: the `top` lines, at least 80 columns wide."""

    def json(self, snapshot_path: str = ...) -> str:
        """All of it, bytes exact, by schema/peak_report.schema.json."""

class Snapshot:
    """What happened to memory and what it holds, at one moment."""

    def write_pickle(self, path: str) -> None:
        """Writes it for memory_viz."""

    def report(
        self,
        program: str,
        exit_status: int | None,
        seconds: float | None,
        started_children: int,
        library_folders: Sequence[str],
    ) -> MemoryReport:
        """
        What held the peak; `library_folders` hold code that is not the user's.
        """

def take_snapshot() -> Snapshot:
    """A consistent cut of the record, resolved."""

def snapshot_of_events(events: list[dict[str, object]]) -> Snapshot:
    """A snapshot of the events alone."""

def open_stream(path: str) -> None:
    """
    Streams the record to a native file from now on; a stream before it is closed.
    """

def close_stream() -> bool:
    """
    Completes the file of the stream, if there is one; False where that failed.
    """

def stream_path() -> str | None:
    """The file that is streamed to, None without one."""

def stream_events() -> int:
    """Events in the file that is streamed to."""

def write_native(snapshot: Snapshot, path: str) -> None:
    """Writes a snapshot of the recorder as a native file."""

class Query:
    """Which moment, device, filter and frames an answer is about."""

def query(
    event: int | None,
    time_us: int | None,
    fraction: float | None,
    device: int | None,
    filter: str,
    own: Sequence[str],
    top: int | None,
) -> Query:
    """Parses the filter; ValueError names the place where it is wrong."""

class SnapshotFile:
    """A snapshot read from a file."""

    def report_text(self, path: str, query: Query) -> str:
        """What held a moment, for a terminal."""

    def slice(
        self,
        first_event: int | None,
        end_event: int | None,
        first_us: int | None,
        end_us: int | None,
        device: int | None,
    ) -> SnapshotFile:
        """The part, with the state after its last event."""

    def write(self, path: str, format: str, query: Query) -> list[str]:
        """
        Writes it in a format, by the name's end for an empty one; what it could not hold.
        """

    def check(self, path: str) -> tuple[str, str]:
        """JSON by schema/check.schema.json, and text."""

    def report(self, path: str, query: Query) -> tuple[str, str]:
        """What held a moment: JSON by schema/file_report.schema.json, and text."""

    def fragmentation(self, path: str, query: Query) -> tuple[str, str]:
        """JSON by schema/fragmentation.schema.json, and text."""

    def oom(self, path: str, query: Query, size: int | None, stream: int) -> tuple[str, str]:
        """JSON by schema/oom.schema.json, and text."""

    def leaks(self, path: str, query: Query) -> tuple[str, str]:
        """JSON by schema/leaks.schema.json, and text."""

    def events(self, path: str, query: Query) -> tuple[str, str]:
        """JSON by schema/events.schema.json, and text."""

    def diff(
        self, path: str, query: Query, other: SnapshotFile, other_path: str, other_query: Query
    ) -> tuple[str, str]:
        """JSON by schema/diff.schema.json, and text."""

def read_snapshot(
    path: str,
    first_event: int | None = ...,
    end_event: int | None = ...,
    from_us: int | None = ...,
    until_us: int | None = ...,
    device: int | None = ...,
) -> SnapshotFile:
    """Reads a file or a part of it; "-" for standard input."""

def run_verb(arguments: Sequence[str]) -> int:
    """Runs a verb on files as the command does; the exit status."""

def is_file_verb(verb: str) -> bool:
    """Whether the command has such a verb on files."""

def file_verbs_help() -> str:
    """One line a verb on files."""

class Buffer:
    """
    Memory of a device or an allocator, given back by `free` or with the last reference.

    memoryview(buffer) and numpy.frombuffer(buffer, dtype) see its bytes without a copy. While
    they do, `free` raises BufferError, and the simulation takes the bytes as written.
    """

    @property
    def address(self) -> int:
        """Where it starts."""

    @property
    def size(self) -> int:
        """The bytes it occupies."""

    @property
    def requested_size(self) -> int:
        """The bytes asked for."""

    @property
    def is_live(self) -> bool:
        """False once it was freed."""

    def free(self) -> bool:
        """
        Gives the memory back; False when the device refused and the buffer lives on.

        Raises ValueError when it was freed before, BufferError while it is looked at.
        """

    def __len__(self) -> int: ...
    def __repr__(self) -> str: ...

class Allocator:
    """An allocator over the host or a simulation."""

    @property
    def name(self) -> str: ...
    @property
    def device(self) -> str:
        """The name of its device."""

    def malloc(self, bytes: int, alignment: int) -> Buffer:
        """Memory; of 0 bytes, none."""

    def statistics(self) -> dict[str, int]:
        """What is held and what was done, at one moment."""

    def limits(self) -> dict[str, int]: ...
    def segments(self) -> list[dict[str, object]]:
        """What is reserved now, with its blocks."""

    def set_buffer_limit(self, count: int) -> int:
        """The limit before."""

    def validate(self) -> None: ...
    def set_default(self) -> Allocator | None:
        """Makes it the host's default if it is over the host; the one before."""

    def get_active_memory(self) -> int: ...
    def get_peak_memory(self) -> int: ...
    def reset_peak_memory(self) -> None: ...
    def get_cache_memory(self) -> int: ...
    def get_memory_limit(self) -> int: ...
    def set_memory_limit(self, bytes: int, hard: bool) -> int: ...
    def set_cache_limit(self, bytes: int) -> int: ...
    def set_wired_limit(self, bytes: int) -> int: ...
    def clear_cache(self) -> None: ...

def make_allocator(
    kind: str,
    machine: sim.Machine | None,
    memory_limit: int | None,
    cache_limit: int | None,
    buffer_limit: int | None,
    page: int,
) -> Allocator:
    """An allocator of a kind, over the host or a simulated machine."""

def parse_settings(
    text: str, as_pytorch: bool
) -> tuple[dict[str, None | bool | int | float | str], list[str]]:
    """What a string decides from the defaults on, and notes for the user."""

def environment_settings(
    as_pytorch: bool,
) -> tuple[dict[str, None | bool | int | float | str], list[str]]:
    """The same, of the first variable that is set."""

class ColumnTable:
    """Columns of one length."""

    @property
    def names(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def array(self, name: str) -> Annotated[NDArray, dict(writable=False)]:
        """On the memory of the file where it can be."""

    def is_copy(self, name: str) -> bool:
        """Made for the table."""

    def is_time(self, name: str) -> bool:
        """Unix microseconds."""

    def texts(self, name: str) -> list[str] | None:
        """What the values are numbers of; None where they are just numbers."""

    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_array__(
        self, requested_schema: object | None = None
    ) -> tuple[object, object]: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def table(file: SnapshotFile, name: str) -> ColumnTable:
    """Of events, blocks, segments, frames or stacks."""
