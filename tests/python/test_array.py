# SPDX-License-Identifier: Apache-2.0
"""Our arrays in Python: values in and out, gradients of trees, devices, graphs, the record."""

import copy
import gc
import io
import pickle
import threading

import pytest

np = pytest.importorskip("numpy")
import strandline as sl  # noqa: E402
import strandline.array as sa  # noqa: E402


def simulated(**options):
    device = sl.sim.Device(1 << 30, **options)
    return device, sa.Device(sl.HostAllocator(device))


# -- NumPy in and out -----------------------------------------------------------------------------


def test_numpy_sees_an_array_without_a_copy_and_keeps_it_alive():
    x = sa.arange(12, dtype=sa.float32).reshape(3, 4)
    seen = np.asarray(x.T)
    assert seen.shape == (4, 3) and seen.strides == (4, 16) and not seen.flags.writeable
    assert seen.__array_interface__["data"][0] == x.address
    del x
    gc.collect()
    assert seen[3, 2] == 11
    with pytest.raises((BufferError, TypeError)):
        io.BytesIO(b"1234").readinto(sa.ones((1,)))


def test_asarray_lies_over_numpys_memory_where_it_can():
    given = np.arange(4096, dtype="float64")
    over = sa.asarray(given)
    assert over.dtype is sa.float64 and np.shares_memory(np.asarray(over), given)
    assert (over * 2).tolist()[4095] == 8190
    assert np.shares_memory(np.asarray(over.reshape(64, 64)), given)
    copied = sa.asarray(given, copy=True)
    assert not np.shares_memory(np.asarray(copied), given)


def test_dlpack_brings_arrays_to_others_and_back_without_copies():
    x = sa.arange(6, dtype=sa.float64).reshape(2, 3).T
    seen = np.from_dlpack(x)
    assert seen.tolist() == x.tolist() and seen.__array_interface__["data"][0] == x.address
    assert x.__dlpack_device__() == (1, 0)

    class Tensor:  # has no buffer protocol
        def __init__(self, values):
            self.values = values

        def __dlpack__(self, **options):
            return self.values.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.values.__dlpack_device__()

    given = np.ones(4096, "float32")
    over = sa.asarray(Tensor(given))
    assert np.shares_memory(np.asarray(over), given) and over.sum().item() == 4096
    assert not np.shares_memory(np.asarray(sa.asarray(Tensor(given), copy=True)), given)
    with pytest.raises(TypeError, match="a dtype of strandline.array"):
        sa.asarray(Tensor(given.astype("complex64")))


def test_the_owner_of_wrapped_memory_is_let_go_when_the_last_array_is_gone():
    class Owner(np.ndarray):
        pass

    import weakref

    given = np.zeros(4096, "float32").view(Owner)
    watched = weakref.ref(given)
    over = sa.asarray(given)
    view = over[10:20]
    sa.eval(view)
    del given, over
    gc.collect()
    assert watched() is not None
    del view
    sa.synchronize()
    sa.asarray(np.zeros(1, "float32"))  # lets go of what has been released
    gc.collect()
    assert watched() is None


def test_values_that_are_none_are_refused_by_name():
    for value in ("text", {1: 2}, None, object()):
        with pytest.raises(TypeError):
            sa.array(value)
    with pytest.raises(TypeError, match="format"):
        sa.array(np.zeros(2, "complex64"))
    with pytest.raises(TypeError, match="format"):
        sa.array(np.zeros(2, ">f4"))
    with pytest.raises(ValueError, match="lists of equal lengths"):
        sa.array([[1, 2], [3]])
    with pytest.raises(ValueError, match="'float8'"):
        sa.zeros((2,), "float8")
    with pytest.raises(TypeError, match="a dtype of strandline.array"):
        sa.zeros((2,), 7)
    with pytest.raises(ValueError, match=r"\[item\] array; got 2 elements"):
        sa.zeros((2,)).item()
    with pytest.raises(IndexError, match="got 5, expected -2 to 1"):
        sa.zeros((2,))[5]
    with pytest.raises(IndexError, match="at most 1"):
        sa.zeros((2,))[0, 0]
    with pytest.raises(ValueError, match=r"\[add\] shapes; got \(2,\) and \(3,\)"):
        sa.zeros((2,)) + sa.zeros((3,))


