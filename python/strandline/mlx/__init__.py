# SPDX-License-Identifier: Apache-2.0
"""Records the MLX that is installed, unmodified: ``import strandline.mlx`` before ``mlx``.

``strandline run`` does so by itself. Importing this module loads the adapter, whose hooks take only
in an MLX that is imported afterwards; AdapterError, an ImportError, says why it cannot be and what
to do. `label` names the buffers of a model's or optimiser's tree by their paths.
"""

from .errors import AdapterError
from .labels import array_key, label, relabel
from .loader import SUPPORTED_VERSIONS, load_adapter, on_failure

__all__ = [
    "SUPPORTED_VERSIONS",
    "AdapterError",
    "array_key",
    "label",
    "load_adapter",
    "on_failure",
    "relabel",
]

load_adapter()
