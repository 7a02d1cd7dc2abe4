# SPDX-License-Identifier: Apache-2.0
"""``strandline info``: versions, how stacks and times are taken, what is recorded, and why not."""

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import platform
import sys
from collections.abc import Sequence
from typing import TypedDict

from . import __version__, _native
from .allocators import KINDS
from .recording import capture_info


class AdapterState(TypedDict):
    """``off`` says why, None when the adapter is ready; ``allocator`` is ours beneath the
    framework, None for its own."""

    name: str
    framework_version: str | None
    allocator: str | None
    off: str | None


def info(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="strandline info", allow_abbrev=False)
    parser.add_argument("--json", action="store_true", help="as JSON")
    as_json = parser.parse_args(list(words)).json
    facts = collect()
    print(json.dumps(facts, indent=2) if as_json else _text(facts))
    return 0


def collect() -> dict[str, object]:
    capture = capture_info()
    return {
        "strandline": __version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "executable": sys.executable,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "compiler": _native.compiler,
        "capture": capture["sources"],
        "clock": capture["clock"],
        "adapters": [mlx_state(), torch_state()],
        "allocators": list(KINDS),
    }


def mlx_state() -> AdapterState:
    """Loads the adapter, which must happen before mlx is imported; nothing is recorded by that."""
    off: str | None = None
    if importlib.util.find_spec("mlx") is None:
        off = f"mlx is not installed for {sys.executable}: pip install 'mlx[cpu]==0.32.4'"
        return {"name": "mlx", "framework_version": None, "allocator": None, "off": off}
    version = _installed_version("mlx")
    allocator: str | None = None
    try:
        allocator = importlib.import_module(f"{__package__}.mlx").allocator_in_use()
    except ModuleNotFoundError as error:
        if error.name != f"{__package__}.mlx":
            raise
        off = "this build has no adapter for mlx"
    except ImportError as error:  # AdapterError says what to do
        off = str(error)
    return {"name": "mlx", "framework_version": version, "allocator": allocator, "off": off}


def torch_state() -> AdapterState:
    """Without importing torch: whether one is there whose device memory could be recorded."""
    off: str | None = None
    version = _installed_version("torch")
    if importlib.util.find_spec("torch") is None:
        off = f"torch is not installed for {sys.executable}"
    elif version is not None and version.endswith("+cpu"):
        off = f"torch {version} is built without CUDA"
    return {"name": "torch", "framework_version": version, "allocator": None, "off": off}


def _installed_version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _text(facts: dict[str, object]) -> str:
    lines = [f"{key:<12}{value}" for key, value in facts.items() if isinstance(value, str)]
    for adapter in facts["adapters"]:  # type: ignore[attr-defined]
        version = adapter["framework_version"] or "not installed"
        state = "ready" if adapter["off"] is None else f"off: {adapter['off']}"
        lines.append(f"{'adapter':<12}{adapter['name']} {version}, {state}")
        if adapter["off"] is None and adapter["name"] == "mlx":
            own = f"{adapter['name']}'s own"
            lines.append(f"{'allocator':<12}{adapter['allocator'] or own}")
    choices = ", ".join(facts["allocators"])  # type: ignore[arg-type]
    lines.append(f"{'choices':<12}{choices} (run --allocator, strandline.mlx.use_allocator)")
    return "\n".join(lines)