# -- gradients ------------------------------------------------------------------------------------


def test_gradients_have_the_form_of_nested_arguments():
    weights = {"w": sa.array([[1.0, 2.0]]), "more": [sa.array([3.0]), (sa.array(4.0), "tanh")]}

    def loss(tree, x, scale=1.0):
        a, (b, _) = tree["more"]
        return (tree["w"] @ x).sum() * a.sum() * b * scale, {"aux": a}

    x = sa.array([[5.0], [6.0]])
    (value, aux), gradient = sa.value_and_grad(loss)(weights, x)
    assert value.item() == 17 * 12 and aux["aux"].tolist() == [3.0]
    assert gradient["w"].tolist() == [[60.0, 72.0]]
    assert gradient["more"][0].tolist() == [68.0]
    assert gradient["more"][1][0].item() == 51.0 and gradient["more"][1][1] is None

    def scalar_loss(tree, x, scale):
        return loss(tree, x, scale)[0]

    both = sa.grad(scalar_loss, argnums=(1,), argnames="scale")
    positional, named = both(weights, x, scale=sa.array(2.0))
    assert positional[0].tolist() == [[24.0], [48.0]] and named["scale"].item() == 204.0


def test_gradients_refuse_what_they_cannot_follow():
    with pytest.raises(ValueError, match="a scalar float first"):
        sa.grad(lambda x: x)(sa.ones((2,)))
    with pytest.raises(ValueError, match="got int32"):
        sa.grad(lambda x: x.sum())(sa.array([1]))
    with pytest.raises(ValueError, match="argnums"):
        sa.grad(lambda x: x.sum(), argnums=1)(sa.ones((2,)))
    with pytest.raises(ValueError, match="argnames"):
        sa.grad(lambda x: x.sum(), argnames="y")(sa.ones((2,)))
    with pytest.raises(ZeroDivisionError):
        sa.grad(lambda x: x.sum() * (1 / 0))(sa.ones((2,)))
    assert sa.grad(lambda x: (x * x).sum())(sa.ones((2,))).tolist() == [2.0, 2.0]


def test_async_eval_of_a_tracer_is_refused():
    def loss(x):
        sa.async_eval(x * 2)
        return x.sum()

    with pytest.raises(ValueError, match="async_eval"):
        sa.grad(loss)(sa.ones((2,)))


# -- devices and streams --------------------------------------------------------------------------


def test_arrays_run_on_a_simulated_device_and_give_their_memory_back():
    machine, device = simulated(interleaving="seeded", seed=3)
    with sa.stream(device):
        x = sa.random.normal((64, 64), key=sa.random.key(1))
        y = (x @ x.T).sum()
        assert y.item() == pytest.approx(float((np.asarray(x) @ np.asarray(x).T).sum()), rel=1e-3)
    assert machine.findings() == []
    del x, y
    assert device.active_memory == 0


def test_streams_are_used_from_any_thread_and_refused_once_closed():
    stream = sa.new_stream()
    results = []

    def work():
        with sa.stream(stream):
            results.append((sa.ones((3,)) + 1).tolist())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert results == [[2.0, 2.0, 2.0]]
    with sa.stream(stream):
        late = sa.ones((2,)) + 1
    stream.close()
    with pytest.raises(ValueError, match="which was closed"):
        sa.eval(late)
    with pytest.raises(TypeError, match="a Stream or a Device"):
        with sa.stream("gpu"):
            pass


