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
    text = _native.graph_text(_arrays("export_to_dot", outputs), list(names.items()), True)
    if hasattr(file, "write"):
        file.write(text)
    elif isinstance(file, (str, os.PathLike)):
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text)
    else:
        expected = "a path or an object with write()"
        raise ValueError(_arguments.message("export_to_dot", "file", repr(file), expected))


def print_graph(*outputs: Any, file: IO[str] | None = None, **names: Array) -> None:
    """Print inputs, outputs and each operation with its shapes."""
    text = _native.graph_text(_arrays("print_graph", outputs), list(names.items()), False)
    (sys.stdout if file is None else file).write(text)


def evaluation_plan(*outputs: Any) -> list[tuple[str, Array, int]]:
    """What `eval` would run, in order: operation, array, uses of it in this graph."""
    return _native.plan(_arrays("evaluation_plan", outputs))


def _arrays(function: str, outputs: tuple[Any, ...]) -> list[Array]:
    arrays: list[Array] = []
    for output in outputs:
        if isinstance(output, Array):
            arrays.append(output)
        elif isinstance(output, (list, tuple)):
            arrays += _arrays(function, tuple(output))
        else:
            raise TypeError(_arguments.message(function, "output", repr(output), "arrays"))
    return arrays
