# SPDX-License-Identifier: Apache-2.0
"""Progress on standard error: on a terminal, and when the work exceeds a second."""

import os
import pickle
import pty
import subprocess
import sys

import pytest
from snapshot_kinds import Program, snapshot

CHECK = [sys.executable, "-m", "strandline", "check", "-"]


@pytest.fixture
def data():
    return pickle.dumps(snapshot(Program().run(2000)))


def until(terminal, text):
    """What the terminal shows up to a text; the test hangs where it never comes."""
    shown = b""
    while text not in shown:
        shown += os.read(terminal, 4096)
    return shown


def test_a_terminal_is_told_how_far_a_slow_read_is_and_nothing_stays(data):
    terminal, theirs = pty.openpty()
    verb = subprocess.Popen(
        CHECK, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs, close_fds=True
    )
    os.close(theirs)
    verb.stdin.write(data[:100_000])
    verb.stdin.flush()  # the rest comes when the line has come: after a second
    assert until(terminal, b"reading, 0 MB, ").startswith(b"\r\x1b[K")
    verb.stdin.write(data[100_000:])
    verb.stdin.close()
    assert b"complete" in verb.stdout.read()
    assert verb.wait() == 0
    rest = b""
    try:
        while chunk := os.read(terminal, 4096):
            rest += chunk
    except OSError:  # the other end is closed
        pass
    os.close(terminal)
    assert rest.endswith(b"\r\x1b[K")
    assert b"\n" not in rest


def test_an_error_is_not_written_into_the_line(data):
    terminal, theirs = pty.openpty()
    verb = subprocess.Popen(
        CHECK, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=theirs, close_fds=True
    )
    os.close(theirs)
    verb.stdin.write(data[:100_000])
    verb.stdin.flush()
    until(terminal, b"reading, ")
    verb.stdin.close()
    shown = until(terminal, b"cut short")
    assert b"\x1b[Kstrandline: " in shown
    assert verb.wait() == 2
    verb.stdout.close()
    os.close(terminal)


def test_what_is_no_terminal_is_told_nothing(data):
    verb = subprocess.Popen(
        CHECK, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, error = verb.communicate(data)
    assert (verb.returncode, error) == (0, b"")
    assert b"complete" in out
