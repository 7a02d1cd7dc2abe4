# SPDX-License-Identifier: Apache-2.0
"""Loads the adapter's shared object into this process, before MLX.

The hooks are symbols of libmlx defined once more, with global scope. The dynamic linker binds each
call of MLX to the first definition it finds, so the object must be there before libmlx is; loaded
later, or with local scope, it would see nothing and nothing would say so. That is why the hooks are
probed as soon as ``mlx.core`` has been imported.
"""

import ctypes
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
import types
from collections.abc import Callable, Sequence

from .. import _native
from . import build, probe
from .errors import AdapterError

SUPPORTED_VERSIONS = ("0.32.4",)
"""MLX versions that the adapter is built for and tested with; others are built on first use."""

_CORE = "mlx.core"
_loaded: object = None  # the handle, kept for the life of the process
_on_failure: Callable[[AdapterError], None] | None = None


def load_adapter() -> None:
    """Load the adapter; a second call does nothing.

    Raises AdapterError when it cannot be loaded. Whether the hooks took is only known once MLX has
    been imported: if they did not, that import raises AdapterError, unless `on_failure` was used.
    """
    global _loaded
    if _loaded is not None:
        return
    if _CORE in sys.modules:
        raise AdapterError(
            "mlx was imported before strandline.mlx, too late to record it: import strandline.mlx "
            "first, or start the program with `strandline run`"
        )
    version = _installed_version()
    library = _library_for(version)
    try:
        _loaded = ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_GLOBAL)
    except OSError as error:
        raise AdapterError(f"the adapter for mlx {version} does not load: {error}") from None
    sys.meta_path.insert(0, _CoreFinder())


def on_failure(handler: Callable[[AdapterError], None]) -> None:
    """When the hooks did not take, `handler` is told and the program goes on unrecorded."""
    global _on_failure
    _on_failure = handler


def _installed_version() -> str:
    """The version of the MLX this Python would import, which must be the CPU build."""
    if importlib.util.find_spec("mlx") is None:
        raise AdapterError(
            f"mlx is not installed for {sys.executable}: pip install 'mlx[cpu]=={_newest()}'"
        )
    try:
        version = importlib.metadata.version("mlx")
    except importlib.metadata.PackageNotFoundError:
        raise AdapterError(
            "mlx is not installed as a package, so its version is unknown: "
            f"pip install 'mlx[cpu]=={_newest()}'"
        ) from None
    try:
        importlib.metadata.version("mlx-cpu")
    except importlib.metadata.PackageNotFoundError:
        raise AdapterError(
            f"mlx {version} is installed without its CPU backend; GPU streams are not recorded: "
            f"pip install 'mlx[cpu]=={_newest()}'"
        ) from None
    return version


def _newest() -> str:
    return SUPPORTED_VERSIONS[-1]


def _library_for(version: str) -> str:
    """The adapter's shared object: the one of this package, or one built for another version."""
    prebuilt = build.prebuilt_library()
    if version in SUPPORTED_VERSIONS and prebuilt is not None:
        return prebuilt
    return build.library_for(version, SUPPORTED_VERSIONS)


class _CoreFinder(importlib.abc.MetaPathFinder):
    """Finds ``mlx.core`` as the others do, and probes the hooks once it has been executed."""

    def find_spec(
        self,
        name: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        if name != _CORE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            self._probe_after(spec.loader)
        return spec

    def _probe_after(self, loader: importlib.abc.Loader) -> None:
        execute = loader.exec_module

        def exec_module(module: types.ModuleType) -> None:
            execute(module)
            del loader.exec_module  # the loader is as it was
            self._attach(module)

        loader.exec_module = exec_module  # type: ignore[method-assign]

    def _attach(self, core: types.ModuleType) -> None:
        try:
            probe.attach(core, adapter())
        except AdapterError as error:
            if _on_failure is None:
                raise
            _on_failure(error)


def adapter() -> _native.Adapter:
    """Of MLX, once it is loaded."""
    for known in _native.adapters():
        if known.name == "mlx":
            return known
    raise AdapterError("the MLX adapter did not register: reinstall strandline")
