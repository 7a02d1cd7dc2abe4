# SPDX-License-Identifier: Apache-2.0
"""The process whose memory is recorded. In a forked child the recorder is off, and its locks may be
held for ever by threads that did not come along: what would wait for them is refused instead."""

import os

_FIRST = os.getpid()


def is_first() -> bool:
    return os.getpid() == _FIRST


def require_first(function: str) -> None:
    if not is_first():
        raise RuntimeError(
            f"[{function}] the record stays in the process that was recorded; "
            "got a forked child, expected the first process"
        )
