# SPDX-License-Identifier: Apache-2.0
"""Gradients of functions whose arguments are nested lists, tuples and dictionaries of arrays."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .. import _arguments
from .._native import array as _native
from .._native.array import Array

__all__ = ["grad", "value_and_grad"]

Tree = Any  # nested lists, tuples and dictionaries of arrays


def flatten(tree: Tree, into: list[Array]) -> Any:
    """The arrays of a tree, in order, and what rebuilds it from as many others."""
    if isinstance(tree, Array):
        into.append(tree)
        return _LEAF
    if isinstance(tree, (list, tuple)):
        return type(tree), [flatten(branch, into) for branch in tree]
    if isinstance(tree, dict):
        return dict, [(key, flatten(branch, into)) for key, branch in tree.items()]
    return _Constant(tree)


class _Constant:
    """A value that is no array, kept as it is."""

    def __init__(self, value: Any) -> None:
        self.value = value


_LEAF = object()


def unflatten(form: Any, arrays: Any, constant: Callable[[Any], Any] = lambda value: value) -> Tree:
    """The tree of a form, with the next arrays of an iterator in it."""
    if form is _LEAF:
        return next(arrays)
    if isinstance(form, _Constant):
        return constant(form.value)
    kind, branches = form
    if kind is dict:
        return {key: unflatten(branch, arrays, constant) for key, branch in branches}
    made = [unflatten(branch, arrays, constant) for branch in branches]
    if kind is list:
        return made
    return kind(*made) if hasattr(kind, "_fields") else kind(made)


def value_and_grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] = (),
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns ``function``'s result and the gradient of its first value.

    ``function`` returns a scalar of floats, or a tuple or list whose first element is one. The
    gradient is with respect to the positional arguments of ``argnums`` (the first one unless
    said) and the keyword arguments of ``argnames``: trees of float arrays, whose form it has. With
    several argnums it is a tuple; with argnames, a pair of that and a dictionary. What is no array
    in a tree has None in its place. ValueError when the first value is no scalar of floats, when an
    array to differentiate has no floats, and for arguments that are not there or named twice.
    """
    if not callable(function):
        raise TypeError(
            _arguments.message("value_and_grad", "function", repr(function), "a function")
        )
    names = _all_of("argnames", argnames, str, "a name or a sequence of names")
    if argnums is None:
        argnums = [] if names else 0
    numbers = _all_of("argnums", argnums, int, "an int or a sequence of ints")
    if len(set(names)) != len(names):
        raise ValueError(
            _arguments.message("value_and_grad", "argnames", repr(argnames), "each argument once")
        )
    if not numbers and not names:
        raise ValueError(_arguments.message("value_and_grad", "argnums", argnums, "an argument"))

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        _check_arguments(numbers, names, args, kwargs)
        places = [number % len(args) for number in numbers]
        if len(set(places)) != len(places):
            raise ValueError(
                _arguments.message("value_and_grad", "argnums", argnums, "each argument once")
            )
        inputs: list[Array] = []
        forms = [flatten(args[place], inputs) for place in places]
        named_forms = {name: flatten(kwargs[name], inputs) for name in names}
        results: Any = None
        result_form: Any = None

        def call(given: list[Array]) -> list[Array]:
            nonlocal results, result_form
            leaves = iter(given)
            inner = list(args)
            for place, form in zip(places, forms, strict=True):
                inner[place] = unflatten(form, leaves)
            named = {name: unflatten(form, leaves) for name, form in named_forms.items()}
            results = function(*inner, **{**kwargs, **named})
            arrays: list[Array] = []
            result_form = flatten(results, arrays)
            first = results[0] if isinstance(results, (list, tuple)) and results else results
            if not isinstance(first, Array):
                raise ValueError(
                    _arguments.message("value_and_grad", "result", repr(first), "a scalar array")
                )
            return arrays

        values, gradients = _native.value_and_grad(call, inputs, list(range(len(inputs))))
        leaves = iter(gradients)
        trees = [unflatten(form, leaves, lambda _: None) for form in forms]
        named = {
            name: unflatten(form, leaves, lambda _: None) for name, form in named_forms.items()
        }
        positional = trees[0] if isinstance(argnums, int) else tuple(trees)
        return unflatten(result_form, iter(values)), (positional, named) if names else positional

    return wrapped


def grad(
    function: Callable[..., Any],
    argnums: int | Sequence[int] | None = None,
    argnames: str | Sequence[str] = (),
) -> Callable[..., Any]:
    """A function that returns the gradient alone; arguments and errors as of `value_and_grad`."""
    both = value_and_grad(function, argnums, argnames)

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return both(*args, **kwargs)[1]

    return wrapped


def _all_of(what: str, given: Any, kind: type, expected: str) -> list[Any]:
    """One value of a kind, or a sequence of them, as a list."""
    if isinstance(given, kind):
        return [given]
    found = list(given) if isinstance(given, (list, tuple)) else [given]
    if all(isinstance(one, kind) for one in found):
        return found
    raise TypeError(_arguments.message("value_and_grad", what, repr(given), expected))


def _check_arguments(
    numbers: list[int], names: list[str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    for number in numbers:
        if not -len(args) <= number < len(args):
            expected = f"one of {len(args)} positional arguments"
            raise ValueError(_arguments.message("value_and_grad", "argnums", number, expected))
    for name in names:
        if name not in kwargs:
            expected = "a keyword argument that is given"
            raise ValueError(_arguments.message("value_and_grad", "argnames", repr(name), expected))
