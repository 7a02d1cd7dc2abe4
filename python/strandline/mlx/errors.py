# SPDX-License-Identifier: Apache-2.0
"""The one error of the MLX adapter."""


class AdapterError(ImportError):
    """MLX cannot be recorded; the message is one line that says why and what to do."""
