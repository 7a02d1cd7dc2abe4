# SPDX-License-Identifier: Apache-2.0
"""The simulated device from Python: memory as views, faults, counters, orders, virtual time."""

import gc

import pytest
import strandline as sl

MIB = 1 << 20


def test_memory_is_bytes_that_memoryview_sees_and_may_write():
    device = sl.sim.Device(MIB)
    buffer = device.malloc(100)
    assert (len(buffer), buffer.size, buffer.requested_size) == (100, 100, 100)
    view = memoryview(buffer)
    view[:] = bytes(range(100))
    assert bytes(memoryview(buffer)) == bytes(range(100))
    assert device.free_bytes == MIB - 4096


def test_memory_is_an_array_of_numpy_without_a_copy():
    np = pytest.importorskip("numpy")
    buffer = sl.sim.Device(MIB).malloc(4096)
    array = np.frombuffer(buffer, np.float32)
    array[:] = 1.5
    assert array.ctypes.data == buffer.address
    assert bytes(memoryview(buffer)[:4]) == np.float32(1.5).tobytes()


def test_memory_that_is_looked_at_is_not_freed():
    device = sl.sim.Device(MIB)
    buffer = device.malloc(8)
    view = memoryview(buffer)
    with pytest.raises(BufferError, match=r"\[free\] buffer; got 1 views of it, expected none"):
        buffer.free()
    assert buffer.is_live
    view.release()
    assert buffer.free()
    assert not buffer.is_live
    with pytest.raises(BufferError, match="got one that was freed"):
        memoryview(buffer)
    with pytest.raises(ValueError, match=r"\[free\] buffer; got one that was freed"):
        device.free(buffer)


def test_memory_goes_back_with_the_last_reference_and_its_address_is_used_again():
    device = sl.sim.Device(MIB)
    first = device.malloc(5000)
    place = device.offset(first)
    del first
    gc.collect()
    assert device.free_bytes == MIB
    assert device.offset(device.malloc(5000)) == place
    kept = sl.sim.Device(MIB, reuse="never")
    first = kept.malloc(5000)
    place = kept.offset(first)
    first.free()
    assert kept.offset(kept.malloc(5000)) != place


def test_a_device_of_80_gb_fits_here_and_no_more_than_that():
    device = sl.sim.Device()
    assert device.total_bytes == 80_000_000_000
    large = device.malloc(79_000_000_000)
    memoryview(large)[78_999_999_999:] = b"x"
    with pytest.raises(sl.OutOfMemoryError) as caught:
        device.malloc(2_000_000_000)
    assert caught.value.requested >= 2_000_000_000
    assert device.free_bytes <= 1_000_000_000


def test_the_nth_call_fails_once_or_from_then_on():
    device = sl.sim.Device(MIB)
    device.fail("allocate", nth=2)
    first = device.malloc(8)
    with pytest.raises(sl.OutOfMemoryError):
        device.malloc(8)
    second = device.malloc(8)
    device.fail("deallocate", repeat="from_then_on")
    assert not device.free(first)
    assert first.is_live
    device.clear_faults()
    assert device.free(first)
    assert device.free(second)
    counters = device.counters()
    assert counters["allocate"] == 3
    assert counters["deallocate"] == 3
    assert counters["refused_frees"] == 1
    device.fail("allocate", error="device_error")
    with pytest.raises(sl.DeviceError):
        device.malloc(8)


def test_queued_work_runs_at_a_wait_and_in_the_order_of_its_stream():
    device = sl.sim.Device(MIB)
    stream = device.stream("compute")
    buffer, copy = device.malloc(64), device.malloc(64)
    stream.fill(buffer, 7)
    stream.copy(copy, buffer, 32)
    seen = []
    stream.work("look", reads=[copy], body=lambda: seen.append(True))
    assert stream.pending == 3
    assert not seen
    # Only the half that was copied has been written.
    stream.wait()
    assert (stream.pending, seen) == (0, [True])
    assert bytes(memoryview(copy)[:32]) == b"\x07" * 32
    assert [finding.kind for finding in device.findings()] == ["read_of_unwritten"]
    assert device.counters()["waits"] == 1


