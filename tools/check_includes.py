#!/usr/bin/env python3
"""Holds every include of the tree to the architecture: who may use whom.

USES is the table of rooms. A source of a room (include/strandline/<room>, src/<room>) may include
the headers of its own room and of the rooms in its row; private headers (included as "<room>/x.h",
they live in src/) only those of its own room. Code outside of the rooms (python/, adapters/,
examples/, bench/) sees public headers only. Rooms never see Python, CUDA or a framework.
The table of targets in src/CMakeLists.txt must say the same.

Usage: tools/check_includes.py [ROOT]      prints FILE:LINE: reason, exits 1 if there is any
"""
# SPDX-License-Identifier: Apache-2.0

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

USES: dict[str, tuple[str, ...]] = {
    "core": (),
    "record": ("core",),
    "device": ("core",),
    "alloc": ("core", "record", "device"),
    "tensor": ("core", "record", "device", "alloc"),
    "snapshot": ("core", "record"),
    "replay": ("core", "device", "alloc", "snapshot"),
    "array": ("core", "record", "device", "alloc"),
    "cli": ("core", "snapshot", "replay"),
}
# Folders outside of the rooms, and the rooms whose public headers they may include.
CLIENTS: dict[str, tuple[str, ...]] = {
    "python": tuple(USES),
    "adapters": ("core", "record", "device", "alloc", "snapshot"),
    "examples": tuple(USES),
    "bench": tuple(USES),
}
FOREIGN = re.compile(r"^(Python\.h|pybind11/|nanobind/|mlx/|torch/|c10/|cuda|nvtx|cupti|numpy/)")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCES = {".h", ".hpp", ".cpp", ".cc", ".inc"}


class Violation(NamedTuple):
    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


def includes(path: Path) -> Iterator[tuple[int, str]]:
    text = path.read_text(encoding="utf-8", errors="replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if match := INCLUDE.match(line):
            yield number, match.group(2)


def sources(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from sorted(p for p in folder.rglob("*") if p.suffix in SOURCES)


def room_of_include(target: str, root: Path) -> tuple[str, bool] | None:
    """The room that owns an include and whether it is a public header; None if it is not ours."""
    parts = target.split("/")
    if parts[0] == "strandline" and len(parts) > 2:
        return parts[1], True
    if len(parts) > 1 and parts[0] in USES and (root / "src" / target).exists():
        return parts[0], False
    return None


def check_room(room: str, root: Path) -> Iterator[Violation]:
    allowed = (room, *USES[room])
    for side in ("include/strandline", "src"):
        for path in sources(root / side / room):
            for line, target in includes(path):
                if reason := room_violation(room, allowed, side, target, root):
                    yield Violation(str(path.relative_to(root)), line, reason)


def room_violation(
    room: str, allowed: tuple[str, ...], side: str, target: str, root: Path
) -> str | None:
    # device keeps its driver types behind src/device/cuda, loaded at run time: no header of CUDA.
    if FOREIGN.match(target):
        return f"rooms never include <{target}>"
    if target.startswith(("../", "./")):
        return f'"{target}": name the room, not a path'
    found = room_of_include(target, root)
    if found is None:
        return None
    other, public = found
    if other not in USES:
        return f"<{target}>: there is no room {other}"
    if other not in allowed:
        return f"{room} may use {', '.join(USES[room]) or 'nothing of ours'}, not {other}"
    if not public and other != room:
        return f'"{target}" is private to {other}'
    if not public and side.startswith("include"):
        return f'a public header includes the private "{target}"'
    return None


def check_client(client: str, root: Path) -> Iterator[Violation]:
    for path in sources(root / client):
        for line, target in includes(path):
            found = room_of_include(target, root)
            if found is None:
                continue
            other, public = found
            if not public:
                reason = f'"{target}" is private to {other}; {client}/ sees public headers only'
            elif other not in CLIENTS[client]:
                reason = f"{client}/ may use {', '.join(CLIENTS[client])}, not {other}"
            else:
                continue
            yield Violation(str(path.relative_to(root)), line, reason)


def check_unknown_rooms(root: Path) -> Iterator[Violation]:
    for side in ("include/strandline", "src"):
        folder = root / side
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path.is_dir() and path.name not in USES:
                yield Violation(f"{side}/{path.name}", 1, "a folder that is no room of the table")


def check_targets(root: Path) -> Iterator[Violation]:
    """src/CMakeLists.txt may leave out rooms, or uses of rooms, that do not exist yet; not add."""
    table = root / "src" / "CMakeLists.txt"
    if not table.exists():
        return
    call = re.compile(r"^strandline_add_room\((\w+)(?:\s+USES\s+([^)]*?))?(?:\s+LINKS[^)]*)?\)")
    for number, line in enumerate(table.read_text().splitlines(), start=1):
        if match := call.match(line):
            room, uses = match.group(1), (match.group(2) or "").split()
            extra = [use for use in uses if use not in USES.get(room, ())]
            if room not in USES:
                yield Violation("src/CMakeLists.txt", number, f"there is no room {room}")
            elif extra:
                reason = f"{room} links {', '.join(extra)}, which its row does not allow"
                yield Violation("src/CMakeLists.txt", number, reason)


def check(root: Path) -> list[Violation]:
    found = [*check_unknown_rooms(root), *check_targets(root)]
    for room in USES:
        found += check_room(room, root)
    for client in CLIENTS:
        found += check_client(client, root)
    return found


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    violations = check(root)
    for violation in violations:
        print(violation)
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
