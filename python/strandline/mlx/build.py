# SPDX-License-Identifier: Apache-2.0
"""The adapter's shared object: the one built with this package, or one built on first use.

For another version of MLX the adapter is compiled from its sources, which lie in this package,
against the headers in the user's own wheel, into the user's cache folder. It is then tested by a
small program in a process of its own (`selftest`), and used only if that agrees with MLX's own
figures.
"""

import hashlib
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from .errors import AdapterError

_PACKAGE = pathlib.Path(__file__).resolve().parent.parent
_NAME = "libstrandline_mlx.so"
_COMPILE_LIMIT_S = 600
_SELFTEST_LIMIT_S = 120


def prebuilt_library() -> str | None:
    path = _PACKAGE / "lib" / _NAME
    return str(path) if path.exists() else None


def library_for(version: str, supported: tuple[str, ...]) -> str:
    """A tested adapter for `version`, built when there is none yet. Raises AdapterError."""
    folder = _cache_folder(version)
    library = folder / _NAME
    if library.exists():
        return str(library)
    print(f"strandline: building the adapter for mlx {version}, once …", file=sys.stderr)
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, suffix=".so")
    os.close(handle)
    fresh = pathlib.Path(name)
    try:
        _compile(fresh, version, supported)
        _test(fresh, version, supported)
        fresh.rename(library)
    finally:
        fresh.unlink(missing_ok=True)
    return str(library)


def _cache_folder(version: str) -> pathlib.Path:
    """One folder for each pair of sources and headers, so that neither is ever stale."""
    root = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    digest = hashlib.sha256()
    for source in [*sorted(_sources()), *sorted(_PACKAGE.glob("lib/libstrandline.so*"))]:
        digest.update(source.read_bytes())
    digest.update(str(_mlx_folder()).encode())
    name = f"mlx-{version}-{digest.hexdigest()[:16]}"
    return pathlib.Path(root) / "strandline" / "adapters" / name


def _sources() -> list[pathlib.Path]:
    folder = _PACKAGE / "adapters" / "mlx"
    return [path for path in folder.iterdir() if path.suffix in (".cpp", ".h", ".map")]


def _mlx_folder() -> pathlib.Path:
    spec = importlib.util.find_spec("mlx")
    assert spec is not None and spec.submodule_search_locations
    return pathlib.Path(next(iter(spec.submodule_search_locations)))


def _compile(library: pathlib.Path, version: str, supported: tuple[str, ...]) -> None:
    compiler = next(
        (
            path
            for name in (os.environ.get("CXX"), "g++", "c++", "clang++")
            if name and (path := shutil.which(name))
        ),
        None,
    )
    if compiler is None:
        raise AdapterError(
            _advice(
                f"mlx {version} needs its adapter built, and there is no C++ "
                "compiler: install g++ (Debian: apt install g++)",
                supported,
            )
        )
    sources = [str(path) for path in _sources() if path.suffix == ".cpp"]
    command = [
        compiler, "-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden",
        "-fno-strict-aliasing", "-fno-omit-frame-pointer",
        f"-I{_PACKAGE / 'include'}", "-isystem", str(_mlx_folder() / "include"),
        f"-Wl,--version-script={_PACKAGE / 'adapters' / 'mlx' / 'hooks.map'}",
        "-Wl,--exclude-libs,ALL", *sources,
        str(_PACKAGE / "lib" / "libstrandline.so"), f"-Wl,-rpath,{_PACKAGE / 'lib'}", "-ldl",
        "-o", str(library),
    ]  # fmt: skip
    outcome = _run(command, _COMPILE_LIMIT_S)
    if outcome is not None:
        raise AdapterError(
            _advice(f"the adapter does not compile against mlx {version}: {outcome}", supported)
        )


def _test(library: pathlib.Path, version: str, supported: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "strandline.mlx_selftest", str(library)]
    outcome = _run(command, _SELFTEST_LIMIT_S) or _run([*command, "host"], _SELFTEST_LIMIT_S)
    if outcome is not None:
        raise AdapterError(
            _advice(
                f"the adapter built for mlx {version} does not agree with it: {outcome}", supported
            )
        )


def _run(command: list[str], limit_s: float) -> str | None:
    """None when the command succeeds, else what it said, in one line."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return next(iter(errors or lines[-1:]), f"exit status {done.returncode}")


def _advice(what: str, supported: tuple[str, ...]) -> str:
    return f"{what}; supported without a build: pip install 'mlx[cpu]=={supported[-1]}'"
