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

from . import _native, sim
from ._native import Buffer
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
from .recording import (
    CaptureInfo,
    Event,
    capture_info,
    clear_history,
    get_active_memory,
    get_counters,
    get_memory_events,
    get_peak_memory,
    is_recording,
    record_memory_events,
    reset_peak_memory,
)
from .snapshots import MemoryReport, dump_snapshot, memory_report

__version__: str = _native.version

__all__ = [
    "Buffer",
    "CaptureInfo",
    "DeviceError",
    "Event",
    "FormatError",
    "MemoryReport",
    "OutOfMemoryError",
    "Snapshot",
    "__version__",
    "annotate",
    "capture_info",
    "clear_history",
    "dump_snapshot",
    "get_active_memory",
    "get_counters",
    "get_memory_events",
    "get_memory_label",
    "get_peak_memory",
    "is_recording",
    "memory_label",
    "memory_phase",
    "memory_report",
    "record_memory_events",
    "reset_peak_memory",
    "set_memory_label",
    "sim",
    "traceback_of",
]
