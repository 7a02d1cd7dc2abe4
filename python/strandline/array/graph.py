# SPDX-License-Identifier: Apache-2.0
"""Graphs as text, and the order in which they would run."""

import os
import sys
from typing import IO, Any

from .. import _arguments
from .._native import array as _native
from .._native.array import Array

__all__ = ["evaluation_plan", "export_to_dot", "print_graph"]


def export_to_dot(file: str | os.PathLike[str] | IO[str], *outputs: Any, **names: Array) -> None:
    """Write the graph that makes the outputs in Graphviz's language.

    ``file`` is a path or has ``write``. Arrays given by keyword are shown by these names.
    """
    arrays = _arrays("export_to_dot", outputs)
    text = _native.graph_text(arrays, _named("export_to_dot", names), True)
    if hasattr(file, "write"):
        file.write(text)
    elif isinstance(file, (str, os.PathLike)):
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text)
    else:
        expected = "a path or an object with write()"
        raise TypeError(_arguments.message("export_to_dot", "file", repr(file), expected))


def print_graph(*outputs: Any, file: IO[str] | None = None, **names: Array) -> None:
    """Print inputs, outputs and each operation with its shapes, to ``file`` or standard output.

    Arrays given by keyword are shown by these names. TypeError for outputs that are no arrays.
    """
    if file is not None and not hasattr(file, "write"):
        expected = "an object with write() or None"
        raise TypeError(_arguments.message("print_graph", "file", repr(file), expected))
    arrays = _arrays("print_graph", outputs)
    text = _native.graph_text(arrays, _named("print_graph", names), False)
    (sys.stdout if file is None else file).write(text)


def evaluation_plan(*outputs: Any) -> list[tuple[str, Array, int]]:
    """What `eval` would run, in order: operation, array, uses of it in this graph.

    Runs nothing. TypeError for outputs that are no arrays.
    """
    return _native.plan(_arrays("evaluation_plan", outputs))


def _arrays(function: str, outputs: tuple[Any, ...]) -> list[Array]:
    arrays: list[Array] = []
    for output in outputs:
        if isinstance(output, Array):
            arrays.append(output)
        elif isinstance(output, (list, tuple)):
            arrays += _arrays(function, tuple(output))
        else:
            raise TypeError(_arguments.message(function, "outputs", repr(output), "arrays"))
    return arrays


def _named(function: str, names: dict[str, Array]) -> list[tuple[str, Array]]:
    for name, value in names.items():
        if not isinstance(value, Array):
            raise TypeError(_arguments.message(function, name, repr(value), "an Array"))
    return list(names.items())
