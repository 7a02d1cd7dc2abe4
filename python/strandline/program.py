# SPDX-License-Identifier: Apache-2.0
"""A program as ``python script.py`` or ``python -m module`` would run it.

`load` finds and compiles it without running a line; `execute` makes it ``__main__`` and runs it in
this process, with its own ``sys.argv`` and ``sys.path[0]``. The module stays in ``sys.modules``, so
that late threads, atexit functions, pickling and multiprocessing find what they expect.
"""

import importlib.machinery
import importlib.util
import io
import os
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any


class ProgramError(Exception):
    """There is no such program; the message is one line."""


@dataclass
class Program:
    """Code and what ``__main__`` and ``sys`` should say while it runs."""

    name: str  # for the report
    stem: str  # for names of files made from it
    code: types.CodeType
    argv: list[str]
    path_entry: str
    attributes: dict[str, Any] = field(default_factory=dict)  # of __main__


def load_script(path: str, arguments: Sequence[str]) -> Program:
    """A source file, a compiled file, or a folder or archive that holds a ``__main__``."""
    if _is_container(path):
        return _load_container(path, arguments)
    name = os.path.basename(path)
    file = os.path.abspath(path)
    return Program(
        name=name,
        stem=os.path.splitext(name)[0],
        code=_read_code(path, file),
        argv=[path, *arguments],
        path_entry=os.path.dirname(os.path.realpath(path)),
        attributes={
            "__file__": file,
            "__cached__": None,
            "__spec__": None,
            "__package__": None,
            "__loader__": importlib.machinery.SourceFileLoader("__main__", file),
        },
    )


def load_module(name: str, arguments: Sequence[str]) -> Program:
    """A module by its dotted name, looked up with the current folder first, as ``-m`` does."""
    folder = os.getcwd()
    before = sys.path[:]
    _set_path_entry(folder)
    try:
        spec = _find_module(name)
        code = _module_code(spec)
    finally:
        sys.path[:] = before
    return _of_spec(name, spec, code, [spec.origin or name, *arguments], folder)


def execute(program: Program) -> None:
    """Run it. Whatever it raises comes out; frames of this function stand outside of it."""
    main = types.ModuleType("__main__")
    vars(main).update(program.attributes)
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    main.__dict__.setdefault("__annotations__", {})
    sys.modules["__main__"] = main
    sys.argv[:] = program.argv
    _set_path_entry(program.path_entry)
    exec(program.code, main.__dict__)


def _set_path_entry(folder: str) -> None:
    """Python put our own folder first; with -P or -I it put nothing there, and nor do we."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _is_container(path: str) -> bool:
    if os.path.isdir(path):
        return True
    return importlib.machinery.PathFinder.find_spec("__main__", [os.path.abspath(path)]) is not None


def _load_container(path: str, arguments: Sequence[str]) -> Program:
    folder = os.path.abspath(path)
    spec = importlib.machinery.PathFinder.find_spec("__main__", [folder])
    if spec is None:
        raise ProgramError(f"cannot find a '__main__' module in {path!r}")
    name = os.path.basename(folder)
    made = _of_spec(name, spec, _module_code(spec), [path, *arguments], folder)
    made.stem = os.path.splitext(name)[0]
    return made


def _of_spec(
    name: str,
    spec: importlib.machinery.ModuleSpec,
    code: types.CodeType,
    argv: list[str],
    path_entry: str,
) -> Program:
    return Program(
        name=name,
        stem=name,
        code=code,
        argv=argv,
        path_entry=path_entry,
        attributes={
            "__file__": spec.origin,
            "__cached__": spec.cached,
            "__spec__": spec,
            "__package__": spec.parent,
            "__loader__": spec.loader,
        },
    )


def _read_code(path: str, file: str) -> types.CodeType:
    try:
        with io.open_code(file) as opened:
            content = opened.read()
    except OSError as error:
        raise ProgramError(f"cannot open {path!r}: {error.strerror}") from None
    if not file.endswith(".pyc"):
        return compile(content, file, "exec", dont_inherit=True)
    try:
        code = importlib.machinery.SourcelessFileLoader("__main__", file).get_code("__main__")
    except (ImportError, EOFError, ValueError, TypeError) as error:
        raise ProgramError(f"cannot run {path!r}: {error}") from None
    if code is None:
        raise ProgramError(f"cannot run {path!r}: it holds no code")
    return code


def _find_module(name: str) -> importlib.machinery.ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError) as error:
        raise ProgramError(f"error while finding module {name!r}: {error}") from None
    if spec is None:
        raise ProgramError(f"no module named {name!r}")
    return spec


def _module_code(spec: importlib.machinery.ModuleSpec) -> types.CodeType:
    get_code = getattr(spec.loader, "get_code", None)
    code: types.CodeType | None = get_code(spec.name) if get_code is not None else None
    if code is None:
        raise ProgramError(f"no code object available for {spec.name!r}")
    return code
