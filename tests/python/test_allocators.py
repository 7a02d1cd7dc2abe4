# SPDX-License-Identifier: Apache-2.0
"""Allocators from Python, over a simulated device and the host, and MLX's functions of the default.

What is exact here is written out: a buffer of up to 256 bytes occupies a slot of 256, a larger one
whole pages of 4096.
"""

import gc
import random

import pytest
import strandline as sl

MIB = 1 << 20
KINDS = [sl.HostAllocator, sl.UnifiedAllocator]


def occupied(size):
    """Bytes a buffer of ``size`` holds, by the documented rule."""
    if size == 0:
        return 0
    return 256 if size <= 256 else (size + 4095) // 4096 * 4096


@pytest.fixture(params=KINDS, ids=["host", "unified"])
def allocator(request):
    return request.param(sl.sim.Device(64 * MIB), page=4096)


@pytest.fixture
def default(allocator):
    """The allocator as the default; the one before comes back, and so do the recorder's sums."""
    from strandline import memory

    before = memory._chosen
    sl.set_default_allocator(allocator)
    yield allocator
    memory._chosen = before


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 4095, 4096, 4097, 1 * MIB])
def test_a_buffer_holds_what_was_asked_for_rounded_as_documented(allocator, size):
    buffer = allocator.malloc(size)
    assert (buffer.size, buffer.requested_size) == (occupied(size), size)
    assert allocator.get_active_memory() == occupied(size)
    assert allocator.statistics()["requested_bytes"] == size
    assert buffer.address % 64 == 0
    if size:
        memoryview(buffer)[:] = b"\x5a" * buffer.size
    buffer.free()
    assert allocator.get_active_memory() == 0
    allocator.validate()


def test_a_freed_buffer_is_cached_and_serves_the_next_that_fits(allocator):
    buffer = allocator.malloc(100_000)
    place, size = buffer.address, buffer.size
    assert allocator.free(buffer)
    assert allocator.get_cache_memory() == size
    again = allocator.malloc(100_000)
    assert again.address == place
    assert allocator.get_cache_memory() == 0
    assert allocator.statistics()["device_mallocs"] == 1
    again.free()
    limit = allocator.limits()["cache"]
    assert allocator.set_cache_limit(0) == limit
    assert allocator.get_cache_memory() == 0, "trimmed at once"
    assert allocator.set_cache_limit(MIB) == 0


def test_memory_goes_back_with_the_last_reference(allocator):
    buffer = allocator.malloc(5000)
    view = memoryview(buffer)
    del buffer
    gc.collect()
    assert allocator.get_active_memory() == 8192, "the view keeps it"
    del view
    gc.collect()
    assert allocator.get_active_memory() == 0


def test_segments_add_up_and_tell_their_blocks(allocator):
    kept = [allocator.malloc(size) for size in (10, 300, 5000, 100_000)]
    kept.pop(1).free()
    segments = allocator.segments()
    assert sum(segment["size"] for segment in segments) == allocator.statistics()["reserved_bytes"]
    blocks = [block for segment in segments for block in segment["blocks"]]
    live = [block for block in blocks if block["state"] == "allocated"]
    assert sorted(block["size"] for block in live) == [256, 8192, 102_400]
    assert sum(block["size"] for block in blocks) == sum(segment["size"] for segment in segments)


def test_a_hard_limit_raises_and_a_guideline_does_not(allocator):
    allocator.clear_cache()
    allocator.set_memory_limit(100_000)
    assert allocator.malloc(200_000).size == 200_704
    allocator.set_memory_limit(100_000, hard=True)
    with pytest.raises(sl.OutOfMemoryError) as caught:
        allocator.malloc(200_000)
    assert caught.value.requested == 200_000 or caught.value.requested == 200_704
    assert caught.value.limit == 100_000
    allocator.validate()


def test_a_device_that_fails_gets_the_cache_back_before_malloc_gives_up():
    device = sl.sim.Device(MIB)
    allocator = sl.HostAllocator(device, page=4096, cache_limit=MIB)
    allocator.malloc(700_000).free()
    assert allocator.get_cache_memory() > 0
    kept = allocator.malloc(1_000_000)
    assert kept.size >= 1_000_000
    with pytest.raises(sl.OutOfMemoryError, match="1000000|1003520|1,000,000"):
        allocator.malloc(1_000_000)
    assert allocator.get_active_memory() == kept.size


