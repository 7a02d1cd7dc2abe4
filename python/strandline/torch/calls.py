# SPDX-License-Identifier: Apache-2.0
"""What one version of torch has of the calls that recording needs; they are private to torch.

`Calls` keeps them as they were when it was made, so that recording goes past whatever is put in
their place afterwards. Nothing here imports torch or initialises CUDA.
"""

import inspect
import sys
from collections.abc import Callable
from typing import Any

MAX_ENTRIES = 1_000_000


class Unavailable(RuntimeError):
    """This torch cannot be recorded; the message is one line that says why."""


class Calls:
    """The recorder of one imported torch. Raises Unavailable where it has none."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.version = f"torch {getattr(torch, '__version__', 'of unknown version')}"
        reason = _missing(torch)
        if reason is not None:
            raise Unavailable(f"{self.version} {reason}")
        self.memory = torch.cuda.memory
        self.history: Callable[..., None] = inspect.unwrap(self.memory._record_memory_history)
        self._parameters = frozenset(inspect.signature(self.history).parameters)

    def has_begun(self) -> bool:
        """Whether CUDA is initialised in this process, and not merely in the one it forked from."""
        is_bad_fork = getattr(self.torch.cuda, "_is_in_bad_fork", lambda: False)
        return bool(self.torch.cuda.is_initialized()) and not is_bad_fork()

    def when_begun(self, action: Callable[[], None]) -> None:
        """Runs `action` once CUDA is initialised, before the first allocation; now if it is."""
        self.torch.cuda._lazy_call(action)

    def is_on(self) -> bool | None:
        """Whether torch records now; None where its version cannot say."""
        tell = getattr(self.torch._C, "_cuda_isHistoryEnabled", None)
        return None if tell is None else bool(tell())

    def start(self, max_entries: int) -> None:
        """Initialises CUDA where it is not yet."""
        options: dict[str, Any] = {"stacks": "python", "max_entries": max_entries}
        if self.has_phases():
            options["global_record_annotations"] = True
        self.history("all", **options)

    def stop(self) -> None:
        """Off; torch forgets the history."""
        self.history(None)

    def has_phases(self) -> bool:
        """Whether ranges of the profiler, of all threads, are written into snapshots."""
        return "global_record_annotations" in self._parameters

    def take(self) -> dict[str, Any]:
        snapshot: dict[str, Any] = self.memory._snapshot()
        return snapshot

    def observe_oom(self, observer: Callable[[int, int, int, int], None]) -> None:
        """`observer` gets device, bytes asked for, its limit, and bytes free on it. It cannot be
        taken away again. CUDA must have begun."""
        self.torch._C._cuda_attach_out_of_memory_observer(observer)


def imported() -> Any | None:
    """The torch that the program has imported, whole."""
    torch = sys.modules.get("torch")
    spec = getattr(torch, "__spec__", None)
    return None if getattr(spec, "_initializing", False) else torch


def required(function: str) -> Any:
    torch = imported()
    if torch is None:
        raise RuntimeError(f"[torch.{function}] torch; got no import of it, expected one before")
    return torch


def _missing(torch: Any) -> str | None:
    native = getattr(torch, "_C", None)
    if not hasattr(native, "_cuda_getDeviceCount"):
        return "is built without CUDA: what it allocates is not recorded"
    memory = getattr(getattr(torch, "cuda", None), "memory", None)
    history = getattr(memory, "_record_memory_history", None)
    known = () if history is None else inspect.signature(inspect.unwrap(history)).parameters
    needed = (memory, "_snapshot"), (native, "_cuda_attach_out_of_memory_observer")
    if "stacks" not in known or not all(hasattr(owner, name) for owner, name in needed):
        return "has no recorder that can be used: 2.1 and newer have"
    return None
