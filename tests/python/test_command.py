# SPDX-License-Identifier: Apache-2.0
"""The command `strandline`: wrong command lines, what cannot be recorded, and `info`."""

import json
import os
import sys

import pytest
import strandline
from program_folder import RUN, STRANDLINE


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "strandline run: error: no script to run"),
        (["--"], "strandline run: error: no script to run"),
        (["-m"], "strandline run: error: no module after -m"),
        (
            ["--max-entries", "0", "script.py"],
            "error: argument --max-entries: got '0', expected a whole number from 1 to 4294967296",
        ),
        (
            ["--top", "many", "script.py"],
            "error: argument --top: got 'many', expected a whole number from 1 to 10000",
        ),
        (["--nonsense", "script.py"], "error: unrecognized arguments: --nonsense"),
        (["-o"], "error: argument -o/--output: expected one argument"),
        (["missing.py"], "strandline: cannot open 'missing.py': No such file or directory"),
        (["-m", "no.such.module"], "strandline: error while finding module 'no.such.module'"),
        (["-m", "nosuchmodule"], "strandline: no module named 'nosuchmodule'"),
    ],
)
def test_a_wrong_command_line_is_told_with_status_2(folder, words, message):
    done = folder.call([*RUN, *words])
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_without_mlx_nothing_starts_and_the_message_says_what_to_install(folder):
    folder.write("import sys; sys.modules['mlx'] = None", "site/sitecustomize.py")
    script = folder.write("print('started')")
    environment = os.environ | {"PYTHONPATH": f"site:{os.environ.get('PYTHONPATH', '')}"}
    done = folder.call([*STRANDLINE, "run", script], env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line == (
        f"strandline: nothing would be recorded: mlx is not installed for {sys.executable}: "
        "pip install 'mlx[cpu]==0.32.4'; or run with --without-adapters"
    )


@pytest.mark.parametrize("words", [[], ["fly"]])
def test_an_unknown_command_is_told_with_status_2(folder, words):
    done = folder.call([*STRANDLINE, *words])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("strandline: ") and "usage: strandline run" in done.stderr


def test_info_tells_versions_capture_and_adapters(folder):
    done = folder.call([*STRANDLINE, "info", "--json"])
    facts = json.loads(done.stdout)
    assert facts["strandline"] == strandline.__version__
    assert facts["capture"].startswith("CPython ")
    assert facts["adapters"][0]["name"] == "mlx"
    text = folder.call([*STRANDLINE, "info"]).stdout
    assert f"strandline  {strandline.__version__}" in text
    assert "adapter     mlx" in text


def test_version_and_help_go_to_standard_output(folder):
    assert folder.call([*STRANDLINE, "--version"]).stdout.startswith("strandline ")
    assert "usage: strandline run" in folder.call([*STRANDLINE, "--help"]).stdout
    assert "--max-entries" in folder.call([*STRANDLINE, "run", "--help"]).stdout
