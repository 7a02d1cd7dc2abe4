# SPDX-License-Identifier: Apache-2.0
"""What answers are made of, as values; sizes are bytes. Each has the fields of its JSON."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Line:
    """A line of code."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}"


@dataclass(frozen=True)
class Held:
    bytes: int
    blocks: int


@dataclass(frozen=True)
class Pin:
    """Live blocks of one line."""

    line: Line | None
    bytes: int
    requested_bytes: int
    blocks: int


@dataclass(frozen=True)
class Totals:
    """Bytes of one device at one moment; reserved = live + free."""

    reserved_bytes: int
    live_bytes: int
    requested_bytes: int
    outside_bytes: int
    free_bytes: int
    holes: int
    largest_hole_bytes: int


@dataclass(frozen=True)
class Replay:
    """What the trace and the state at its end could not be brought to agree on."""

    lost_blocks: int
    unknown_frees: int
    segment_conflicts: int


@dataclass(frozen=True)
class DeviceAccount:
    """The books of one device; see `schema/check.schema.json`."""

    device: int
    events: int
    actions: dict[str, int]
    active_start: int
    active_end: int
    active_peak: int
    active_lowest: int
    active_peak_after_event: int
    live_blocks: int
    live_rounding_bytes: int
    live_without_alloc_event: int | None
    before_bytes: int
    orphan_frees: int
    orphan_bytes: int
    lost_frees: int | None
    double_allocs: int
    broken_segments: int
    residual: int
    verdict: str
    segments: int
    reserved: int
    cached: int
    largest_free_block: int
    max_stack_depth: int


@dataclass(frozen=True)
class HeldBytes:
    bytes: int
    requested_bytes: int
    blocks: int


@dataclass(frozen=True)
class ReportLine:
    """What one line of the asker's code holds."""

    line: Line | None
    innermost: Line | None
    source: str | None
    bytes: int
    requested_bytes: int
    blocks: int
    items: list[dict[str, Any]]
    labels: list[dict[str, Any]]


@dataclass(frozen=True)
class PeakReport:
    """The parts of `schema/peak_report.schema.json` that people ask for; all of it as JSON."""

    by_line: list[ReportLine]
    by_operation: list[dict[str, Any]]
    by_label: list[dict[str, Any]]
    by_phase: list[dict[str, Any]]
    notes: list[dict[str, Any]]


@dataclass(frozen=True)
class DeviceReport:
    device: int
    verdict: str
    after_event: int
    level_bytes: int
    is_peak: bool
    reserved_at_end_bytes: int
    cached_at_end_bytes: int
    residual_bytes: int
    held: HeldBytes
    before_trace: HeldBytes
    report: PeakReport


@dataclass(frozen=True)
class StackDifference:
    growth_bytes: int
    a: Held
    b: Held
    line: Line | None
    stack: list[Line]


@dataclass(frozen=True)
class LeakingStack:
    bytes: int
    blocks: int
    allocs: int
    oldest_us: int
    newest_us: int
    freed: int
    mean_lifetime_us: int | None
    longest_lifetime_us: int | None
    growth_bytes: int
    grew_in_phases: int
    fell_in_phases: int
    is_growing: bool
    line: Line | None
    stack: list[Line]


@dataclass(frozen=True)
class ListedEvent:
    device: int
    event: int
    action: str
    address: int
    size: int
    stream: int
    time_us: int
    label: str
    frame: Line | None


@dataclass(frozen=True)
class PoolUse:
    """All segments that serve the same requests."""

    stream: int
    pool: list[int]
    kind: str
    segments: int
    reserved_bytes: int
    live_bytes: int
    requested_bytes: int
    blocks: int
    free_bytes: int
    holes: int
    largest_hole_bytes: int
    pinned_free_bytes: int


@dataclass(frozen=True)
class SegmentUse:
    address: int
    bytes: int
    is_expandable: bool
    stream: int
    pool: list[int]
    kind: str
    live_bytes: int
    requested_bytes: int
    internal_bytes: int
    blocks: int
    free_bytes: int
    holes: int
    largest_hole_bytes: int
    lines_in_all: int
    pinned_by: list[Pin]


@dataclass(frozen=True)
class SegmentRequest:
    """A segment that was obtained, and what was free just before."""

    event: int
    time_us: int
    segment_bytes: int
    wanted_bytes: int
    stream: int
    pool: list[int]
    kind: str
    line: Line | None
    reserved_bytes: int
    live_bytes: int
    free_bytes: int
    largest_hole_bytes: int
    free_in_class_bytes: int
    largest_in_class_bytes: int
    is_fragmented: bool


@dataclass(frozen=True)
class DeviceFragmentation:
    device: int
    after_event: int
    time_us: int
    is_peak: bool
    totals: Totals
    pinned_free_bytes: int
    pools: list[PoolUse]
    segments_in_all: int
    segments: list[SegmentUse]
    requests_in_all: int
    fragmented_requests: int
    requests: list[SegmentRequest]
    replay: Replay


@dataclass(frozen=True)
class FreeElsewhere:
    stream: int
    pool: list[int]
    kind: str
    free_bytes: int
    holes: int
    largest_hole_bytes: int


@dataclass(frozen=True)
class MergeOption:
    """Without these blocks one hole of a segment would be large enough."""

    segment: int
    address: int
    bytes: int
    live_bytes: int
    blocks: int
    pinned_by: list[Pin]


@dataclass(frozen=True)
class ReleaseOption:
    """Without its blocks the segment could be returned to the device."""

    segment: int
    bytes: int
    stream: int
    pool: list[int]
    kind: str
    live_bytes: int
    blocks: int
    device_free_then_bytes: int
    pinned_by: list[Pin]


@dataclass(frozen=True)
class Failure:
    """An allocation that failed, or a size that was asked about."""

    device: int
    event: int
    is_question: bool
    time_us: int
    asked_bytes: int
    needed_bytes: int
    segment_bytes: int
    device_free_bytes: int | None
    fits: bool
    stream: int
    pool: list[int]
    kind: str
    line: Line | None
    stack: list[Line]
    totals: Totals
    free_in_class_bytes: int
    largest_in_class_bytes: int
    elsewhere: list[FreeElsewhere]
    empty_segments_bytes: int
    merges_in_all: int
    merges: list[MergeOption]
    releases_in_all: int
    releases: list[ReleaseOption]
    release_suffices: bool
    lines_in_all: int
    holders: list[Pin]
