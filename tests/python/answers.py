# SPDX-License-Identifier: Apache-2.0
"""Runs verbs as a person and as a program does; JSON answers are held against their schemas."""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema

SCHEMAS = Path(__file__).parents[2] / "schema"


def strandline(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "strandline", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=cwd,
        timeout=120,
    )


def answer(*words, status=0):
    """The JSON answer of a verb that has nothing to complain about."""
    done = strandline(*words, "--json")
    assert (done.returncode, done.stderr) == (status, "")
    document = json.loads(done.stdout)
    name = document["format"].removeprefix("strandline.")
    jsonschema.validate(document, json.loads((SCHEMAS / f"{name}.schema.json").read_text()))
    return document
