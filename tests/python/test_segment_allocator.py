# SPDX-License-Identifier: Apache-2.0
"""The segment allocator on a simulated device: sizes, segments, limits."""

import pytest
import strandline as sl

MIB = 1 << 20


@pytest.fixture
def allocator():
    made = sl.SegmentAllocator(sl.sim.Device(256 * MIB))
    yield made
    made.validate()


@pytest.mark.parametrize(
    ("size", "occupied"),
    [(0, 0), (1, 512), (512, 512), (513, 1024), (MIB + 1, MIB + 512), (12 * MIB, 12 * MIB)],
)
def test_sizes_are_multiples_of_512(allocator, size, occupied):
    buffer = allocator.malloc(size)
    assert (buffer.size, buffer.requested_size) == (occupied, size)
    assert allocator.get_active_memory() == occupied
    buffer.free()
    assert allocator.get_active_memory() == 0


def test_small_and_large_requests_share_segments(allocator):
    small = [allocator.malloc(1000) for _ in range(3)]
    large = [allocator.malloc(3 * MIB) for _ in range(3)]
    segments = allocator.segments()
    assert sorted(s["size"] for s in segments) == [2 * MIB, 20 * MIB]
    assert sorted(s["is_small"] for s in segments) == [False, True]
    assert all(sum(b["size"] for b in s["blocks"]) == s["size"] for s in segments)
    for buffer in small + large:
        buffer.free()
    assert allocator.get_cache_memory() == 22 * MIB
    allocator.clear_cache()
    assert allocator.statistics()["reserved_bytes"] == 0


def test_a_hard_limit_counts_segments(allocator):
    allocator.set_memory_limit(30 * MIB, hard=True)
    held = allocator.malloc(3 * MIB)
    with pytest.raises(
        sl.OutOfMemoryError, match="largest hole of this stream and pool is 17825792"
    ):
        allocator.malloc(18 * MIB)
    assert allocator.malloc(17 * MIB).size == 17 * MIB
    held.free()


def test_it_takes_limits_but_no_page(allocator):
    assert allocator.name == "SegmentAllocator"
    assert allocator.limits()["cache"] == 2**64 - 1
    with pytest.raises(TypeError):
        sl.SegmentAllocator(page=4096)
    with pytest.raises(ValueError, match="memory_limit; got -1"):
        sl.SegmentAllocator(memory_limit=-1)
