# SPDX-License-Identifier: Apache-2.0
"""One of our allocators beneath the stock MLX."""

from .. import memory
from ..allocators import Allocator, Kind, named
from . import loader


def use_allocator(
    allocator: Allocator | Kind,
    *,
    memory_limit: int | None = None,
    cache_limit: int | None = None,
    buffer_limit: int | None = None,
) -> Allocator:
    """Let MLX's memory come from ``"host"``, ``"unified"``, ``"segment"`` or one that exists.

    One over a `strandline.sim.Device` lets the program meet that device's capacity and faults.

    Call it before the first array is made, best before ``mlx`` is imported; it stays for the life
    of the process. MLX's own functions (``mx.get_active_memory``, ``mx.set_cache_limit`` and their
    kin) answer for it, and it becomes `strandline.set_default_allocator`'s. A limit of None is the
    allocator's own. Returns the allocator.

    Raises ValueError for another name, for a second allocator, and when MLX has used memory of its
    own already; TypeError for anything else.
    """
    chosen = named(
        "use_allocator",
        allocator,
        memory_limit=memory_limit,
        cache_limit=cache_limit,
        buffer_limit=buffer_limit,
    )
    loader.adapter().use_allocator(chosen._native)
    memory.set_default_allocator(chosen)
    return chosen


def allocator_in_use() -> str | None:
    """Name of the allocator beneath MLX; None for MLX's own."""
    return loader.adapter().allocator
