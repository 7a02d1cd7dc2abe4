# SPDX-License-Identifier: Apache-2.0
"""Labels for the arrays of a model or an optimiser, by their paths in its tree."""

import ctypes
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .. import _native, _refresh

_POINTER_OFFSET = 16  # of the instance's int32 offset to its value, in nanobind's object header

_trees: list[tuple[Callable[[], object | None], str]] = []
_registered = False


def label(tree: object, name: str) -> int:
    """Label the buffers behind every array in `tree`, each as ``name.path``; how many were found.

    `tree` is a model, an optimiser, or nested dicts, lists and tuples of arrays. It is walked again
    at each phase's end, before a snapshot, and by `relabel`, since training replaces the arrays in
    it. A label counts for the whole life of a block, also for the part before it was found.

    Models and optimisers are not kept alive by this. Plain dicts, lists and tuples are, with the
    arrays in them, since Python cannot refer to those weakly: label the model, not
    ``model.parameters()``.

    Raises TypeError for a name that is no string, ValueError for an empty one or before
    ``mlx.core`` is imported.
    """
    if not isinstance(name, str):
        raise TypeError(f"[label] name; got {type(name).__name__}, expected str")
    if not name:
        raise ValueError("[label] name; got '', expected a text")
    if "mlx.core" not in sys.modules:
        raise ValueError("[label] mlx.core; got no import of it, expected one before labelling")
    found = _label_tree(tree, name)  # what it raises leaves nothing behind
    global _registered
    if not _registered:
        _refresh.register(relabel)
        _registered = True
    _trees.append((_reference(tree), name))
    return found


def relabel() -> int:
    """Walk all labelled trees again; how many arrays were found."""
    found = 0
    for reference, name in list(_trees):
        tree = reference()
        if tree is None:
            _trees.remove((reference, name))
            continue
        try:
            found += _label_tree(tree, name)
        except Exception as error:  # of the tree's own classes; the others go on
            _trees.remove((reference, name))
            warnings.warn(f"strandline: {name!r} is no longer labelled: {error}", stacklevel=2)
    return found


def array_key(array: object) -> int | None:
    """The recorder's key of an MLX array, None for anything else.

    It is the address of the array's descriptor, read through nanobind's object header without
    evaluating the array.
    """
    core = sys.modules.get("mlx.core")
    if core is None or type(array) is not core.array:
        return None
    start = id(array)
    value = start + ctypes.c_int32.from_address(start + _POINTER_OFFSET).value
    return ctypes.c_uint64.from_address(value).value


def _reference(tree: object) -> Callable[[], object | None]:
    try:
        return weakref.ref(tree)
    except TypeError:  # plain containers cannot be referred to weakly
        return lambda: tree


def _label_tree(tree: object, name: str) -> int:
    adapter = next((a for a in _native.adapters() if a.name == "mlx"), None)
    if adapter is None:
        return 0
    found = 0
    for path, array in _arrays(tree, name):
        key = array_key(array)
        found += key is not None and adapter.label_array(key, path)
    return found


def _arrays(tree: Any, path: str, depth: int = 0) -> Iterator[tuple[str, object]]:
    """Every array below `tree` with its dotted path."""
    core = sys.modules["mlx.core"]
    if type(tree) is core.array:
        yield path, tree
    elif depth > 64:
        return
    elif isinstance(tree, dict):
        for key, value in list(tree.items()):
            yield from _arrays(value, f"{path}.{key}", depth + 1)
    elif isinstance(tree, (list, tuple)):
        for index, value in enumerate(tree):
            yield from _arrays(value, f"{path}.{index}", depth + 1)
    elif depth == 0 and hasattr(tree, "state"):
        yield from _arrays(tree.state, path, depth + 1)
