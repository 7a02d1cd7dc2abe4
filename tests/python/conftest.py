# SPDX-License-Identifier: Apache-2.0
"""Fixtures: the process's one recorder, switched on with nothing in it, and memory to record.

`sl.record…` and a made-up heap stand for an allocator; what only a fresh process can show is run in
a subprocess.
"""

import gc
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import strandline as sl
from program_folder import ProgramFolder
from strandline._native import testing


@pytest.fixture(scope="module", autouse=True)
def arrays_are_gone(request: pytest.FixtureRequest) -> Iterator[None]:
    """Arrays lie in the process's default allocator: what it keeps for them would stand in the
    snapshots of whichever tests come after."""
    before = sl.get_active_memory()
    yield
    if request.module.__name__.startswith("test_array"):
        gc.collect()
        sl.clear_cache()
        assert sl.get_active_memory() <= before, "arrays of the module are still alive"


class Heap:
    """Hands out addresses that no test uses twice, and reports each step to the recorder."""

    _next = 0x7000_0000_0000

    def __init__(self) -> None:
        self._live: set[int] = set()

    def alloc(self, size: int, requested: int | None = None, **details: object) -> int:
        address = Heap._next
        Heap._next += (size + 4095) // 4096 * 4096
        action = details.pop("action", "alloc_new")
        testing.note_alloc(action, address, size, requested or size, **details)
        self._live.add(address)
        return address

    def free(self, address: int, action: str = "free_to_device") -> None:
        self._live.discard(address)
        testing.note_free(action, address)

    def free_all(self) -> None:
        for address in sorted(self._live):
            self.free(address)


@pytest.fixture
def heap() -> Iterator[Heap]:
    """A heap whose blocks are gone after the test; recording is off unless `recording` is used."""
    made = Heap()
    yield made
    made.free_all()


@pytest.fixture
def recording(heap: Heap) -> Iterator[Heap]:
    """The heap, with recording on and an empty history."""
    sl.record_memory_events(max_entries=10_000)
    sl.clear_history(tables=True)
    sl.reset_peak_memory()
    yield heap
    heap.free_all()
    sl.record_memory_events(False)
    sl.clear_history(tables=True)
    sl.set_memory_label(None)


@pytest.fixture
def run_python(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs a program text in a fresh interpreter, in a folder of its own."""

    def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture
def folder(tmp_path: Path) -> ProgramFolder:
    return ProgramFolder(tmp_path)


@pytest.fixture
def write(tmp_path):
    """Writes a value as a pickle into a file of the test's own folder, and says where."""

    def write(value, name="run.pickle"):
        path = tmp_path / name
        path.write_bytes(pickle.dumps(value))
        return path

    return write
