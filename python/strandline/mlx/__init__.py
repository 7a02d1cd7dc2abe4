# SPDX-License-Identifier: Apache-2.0
"""Records the MLX that is installed, unmodified: ``import strandline.mlx`` before ``mlx``.

``strandline run`` does so by itself. Importing this module loads the adapter, whose hooks take only
in an MLX that is imported afterwards; AdapterError, an ImportError, says why it cannot be and what
to do. `use_allocator` puts one of our allocators beneath MLX, `label` names the buffers of a tree
by their paths.
"""

from .allocator import allocator_in_use, use_allocator
from .errors import AdapterError
from .labels import array_key, label, relabel
from .loader import SUPPORTED_VERSIONS, load_adapter, on_failure

__all__ = [
    "SUPPORTED_VERSIONS",
    "AdapterError",
    "allocator_in_use",
    "array_key",
    "label",
    "load_adapter",
    "on_failure",
    "relabel",
    "use_allocator",
]

load_adapter()
