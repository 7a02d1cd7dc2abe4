# SPDX-License-Identifier: Apache-2.0
"""Strandline: which lines, operations and tensors held memory at the peak.

``strandline run train.py`` records a program as it is. Inside a program::

    import strandline as sl

    sl.record_memory_events()  # switch recording on
    with sl.memory_phase("step"):  # name a stretch of time
        ...
    print(sl.memory_report().text())  # what held the peak
    sl.dump_snapshot("out.pickle")  # for docs.pytorch.org/memory_viz
"""

from . import _environment, _native, answers, sim, torch
from ._native import Buffer
from .allocators import Allocator, HostAllocator, SegmentAllocator, UnifiedAllocator
from .columns import Columns
from .errors import DeviceError, FormatError, OutOfMemoryError
from .files import Snapshot
from .labels import (
    annotate,
    get_memory_label,
    memory_label,
    memory_phase,
    set_memory_label,
    traceback_of,
)
from .memory import (
    clear_cache,
    get_active_memory,
    get_cache_memory,
    get_default_allocator,
    get_memory_limit,
    get_peak_memory,
    reset_peak_memory,
    set_cache_limit,
    set_default_allocator,
    set_memory_limit,
    set_wired_limit,
)
from .recording import (
    CaptureInfo,
    Event,
    capture_info,
    clear_history,
    get_counters,
    get_memory_events,
    is_recording,
    record_memory_events,
)
from .settings import SettingsWarning, environment_settings, parse_settings
from .snapshots import MemoryReport, dump_snapshot, memory_report

__version__: str = _native.version

__all__ = [
    "Allocator",
    "Buffer",
    "CaptureInfo",
    "Columns",
    "DeviceError",
    "Event",
    "FormatError",
    "HostAllocator",
    "MemoryReport",
    "OutOfMemoryError",
    "SegmentAllocator",
    "SettingsWarning",
    "Snapshot",
    "UnifiedAllocator",
    "__version__",
    "annotate",
    "answers",
    "capture_info",
    "clear_cache",
    "clear_history",
    "dump_snapshot",
    "environment_settings",
    "get_active_memory",
    "get_cache_memory",
    "get_counters",
    "get_default_allocator",
    "get_memory_events",
    "get_memory_label",
    "get_memory_limit",
    "get_peak_memory",
    "is_recording",
    "memory_label",
    "memory_phase",
    "memory_report",
    "parse_settings",
    "record_memory_events",
    "reset_peak_memory",
    "set_cache_limit",
    "set_default_allocator",
    "set_memory_label",
    "set_memory_limit",
    "set_wired_limit",
    "sim",
    "torch",
    "traceback_of",
]

_environment.start()
