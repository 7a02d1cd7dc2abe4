# SPDX-License-Identifier: Apache-2.0
"""``strandline symbolize``: names for native frames that were recorded as module and offset.

A stripped binary gives frames such as ``engine.so+0x1a2b``, with ``engine.so [build id 3f2a…]`` for
a file. This filter copies text, any that has such frames (a report, JSON), and puts function, file
and line in their place, from unstripped binaries of the same build. addr2line does the reading.
"""

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

FRAME = re.compile(r"(?P<module>[\w.@%~-]+(?:\+\+[\w.-]*)?)\+(?P<offset>0x[0-9a-f]+)")
MODULE = re.compile(r"(?P<module>[^\s\"'/]+) \[build id (?P<id>[0-9a-f]+)\]")
BUILD_ID = re.compile(r"Build ID: ([0-9a-f]+)")


def symbolize(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="strandline symbolize", allow_abbrev=False)
    parser.add_argument(
        "binaries", nargs="+", metavar="BINARY", help="unstripped program or library"
    )
    parser.add_argument("-i", "--input", help="file to read, otherwise standard input")
    options = parser.parse_args(list(words))
    missing = [name for name in ("addr2line", "readelf") if shutil.which(name) is None]
    if missing:
        return _fail(f"{' and '.join(missing)} not found: install binutils")
    try:
        build_ids = {_build_id(path): path for path in options.binaries}
    except (OSError, subprocess.CalledProcessError) as error:
        return _fail(f"a binary cannot be read: {error}")
    try:
        text = Path(options.input).read_text("utf-8") if options.input else sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        return _fail(f"the input cannot be read: {error}")
    resolved, notes = resolve(text, build_ids)
    sys.stdout.write(resolved)
    for note in notes:
        print(f"strandline symbolize: {note}", file=sys.stderr)
    return 1 if notes else 0


def resolve(text: str, build_ids: dict[str, str]) -> tuple[str, list[str]]:
    """The text with names, and what could not be named. ``build_ids`` leads to binaries."""
    wanted = {found["module"]: found["id"] for found in MODULE.finditer(text)}
    offsets: dict[str, set[str]] = {}
    for found in FRAME.finditer(text):
        offsets.setdefault(found["module"], set()).add(found["offset"])
    names: dict[tuple[str, str], str] = {}
    notes = []
    for module, places in sorted(offsets.items()):
        if module not in wanted:
            continue  # not one of ours: other text may look like a frame
        binary = build_ids.get(wanted[module])
        if binary is None:
            notes.append(f"no binary given has the build id of {module}: {wanted[module]}")
            continue
        for offset, name in _addr2line(binary, sorted(places)):
            names[module, offset] = name
    named = FRAME.sub(lambda found: names.get((found["module"], found["offset"]), found[0]), text)
    return named, notes


def _addr2line(binary: str, offsets: Sequence[str]) -> Iterable[tuple[str, str]]:
    """(offset, "function (file:line)") of those that the binary knows."""
    command = ["addr2line", "-Cfpe", binary, *offsets]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    for offset, line in zip(offsets, done.stdout.splitlines(), strict=True):
        function, _, place = line.partition(" at ")
        if function.startswith("??"):
            continue
        place = re.sub(r" \(discriminator \d+\)$", "", place)
        yield offset, function if place.startswith("??") else f"{function} ({place})"


def _build_id(path: str) -> str:
    done = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True)
    found = BUILD_ID.search(done.stdout)
    if found is None:
        raise OSError(f"{path} has no build id")
    return found[1]


def _fail(message: str) -> int:
    print(f"strandline symbolize: {message}", file=sys.stderr)
    return 2
