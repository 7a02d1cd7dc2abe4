# SPDX-License-Identifier: Apache-2.0
"""``strandline run``: a program as it is, recorded, and what held its peak at the end.

Everything that can fail is tried before the program starts: finding it, the output paths, the
adapters. Then the program runs in this interpreter as ``__main__``, and ends as it would without
us: same standard output, same traceback, same exit status.
"""

import importlib
import os
import sys
import traceback
import types
from collections.abc import Sequence

from . import _environment, _output
from ._command_line import RunOptions, parse_run
from ._session import Outputs, Session
from .errors import DeviceError
from .info import mlx_state, torch_state
from .program import Program, ProgramError, execute, load_module, load_script

_USAGE_STATUS = 2
_INTERRUPTED_STATUS = 130  # as a shell tells a death by SIGINT


class AdapterMissing(Exception):
    """Nothing would be recorded; the message says why and what to do."""


def run(words: Sequence[str]) -> int:
    """The program's exit status. SystemExit and KeyboardInterrupt come out as they are: Python
    knows how to end with them."""
    options = parse_run(words)
    try:
        program = _load(options)
        session = _prepare(options, program)
    except (ProgramError, _output.OutputError, AdapterMissing) as error:
        if sys.stderr is not None:
            print(f"strandline: {error}", file=sys.stderr)
        return _USAGE_STATUS
    except (SyntaxError, ValueError) as error:  # the program does not compile
        traceback.print_exception(type(error), error, None)
        return 1
    return _execute(program, session)


def _load(options: RunOptions) -> Program:
    load = load_module if options.is_module else load_script
    return load(options.target, options.arguments)


def _prepare(options: RunOptions, program: Program) -> Session:
    snapshot = options.output or f"{program.stem}.memory.pickle"
    outputs = Outputs(
        snapshot=_own_name(snapshot, "-o"),
        json=None if options.json is None else _own_name(options.json, "--json"),
        stream=_stream_path(options),
    )
    outputs.check(program.attributes.get("__file__"))
    if options.with_adapters:
        outputs.check_torch()
    session = Session(program.name, outputs, options.top, with_torch=options.with_adapters)
    if options.with_adapters:
        _load_adapters(session, options.allocator)
    try:
        session.start(options.max_entries, options.min_size)
    except DeviceError as error:
        raise _output.OutputError(f"cannot stream to {outputs.stream!r}: {error}") from None
    return session


def _stream_path(options: RunOptions) -> str | None:
    """What --stream says, else what the environment does."""
    asked = _environment.take_path()
    return asked if options.stream is None else _own_name(options.stream, "--stream")


def _own_name(path: str, option: str) -> str:
    """One of several processes, as torchrun starts them on a machine, must not write where the
    others do."""
    absolute = _output.absolute(path, option)
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    if rank.isdecimal() and size.isdecimal() and int(size) > 1:
        return _output.suffixed(absolute, f"rank-{int(rank)}") or absolute
    return absolute


def _load_adapters(session: Session, allocator: str | None) -> None:
    """Hooks and the allocator must be there before the program imports its framework. torch needs
    none: it records by itself, and is listened for by the session."""
    state = mlx_state()
    if state["off"] is None:
        mlx = importlib.import_module(f"{__package__}.mlx")
        mlx.on_failure(lambda error: session.warn(str(error)))
        if allocator is not None:
            mlx.use_allocator(allocator)
    elif allocator is not None or torch_state()["off"] is not None:
        raise AdapterMissing(
            f"nothing would be recorded: {state['off']}; or run with --without-adapters"
        )
    elif state["framework_version"] is not None:
        session.warn(f"mlx is not recorded: {state['off']}")


def _execute(program: Program, session: Session) -> int:
    try:
        execute(program)
    except SystemExit as stop:
        session.exit_status = _status_of(stop)
        raise
    except KeyboardInterrupt as interrupt:
        session.exit_status = _INTERRUPTED_STATUS
        _show(interrupt)
        # Out of here it makes Python end by SIGINT, which would show it again.
        sys.excepthook = _show_nothing
        raise
    except BaseException as error:
        session.exit_status = 1
        _show(error)
    return session.exit_status


def _status_of(stop: SystemExit) -> int:
    if stop.code is None:
        return 0
    return stop.code & 0xFF if isinstance(stop.code, int) else 1


def _show(error: BaseException) -> None:
    """As Python shows what ends a program, without the frames that lie outside of it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code is not execute.__code__:
        trace = trace.tb_next
    trace = trace.tb_next if trace is not None else None
    error.__traceback__ = trace
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        sys.excepthook(type(error), error, trace)
    except Exception as hook_error:
        print("Error in sys.excepthook:", file=sys.stderr)
        traceback.print_exception(hook_error)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(type(error), error, trace)


def _show_nothing(
    kind: type[BaseException], error: BaseException, trace: types.TracebackType | None
) -> None:
    pass
