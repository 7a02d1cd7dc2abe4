# SPDX-License-Identifier: Apache-2.0
"""Settings strings of the segment allocator: what would be decided.

::

    import strandline as sl

    sl.parse_settings("max_split_size_mb:64")["max_split_size_mb"]  # 64

Keys, values and variables are those of docs/settings.md.
"""

import warnings

from . import _arguments, _native

__all__ = ["SettingsWarning", "environment_settings", "parse_settings"]

Value = None | bool | int | float | str


class SettingsWarning(UserWarning):
    """An older name, a key given twice, a value that nothing of this version acts on."""


def parse_settings(text: str, *, as_pytorch: bool = False) -> dict[str, Value]:
    """Every key by its first name with the value it has after ``text``, in the unit of its name.

    None is unlimited or not given; lists are as they are written. With ``as_pytorch`` separators
    and lists mean what they mean to PyTorch. Raises ValueError, which names key, value and
    position; what is merely doubtful is a `SettingsWarning`.
    """
    values, notes = _native.parse_settings(
        _arguments.text("parse_settings", "text", text), bool(as_pytorch)
    )
    _warn(notes)
    return values


def environment_settings(*, as_pytorch: bool = False) -> dict[str, Value]:
    """The same, of the first variable that is set: STRANDLINE_ALLOC_CONF, PYTORCH_ALLOC_CONF,
    PYTORCH_CUDA_ALLOC_CONF, PYTORCH_HIP_ALLOC_CONF; the defaults where none is.
    """
    values, notes = _native.environment_settings(bool(as_pytorch))
    _warn(notes)
    return values


def _warn(notes: list[str]) -> None:
    for note in notes:
        warnings.warn(note, SettingsWarning, stacklevel=3)
