# SPDX-License-Identifier: Apache-2.0
"""Programs without a file: of python -c, standard input and interactive cells, the report names the
lines that were typed; what libraries generate stays theirs."""

import json
import subprocess
import sys

import pytest

PROGRAM = """
import json, sys
import strandline as sl
import strandline.array as sa
sl.record_memory_events()
def build():
    return sa.ones((1000,)) * 2
x = build()
sa.eval(x)
report = json.loads(sl.memory_report().json())
line = report["by_line"][0]["line"]
print(json.dumps([line["file"], line["function"], line["line"], report["unattributed"] == []]))
"""


def answer(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_lines_of_a_command_are_named():
    assert answer([sys.executable, "-c", PROGRAM]) == ["<string>", "build", 7, True]


def test_lines_of_standard_input_are_named():
    assert answer([sys.executable, "-"], input=PROGRAM) == ["<stdin>", "build", 7, True]


@pytest.mark.parametrize("name", ["<ipython-input-3-0a1b2c>", "<python-input-0>", "<doctest m[1]>"])
def test_lines_of_a_cell_are_named(name):
    program = f"exec(compile({PROGRAM!r}, {name!r}, 'exec'))"
    assert answer([sys.executable, "-c", program]) == [name, "build", 7, True]


def test_a_script_above_generated_code_keeps_the_line(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        "scope = {}\n"
        "exec('def generated(make):\\n    return make()', scope)\n"
        + PROGRAM.replace("x = build()", "x = scope['generated'](lambda: sa.ones((1000,)) * 2)")
    )
    assert answer([sys.executable, str(script)]) == [str(script), "<lambda>", 10, True]
    inner = PROGRAM.replace("x = build()", "x = scope['generated'](sa, 1000)")
    script.write_text(
        "scope = {}\nexec('def generated(sa, n):\\n    return sa.ones((n,)) * 2', scope)\n" + inner
    )
    assert answer([sys.executable, str(script)]) == [str(script), "<module>", 10, True]


def test_what_libraries_generate_is_not_typed():
    program = f"exec(compile({PROGRAM!r}, '<attrs generated init m.Layer>', 'exec'))"
    assert answer([sys.executable, "-c", program])[:2] == ["<string>", "<module>"]
