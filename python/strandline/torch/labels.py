# SPDX-License-Identifier: Apache-2.0
"""Phases and labels in torch's own record.

Where torch's version has no such call, that is said once by a warning and the program goes on.
"""

import contextlib
import warnings
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self

from .. import _arguments
from . import calls

_DEEPEST = 64  # of a tree's containers
_said: set[str] = set()


class phase(contextlib.ContextDecorator):  # noqa: N801  used like a function
    """Name the time spent inside a ``with`` block or a decorated function, on any thread.

    It is torch's ``record_function``, which profilers show as well; snapshots have it while torch
    records. Phases nest, and each has its own peak in the report.

    Raises RuntimeError before torch is imported, TypeError for a name that is no str.
    """

    def __init__(self, name: str) -> None:
        self._name = _arguments.text("torch.phase", "name", name)
        self._ranges: list[Any] = []

    def __enter__(self) -> Self:
        torch = calls.required("phase")
        _warn_without_phases(torch)
        opened = torch.profiler.record_function(self._name)
        opened.__enter__()
        self._ranges.append(opened)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ranges.pop().__exit__(kind, error, traceback)

    def _recreate_cm(self) -> Self:
        # A decorated function may run on several threads at once.
        return type(self)(self._name)


@contextlib.contextmanager
def memory_label(label: str | dict[str, Any]) -> Iterator[None]:
    """Label what this thread allocates inside a ``with`` block or a decorated function.

    Labels nest: the innermost counts, and on leaving the one before is in force again. A dict is
    recorded as canonical JSON. Threads of autograd are not this thread: what a backward pass
    allocates has no label.

    Raises RuntimeError before torch is imported.
    """
    text = _arguments.label_text("torch.memory_label", label)
    memory = calls.required("memory_label").cuda.memory
    put = getattr(memory, "_set_memory_metadata", None)
    if put is None:
        _warn("memory_label", "cannot label allocations; nothing is written")
        yield
        return
    before = memory._get_memory_metadata()
    put(text)
    try:
        yield
    finally:
        put(before)


def label(tree: object, name: str | None = None) -> int:
    """Label the memory behind every CUDA tensor in `tree`, each as ``name.path``; how many blocks.

    `tree` is a module, an optimiser, a tensor, or nested dicts, lists and tuples of these; `name`
    is its class where none is given. A tensor that shares its memory with one before it is not
    labelled again. What comes later is not found: label an optimiser after its first step.

    Raises RuntimeError before torch is imported, TypeError for a name that is no str.
    """
    torch = calls.required("label")
    if name is None:
        name = type(tree).__name__
    _arguments.text("torch.label", "name", name)
    annotate = getattr(torch._C, "_cuda_annotateMemory", None)
    if annotate is None:
        _warn("label", "cannot label tensors; nothing is written")
        return 0
    if not torch.cuda.is_initialized():
        return 0
    seen: set[int] = {0}
    found = 0
    for path, tensor in _tensors(torch, tree, name):
        address = _address(tensor)
        if address not in seen:
            seen.add(address)
            found += _annotate(annotate, address, path)
    return found


def _annotate(annotate: Callable[[int, str], None], address: int, path: str) -> bool:
    try:
        annotate(address, path)
    except RuntimeError:  # memory of another allocator, as a library's own
        return False
    return True


def _tensors(torch: Any, tree: Any, path: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Every tensor below `tree` with its dotted path."""
    if depth > _DEEPEST:
        return
    if isinstance(tree, torch.Tensor):
        yield path, tree
        if tree.grad_fn is None and tree.grad is not None:
            yield f"{path}.grad", tree.grad
    elif isinstance(tree, torch.nn.Module):
        for part, tensor in _of_module(tree):
            yield from _tensors(torch, tensor, f"{path}.{part}", depth + 1)
    elif isinstance(tree, torch.optim.Optimizer):
        for number, state in enumerate(tree.state.values()):
            yield from _tensors(torch, _by_kind(state, number), path, depth + 1)
    elif isinstance(tree, dict):
        for key, value in list(tree.items()):
            yield from _tensors(torch, value, f"{path}.{key}", depth + 1)
    elif isinstance(tree, (list, tuple)):
        for index, value in enumerate(tree):
            yield from _tensors(torch, value, f"{path}.{index}", depth + 1)


def _of_module(module: Any) -> Iterator[tuple[str, Any]]:
    yield from module.named_parameters()
    yield from module.named_buffers()


def _by_kind(state: Any, number: int) -> Any:
    """``exp_avg.3`` rather than ``3.exp_avg``: moments add up over parameters."""
    return {f"{kind}.{number}": value for kind, value in state.items()}


def _address(tensor: Any) -> int:
    """Where the block behind a tensor starts; 0 for what has none on a CUDA device."""
    if not tensor.is_cuda:
        return 0
    try:
        return int(tensor.untyped_storage().data_ptr())
    except (NotImplementedError, RuntimeError):  # a tensor of a class without storage
        return 0


def _warn_without_phases(torch: Any) -> None:
    try:
        has_phases = calls.Calls(torch).has_phases()
    except calls.Unavailable:
        return  # nothing is recorded, and that is said where it is asked for
    if not has_phases:
        _warn("phase", "does not write phases of all threads into its snapshots")


def _warn(function: str, what: str) -> None:
    if function in _said:
        return
    _said.add(function)
    version = getattr(calls.imported(), "__version__", "")
    warnings.warn(f"strandline.torch.{function}: torch {version} {what}", stacklevel=4)
