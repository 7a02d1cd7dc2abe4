# SPDX-License-Identifier: Apache-2.0
"""Did the hooks take? An empty array is made and dropped, which changes none of MLX's figures."""

import types

from .. import _native
from .errors import AdapterError

_HOOKS_OF_AN_EMPTY_ARRAY = ("desc_init", "malloc", "set_data", "free", "desc_destroy")


def attach(core: types.ModuleType, adapter: _native.Adapter) -> None:
    """Begin to record the MLX just imported. Raises AdapterError when a hook took not."""
    before = adapter.hook_calls()
    core.array([], dtype=core.float32)
    after = adapter.hook_calls()
    silent = [hook for hook in _HOOKS_OF_AN_EMPTY_ARRAY if after[hook] == before[hook]]
    if silent:
        raise AdapterError(
            f"hooks did not take in mlx {core.__version__} ({', '.join(silent)}): nothing is "
            "recorded; start the program with `strandline run`, without other tools that preload "
            "or bind libmlx"
        )
    if core.default_device().type != core.DeviceType.cpu:
        raise AdapterError(
            f"mlx computes on {core.default_device()} here; GPU streams are not recorded: "
            "mx.set_default_device(mx.cpu), or pip install 'mlx[cpu]'"
        )
    if adapter.refusal:
        raise AdapterError(
            f"mlx {core.__version__} lays out its buffers in a way that is not known "
            f"({adapter.refusal}): it keeps its own allocator; use the version this was tested "
            "with, or leave the choice of an allocator out"
        )
    try:
        adapter.attach()
    except RuntimeError as error:
        raise AdapterError(str(error)) from None
    _watch_calls(core)


def _watch_calls(core: types.ModuleType) -> None:
    """Let all nodes that one call of MLX makes share one stack, gathered once."""
    inside = [value for value in vars(core).values() if isinstance(value, types.ModuleType)]
    for space in (core, *inside):
        for value in list(vars(space).values()):
            for callable in list(vars(value).values()) if isinstance(value, type) else [value]:
                _native.watch_call(callable)