def test_faults_at_every_call_leave_the_books_right_and_the_same_work_then_succeeds():
    def work(allocator, seed):
        choose = random.Random(seed)
        held = []
        for _ in range(60):
            if held and choose.random() < 0.4:
                held.pop(choose.randrange(len(held))).free()
            else:
                held.append(allocator.malloc(choose.choice([8, 300, 4096, 70_000])))
        return held

    device = sl.sim.Device(8 * MIB)
    counted = sl.UnifiedAllocator(device, page=4096)
    work(counted, 5)
    calls = device.counters()["allocate"]
    assert calls > 5
    for nth in range(1, calls + 1):
        device = sl.sim.Device(8 * MIB)
        allocator = sl.UnifiedAllocator(device, page=4096, cache_limit=0)
        device.fail("allocate", nth)
        try:
            held = work(allocator, 5)
        except sl.OutOfMemoryError:
            held = []
        gc.collect()
        allocator.validate()
        device.clear_faults()
        held = work(allocator, 5)
        assert allocator.get_active_memory() == sum(buffer.size for buffer in held)
        allocator.validate()


def test_mlx_functions_act_on_the_default_allocator(default):
    assert sl.get_default_allocator() is default
    buffer = default.malloc(10_000)
    assert sl.get_active_memory() == 12_288
    assert sl.get_active_memory("requested") == 10_000
    other = default.malloc(20_000)
    other.free()
    assert sl.get_peak_memory() == 12_288 + 20_480
    assert sl.get_cache_memory() == 20_480
    sl.reset_peak_memory()
    assert sl.get_peak_memory() == 0, "MLX's rule: 0 until the next malloc"
    small = default.malloc(1)
    assert sl.get_peak_memory() == 12_288 + 256
    sl.clear_cache()
    assert sl.get_cache_memory() == 0
    limit = sl.set_cache_limit(5)
    assert sl.set_cache_limit(limit) == 5
    assert sl.set_memory_limit(1_000_000) > 0
    assert sl.get_memory_limit() == 1_000_000
    buffer.free()
    small.free()


def test_the_wired_limit_is_bounded_by_the_working_set_of_the_device():
    device = sl.sim.Device(64 * MIB, working_set=32 * MIB)
    unified = sl.UnifiedAllocator(device)
    assert unified.set_wired_limit(MIB) == 0
    assert unified.set_wired_limit(0) == MIB
    with pytest.raises(ValueError, match="33554433"):
        unified.set_wired_limit(32 * MIB + 1)
    assert unified.limits()["wired"] == 0


def test_a_replaced_default_takes_its_buffers_back():
    first = sl.HostAllocator(sl.sim.Device(MIB))
    second = sl.HostAllocator(sl.sim.Device(MIB))
    from strandline import memory

    before = memory._chosen
    try:
        sl.set_default_allocator(first)
        buffer = first.malloc(5000)
        assert sl.set_default_allocator(second) is first
        assert sl.get_active_memory() == 0
        buffer.free()
        assert first.get_active_memory() == 0
    finally:
        memory._chosen = before


def test_allocations_are_recorded_with_the_line_that_asked(recording, allocator):
    buffer = allocator.malloc(10_000)
    events = [e for e in sl.get_memory_events() if e["address"] == buffer.address]
    assert [e["action"] for e in events] == ["alloc_new"]
    assert (events[0]["size"], events[0]["requested_size"]) == (12_288, 10_000)
    assert sl.traceback_of(buffer.address) is not None
    buffer.free()
    again = allocator.malloc(10_000)
    events = [e for e in sl.get_memory_events() if e["address"] == again.address]
    assert [e["action"] for e in events] == ["alloc_new", "free_to_cache", "alloc_reuse"]
    again.free()
    allocator.clear_cache()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a: a.malloc(-1), ValueError, r"\[malloc\] size; got -1"),
        (lambda a: a.malloc("8"), TypeError, r"\[malloc\] size; got '8'"),
        (lambda a: a.malloc(8, 24), ValueError, "24"),
        (lambda a: a.malloc(2**63), sl.OutOfMemoryError, "9223372036854775808"),
        (lambda a: a.set_cache_limit(-1), ValueError, r"\[set_cache_limit\] limit; got -1"),
        (lambda a: sl.set_default_allocator("metal"), ValueError, "got 'metal'"),
        (lambda a: sl.set_default_allocator(3), TypeError, "got 3, expected 'host', 'unified'"),
        (lambda a: sl.HostAllocator("cpu"), TypeError, r"\[HostAllocator\] device; got 'cpu'"),
        (lambda a: sl.HostAllocator(page=100), ValueError, "100"),
        (lambda a: sl.UnifiedAllocator(cache_limit=-4), ValueError, r"cache_limit; got -4"),
    ],
)  # fmt: skip
def test_bad_values_are_named_with_what_was_expected(allocator, call, error, message):
    before = allocator.statistics()
    with pytest.raises(error, match=message):
        call(allocator)
    after = allocator.statistics()
    assert {**after, "out_of_memory": 0} == {**before, "out_of_memory": 0}