def test_the_default_device_can_be_another():
    _, device = simulated()
    before = sa.set_default_device(device)
    try:
        x = sa.ones((2,)) + 1
        sa.eval(x)
        assert device.active_memory > 0 and sa.default_device() == device
    finally:
        sa.set_default_device(before)


def test_failed_work_is_told_once_and_the_next_step_is_right():
    machine, device = simulated()
    with sa.stream(device):
        x = sa.array([1.0, 2.0])
        machine.fail("run", 1)
        bad = x * 3
        with pytest.raises(sl.DeviceError):
            sa.eval(bad)
        with pytest.raises(sl.DeviceError, match="whose work failed"):
            bad.tolist()
        assert (x * 3).tolist() == [3.0, 6.0]
        taken = sa.take(x, [5])
        with pytest.raises(IndexError, match="got 5, expected -2 to 1"):
            sa.eval(taken)


# -- graphs ---------------------------------------------------------------------------------------


def test_the_graph_of_the_write_up_is_drawn_and_planned(tmp_path):
    a, b = sa.array([1, 2, 3, 4]), sa.array([5, 6, 7, 8])
    c = a + b
    d = a.reshape(4, 1) @ c.reshape(1, 4)
    assert d.reshape(4, 4).id == d.id
    s = sa.split(d, 4)
    out1, out3 = s[0] + s[2], d + a
    steps = sa.evaluation_plan(out1, d.reshape(4, 4), out3)
    names = [name for name, _, _ in steps]
    assert names == [
        "Add", "Reshape", "Reshape", "Matmul", "Broadcast", "Split", "Add", "Add",
    ]  # fmt: skip
    assert [count for _, _, count in steps] == [1, 1, 1, 3, 1, 2, 1, 1]
    text = io.StringIO()
    sa.export_to_dot(text, out1, out3, a=a)
    assert text.getvalue().startswith("digraph {\n") and '"a" -> ' in text.getvalue()
    assert text.getvalue().count("Matmul") == 1
    with pytest.raises(TypeError, match="write"):
        sa.export_to_dot(7, out1)
    file = tmp_path / "graph.dot"  # B-47
    for path in (file, str(file)):
        sa.export_to_dot(path, out1, out3, a=a)
        assert file.read_text() == text.getvalue()
        file.unlink()
    lines = io.StringIO()
    sa.print_graph(out3, file=lines)
    assert "Matmul" in lines.getvalue() and lines.getvalue().startswith("Inputs: ")


# -- the record -----------------------------------------------------------------------------------


def events_of(address):
    return [e for e in sl.get_memory_events() if e["address"] == address]


def line_of(event, key="traceback"):
    return event[key][-1][1].rpartition(".")[2] if event[key] else None


def test_an_allocation_has_the_line_that_made_the_node_not_that_of_eval(recording):
    def build():
        return sa.ones((1000,)) * 3

    def evaluate(x):
        sa.eval(x)

    x = build()
    evaluate(x)
    event = events_of(x.address)[0]
    assert line_of(event) == "build"
    assert event["shape"] == (1000,) and event["dtype"] == "float32"


def test_a_leaf_is_recorded_with_its_own_line_and_layout(recording):
    def leaf():
        return sa.array(np.zeros((10, 20), "float32"))

    x = leaf()
    event = events_of(x.address)[0]
    assert (line_of(event), event["op"], event["shape"]) == ("leaf", "Array", (10, 20))


def test_a_donated_buffer_changes_its_holder_without_an_allocation(recording):
    def first():
        return sa.full((5000,), 2.0)

    def second(x):
        return sa.exp(x)

    x = second(first())
    sa.eval(x)
    allocs = [e for e in sl.get_memory_events() if e["action"].startswith("alloc")]
    assert sum(e["address"] == x.address for e in allocs) == 1
    assert any(line_of(e) == "second" for e in events_of(x.address))