def test_a_missing_dependency_is_found_and_an_event_mends_it():
    def findings(ordered):
        device = sl.sim.Device(MIB, interleaving="newest_first")
        writer, reader = device.stream("writer"), device.stream("reader")
        buffer = device.malloc(64)
        writer.fill(buffer, 1)
        if ordered:
            event = device.event()
            writer.record(event)
            reader.wait_for(event)
        reader.work("reader", reads=[buffer])
        device.wait()
        return {finding.kind for finding in device.findings()}

    assert "unordered" in findings(ordered=False)
    assert findings(ordered=True) == set()


def test_use_after_free_is_found_and_the_freed_bytes_hold_the_poison():
    device = sl.sim.Device(MIB, poison=0xAB, reuse="never")
    stream = device.stream()
    buffer = device.malloc(64)
    stream.fill(buffer, 1)
    stream.wait()
    assert device.poisoned_bytes == 0
    buffer.free()
    assert device.poisoned_bytes >= 64
    with pytest.raises(ValueError, match="got one that was freed, expected a live buffer"):
        stream.fill(buffer, 2)


def test_the_virtual_clock_counts_calls_and_work_by_their_costs():
    device = sl.sim.Device(MIB, costs_ns={"allocate": 5_000, "fill": 0}, bytes_per_ns=1)
    before = device.now_ns
    buffer = device.malloc(4096)
    assert device.now_ns - before == 5_000
    stream, event = device.stream(), device.event()
    stream.fill(buffer, 0)
    stream.record(event)
    assert event.time_ns == 0 or not event.is_done
    before = device.now_ns
    stream.wait()
    assert event.is_done
    assert device.now_ns - before >= 4096
    assert event.time_ns <= device.now_ns


def test_the_same_program_gives_the_same_run():
    def run():
        device = sl.sim.Device(MIB, interleaving="seeded", seed=3)
        order = []
        streams = [device.stream(str(number)) for number in range(3)]
        for turn in range(4):
            for number, stream in enumerate(streams):
                stream.work("w", body=lambda what=(number, turn): order.append(what))
        for stream in streams:
            stream.submit()
        device.run_all()
        return order, device.now_ns

    assert run() == run()
    assert len(run()[0]) == 12


def test_an_error_of_queued_work_is_raised_at_the_next_wait():
    device = sl.sim.Device(MIB)
    stream = device.stream()
    stream.work("explode", body=lambda: 1 / 0)
    with pytest.raises(sl.DeviceError, match="explode"):
        stream.wait()
    stream.wait()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: sl.sim.Device(0), ValueError, r"\[Device\] capacity; got 0"),
        (lambda: sl.sim.Device(1.5), TypeError, r"\[Device\] capacity; got 1.5"),
        (lambda: sl.sim.Device(reuse="soon"), ValueError, r"\[Device\] reuse; got 'soon'"),
        (lambda: sl.sim.Device(granularity=100), ValueError, "granularity; got 100"),
        (lambda: sl.sim.Device(costs_ns={"alloc": 1}), ValueError, "call; got 'alloc'"),
        (lambda: sl.sim.Device().malloc(0), ValueError, "got 0"),
        (lambda: sl.sim.Device().malloc(-1), ValueError, r"\[malloc\] size; got -1"),
        (lambda: sl.sim.Device().malloc(8, 3), ValueError, "alignment; got 3"),
        (lambda: sl.sim.Device().malloc(8, placement="moon"), ValueError, "got 'moon'"),
        (lambda: sl.sim.Device().fail("alloc"), ValueError, "call; got 'alloc'"),
        (lambda: sl.sim.Device().fail("allocate", 0), ValueError, r"\[fail\] nth; got 0"),
    ],
)  # fmt: skip
def test_bad_values_are_named_with_what_was_expected(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_copies_past_a_buffer_are_refused():
    device = sl.sim.Device(MIB)
    stream, small, large = device.stream(), device.malloc(8), device.malloc(16)
    with pytest.raises(ValueError, match="got 16 from offset 0, expected at most 8 bytes"):
        stream.copy(small, large)
    with pytest.raises(ValueError, match="got 4 from offset 6, expected at most 8 bytes"):
        stream.fill(small, 1, 6, 4)


def test_memory_of_the_device_alone_cannot_be_looked_at():
    device = sl.sim.Device(MIB, host_access="own_memory_only")
    with pytest.raises(BufferError, match="expected one that the host reaches"):
        memoryview(device.malloc(8))
    assert len(memoryview(device.malloc(8, placement="pinned_host"))) == 8
