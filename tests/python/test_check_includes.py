"""The include rule on small trees of its own: what it lets pass, and each way to break it.

The tool is started as CI starts it, so its exit status and its messages are what is tested.
"""
# SPDX-License-Identifier: Apache-2.0

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools" / "check_includes.py"

GOOD_TREE = {
    "include/strandline/core/error.h": "#include <string>\n",
    "include/strandline/record/ring.h": "#include <strandline/core/error.h>\n",
    "src/record/slot.h": "#pragma once\n",
    "src/record/ring.cpp": (
        '#include "record/slot.h"\n#include <fmt/format.h>\n#include <strandline/record/ring.h>\n'
    ),
    "src/CMakeLists.txt": "strandline_add_room(core)\nstrandline_add_room(record USES core)\n",
    "python/src/init_record.cpp": "#include <nanobind/nanobind.h>\n"
    "#include <strandline/record/ring.h>\n",
    "adapters/mlx/hooks.cpp": "#include <mlx/array.h>\n#include <strandline/record/ring.h>\n",
}


def run_on(tmp_path: Path, files: dict[str, str]) -> tuple[int, list[str]]:
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run(
        [sys.executable, TOOL, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def test_the_good_tree_passes(tmp_path):
    assert run_on(tmp_path, GOOD_TREE) == (0, [])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "include/strandline/core/clock.h",
            "#pragma once\n#include <strandline/record/ring.h>\n",
            "include/strandline/core/clock.h:2: core may use nothing of ours, not record",
        ),
        (
            "src/record/ring.cpp",
            "#include <strandline/snapshot/snapshot.h>\n",
            "src/record/ring.cpp:1: record may use core, not snapshot",
        ),
        (
            "src/record/capture.cpp",
            "\n#  include <Python.h>\n",
            "src/record/capture.cpp:2: rooms never include <Python.h>",
        ),
        (
            "src/core/names.cpp",
            '#include "mlx/array.h"\n',
            "src/core/names.cpp:1: rooms never include <mlx/array.h>",
        ),
        (
            "src/core/names.cpp",
            '#include "../record/slot.h"\n',
            'src/core/names.cpp:1: "../record/slot.h": name the room, not a path',
        ),
        (
            "src/snapshot/cut.cpp",
            '#include "record/slot.h"\n',
            'src/snapshot/cut.cpp:1: "record/slot.h" is private to record',
        ),
        (
            "include/strandline/record/ring.h",
            '#include "record/slot.h"\n',
            'include/strandline/record/ring.h:1: a public header includes the private "record/'
            'slot.h"',
        ),
        (
            "python/src/init_record.cpp",
            '#include "record/slot.h"\n',
            'python/src/init_record.cpp:1: "record/slot.h" is private to record; python/ sees '
            "public headers only",
        ),
        (
            "adapters/mlx/hooks.cpp",
            "#include <strandline/cli/verbs.h>\n",
            "adapters/mlx/hooks.cpp:1: adapters/ may use core, record, device, alloc, snapshot, "
            "not cli",
        ),
        (
            "src/helpers/text.cpp",
            "\n",
            "src/helpers:1: a folder that is no room of the table",
        ),
        (
            "src/CMakeLists.txt",
            "strandline_add_room(core USES record LINKS fmt::fmt)\n",
            "src/CMakeLists.txt:1: core links record, which its row does not allow",
        ),
    ],
)
def test_one_wrong_line_fails_and_is_named(tmp_path, name, text, message):
    assert run_on(tmp_path, GOOD_TREE | {name: text}) == (1, [message])


def test_our_own_tree_passes():
    done = subprocess.run([sys.executable, TOOL], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