def test_backward_nodes_carry_the_line_of_their_operation(recording):
    def model(w):
        hidden = w * 3.0
        return sa.exp(hidden).sum()

    w = sa.ones((3000,))
    gradient = sa.grad(model)(w)
    sa.eval(gradient)
    forward = [e for e in sl.get_memory_events() if e["forward_traceback"]]
    assert forward and all(line_of(e, "forward_traceback") == "model" for e in forward)
    holder = events_of(gradient.address)[-1]  # its buffer came from a node of the model
    assert line_of(holder) != "model" and line_of(holder, "forward_traceback") == "model"


def test_labels_follow_arrays_from_their_construction(recording):
    with sl.memory_label("weights"):
        x = sa.ones((1000,))
    with sl.memory_label("evaluating"):
        sa.eval(x)
    assert events_of(x.address)[0]["label"] == "weights"
    y = sa.ones((2000,))
    assert sl.annotate(y, "later")
    sa.eval(y)
    assert events_of(y.address)[0]["label"] == "later"


def test_recording_changes_no_value():
    def run():
        x = sa.random.normal((50, 50), key=sa.random.key(7))
        return np.asarray(sa.grad(lambda x: sa.tanh(x @ x).sum())(x)).tobytes()

    off = run()
    sl.record_memory_events()
    on = run()
    sl.record_memory_events(False)
    sl.clear_history(tables=True)
    assert on == off


def test_functions_of_one_array_are_methods_too():
    a = sa.array([[4.0, 1.0], [9.0, 16.0]])
    for name in ("abs", "square", "exp", "log", "sqrt", "rsqrt", "sin", "cos", "round"):
        assert getattr(a, name)().tolist() == getattr(sa, name)(a).tolist(), name
    assert [part.tolist() for part in a.split(2)] == [[[4.0, 1.0]], [[9.0, 16.0]]]
    assert [part.shape for part in a.split([1], axis=1)] == [(2, 1), (2, 1)]
    assert a.swapaxes(0, 1).tolist() == a.moveaxis(1, 0).tolist() == a.T.tolist()
    assert a.var().item() == sa.var(a).item()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "bfloat16", "float32"])
def test_copies_and_pickles_are_arrays_of_their_own(dtype):
    a = sa.array([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]).astype(dtype)
    view = a.T[::-1]
    for x in (a, view, a[:0], a[1, 2]):
        for made in (
            copy.copy(x),
            copy.deepcopy({"x": [x]})["x"][0],
            pickle.loads(pickle.dumps(x)),
        ):
            assert (made.dtype, made.shape) == (x.dtype, x.shape)
            assert made.tolist() == x.tolist()
    assert copy.deepcopy([a.dtype])[0] is copy.copy(a.dtype) is a.dtype
    kept = copy.deepcopy(a)
    a += 1
    assert kept.tolist() != a.tolist()
    with pytest.raises(ValueError, match=r"values; got 3 bytes, expected 8"):
        sa.Array.__new__(sa.Array).__setstate__((b"abc", "float32", (2,)))


def test_a_device_is_a_class_and_the_same_for_one_allocator():
    allocator = sl.UnifiedAllocator()
    device = sa.Device(allocator)
    assert isinstance(device, sa.Device)
    assert device == sa.Device(allocator) and hash(device) == hash(sa.Device(allocator))
    assert device != sa.Device() and sa.Device() == sa.Device(None)
    with pytest.raises(TypeError, match=r"\[Device\] allocator; got 'x' of type str"):
        sa.Device("x")


def test_memory_of_python_goes_with_what_was_waited_for():
    for wait in (lambda y: y.tolist(), lambda y: sa.synchronize(), lambda y: y[0].item()):
        memory = bytearray(b"\1\2")
        x = sa.asarray(memory, copy=False)
        y = x + 1
        sa.async_eval(y)
        del x
        wait(y)
        memory.extend(b"\3")  # refused while somebody exports it


def test_an_argument_is_named_once():
    with pytest.raises(ValueError, match="argnames; got .*, expected each argument once"):
        sa.grad(lambda a: a.sum(), argnames=["a", "a"])
