# SPDX-License-Identifier: Apache-2.0
"""Whom memory is charged to on stock MLX: lines, ops and layouts through laziness, sharing,
compilation and gradients."""

import re


def test_an_operation_is_charged_to_the_line_that_built_it(recorded):
    told = recorded("""
        a = mx.ones((64, 64)); b = mx.ones((64, 64))
        mx.eval(a, b)
        c = a + b  #[sum]
        for _ in range(20):
            pass
        mx.eval(c)
        [add] = [e for e in live_events() if e["op"] == "Add"]
        tell(line=line(add), shape=add["shape"], dtype=add["dtype"], size=add["requested_size"])
    """)
    assert told["line"] == told.marks["sum"]
    assert (told["shape"], told["dtype"], told["size"]) == ([64, 64], "float32", 64 * 64 * 4)


def test_a_leaf_is_charged_to_its_construction(recorded):
    told = recorded("""
        x = mx.array([[1.0] * 50] * 7)  #[leaf]
        y = mx.array(3.0)
        mx.eval(x + y)
        leaf = next(e for e in live_events() if e["requested_size"] == 1400)
        tell(line=line(leaf), op=leaf["op"], shape=leaf["shape"])
    """)
    assert told["line"] == told.marks["leaf"]
    assert (told["op"], told["shape"]) == ("Array", [7, 50])


def test_calls_at_one_line_reached_over_two_others_keep_their_own_stacks(recorded):
    """One frame, left and entered again, whose call of MLX looks like the one before it."""
    told = recorded("""
        def inner():
            return mx.full((64, 64), 2.0) + 1  #[inner]

        def outer():
            return inner()  #[outer]

        kept = []
        for _ in range(3):
            kept.append(outer())  #[first]
            kept.append(outer())  #[second]
        mx.eval(kept)
        mx.synchronize()
        found = [lines(e) for e in live_events() if e["op"] in ("Add", "Full")]
        tell(found=found)
    """)
    marks = told.marks
    tail = [marks["outer"], marks["inner"]]
    found = [stack for stack in told["found"] if stack[-2:] == tail]
    assert len(found) == len(told["found"]) >= 6
    assert found.count([marks["first"], *tail]) == found.count([marks["second"], *tail]) >= 3


def test_nodes_of_a_call_that_calls_back_have_the_lines_of_the_code_that_made_them(recorded):
    told = recorded("""
        def make(x):
            y = mx.exp(x)  #[exp]
            return mx.sin(y).sum()  #[sin]

        def both(x):
            return mx.value_and_grad(make)(x)  #[grad]

        kept = [mx.array([1.0] * 5000) + 0]
        mx.eval(kept)
        for _ in range(2):
            kept += both(kept[0])  #[calling]
        mx.eval(kept)
        mx.synchronize()
        events = [e for e in sl.get_memory_events() if e["action"].startswith("alloc")]
        tell(exp=[lines(e) for e in events if e["op"] == "Exp"],
             sin=[lines(e) for e in events if e["op"] == "Sin"],
             cos=[lines(e) for e in events if e["op"] == "Cos"])
    """)
    marks = told.marks
    outer = [marks["calling"], marks["grad"]]
    assert told["exp"] and all(stack == [*outer, marks["exp"]] for stack in told["exp"])
    assert all(stack == [*outer, marks["sin"]] for stack in told["sin"])
    assert told["cos"] and all(stack == outer for stack in told["cos"])


def test_a_donated_buffer_is_charged_to_the_array_that_has_it_now(recorded):
    told = recorded("""
        x = mx.ones((100, 100)) + 0  #[first]
        mx.eval(x)
        before = [line(e) for e in live_events() if e["requested_size"] == 40000]
        x = mx.exp(x)  #[second]
        mx.eval(x)
        mx.synchronize()
        after = [e for e in live_events() if e["requested_size"] == 40000]
        tell(before=before, after=[(line(e), e["op"]) for e in after],
             allocs=sum(e["action"].startswith("alloc") and e["requested_size"] == 40000
                        for e in sl.get_memory_events()))
    """)
    assert told["before"] == [told.marks["first"]]
    assert told["after"] == [[told.marks["second"], "Exp"]]


def test_a_weight_with_small_views_stays_charged_to_the_weight(recorded):
    told = recorded("""
        w = mx.random.normal((1000, 1000))  #[weight]
        mx.eval(w)
        views = [w[i : i + 1] for i in range(10)]  #[views]
        mx.eval(views)
        mx.synchronize()
        [weight] = [e for e in live_events() if e["requested_size"] == 4_000_000]
        while_living = line(weight)
        del w
        mx.synchronize()
        [weight] = [e for e in live_events() if e["requested_size"] == 4_000_000]
        tell(while_living=while_living, after=line(weight), shape=weight["shape"])
    """)
    assert told["while_living"] == told.marks["weight"]
    assert told["after"] == told.marks["views"]
    assert told["shape"] == [1, 1000]


def test_a_past_peak_keeps_the_holders_of_its_time(recorded):
    told = recorded("""
        w = mx.random.normal((1000, 1000))  #[weight]
        mx.eval(w)
        view = w[:1]
        mx.eval(view)
        big = mx.ones((1000, 1000)) + 1
        mx.eval(big)
        del big, w
        mx.eval(view + 1)
        mx.synchronize()
        report = json.loads(sl.memory_report().json())
        tell(report=report)
    """)
    rows = {
        row["line"]["line"]: row["bytes"]
        for row in told["report"]["by_line"]
        if row.get("line") is not None
    }
    assert rows[told.marks["weight"]] >= 4_000_000


def test_views_and_splits_are_no_second_bytes(recorded):
    told = recorded("""
        x = mx.arange(1 << 16).astype(mx.float32)
        mx.eval(x)
        mx.synchronize()
        before = _native.active_memory()
        parts = mx.split(x, 4)
        views = [x.reshape(256, 256).T, x[:100], mx.broadcast_to(x, (3, 1 << 16)), *parts]
        mx.eval(views)
        mx.synchronize()
        tell(grown=_native.active_memory() - before,
             mlx=mx.get_active_memory() == _native.active_memory())
    """)
    assert told["mlx"]
    # The slice's bounds and the like may be small arrays of their own; no view is a copy.
    assert told["grown"] < 4096


def test_compiled_functions_keep_the_traced_line_on_the_first_and_the_tenth_call(recorded):
    told = recorded("""
        @mx.compile
        def inner(x, y):
            z = mx.exp(x) * 2 + 1  #[fused]
            return z @ y  #[matmul]

        x = mx.ones((32, 32)); y = mx.ones((32, 32))
        mx.eval(x, y)
        seen = []
        for _ in range(10):
            sl.clear_history()
            out = inner(x, y)  #[call]
            mx.eval(out)
            mx.synchronize()
            events = [e for e in sl.get_memory_events() if e["action"].startswith("alloc")]
            seen.append([(e["op"], lines(e)) for e in events if e["requested_size"] == 4096])
        tell(first=seen[0], tenth=seen[-1])
    """)
    call, fused, matmul = (told.marks[mark] for mark in ("call", "fused", "matmul"))
    for seen in (told["first"], told["tenth"]):
        [[fused_op, fused_lines], [matmul_op, matmul_lines]] = seen
        assert fused_op.startswith("Compiled") and "Exp" in fused_op
        assert fused_lines == [call, fused]
        assert (matmul_op, matmul_lines) == ("Matmul", [call, matmul])


def test_a_compiled_function_called_from_another_line_shows_that_line(recorded):
    told = recorded("""
        @mx.compile
        def inner(x):
            return mx.sin(x) * 3 - 1  #[fused]

        def first(x):
            return inner(x)

        def second(x):
            return inner(x)  #[second]

        x = mx.ones((32, 32))
        mx.eval(first(x))
        sl.clear_history()
        out = second(x)  #[call]
        mx.eval(out)
        [event] = [e for e in sl.get_memory_events() if e["action"].startswith("alloc")]
        tell(lines=lines(event))
    """)
    assert told["lines"] == [told.marks[m] for m in ("call", "second", "fused")]


def test_outputs_of_one_fused_operation_keep_lines_of_their_own(recorded):
    told = recorded("""
        @mx.compile
        def inner(x):
            a = mx.exp(x) + 1  #[a]
            b = a * 2 - 3  #[b]
            return a, b

        x = mx.ones((64, 64))
        for _ in range(2):
            sl.clear_history()
            outputs = inner(x)
            mx.eval(outputs)
        mx.synchronize()
        events = [e for e in sl.get_memory_events()
                  if e["action"].startswith("alloc") and "Compiled" in (e["op"] or "")]
        tell(lines=sorted(lines(e)[-1] for e in events), ops=len({e["op"] for e in events}))
    """)
    assert told["ops"] == 1
    assert told["lines"] == [told.marks["a"], told.marks["b"]]


def test_python_and_cpp_frames_are_told_in_order_through_a_transform(recorded):
    told = recorded("""
        sl.record_memory_events(True, stacks="all")

        def loss(x):
            return mx.exp(x).sum()  #[loss]

        x = mx.ones((32, 32))
        mx.eval(x)
        gradient = mx.value_and_grad(loss)
        sl.clear_history()
        mx.eval(gradient(x))  #[call]
        mx.synchronize()
        stack = next(e["traceback"] for e in sl.get_memory_events() if e["op"] == "Exp")
        tell(kinds=["p" if f[0] == __file__ else "n" for f in stack],
             lines=[f[2] for f in stack if f[0] == __file__])
    """)
    assert told["lines"] == [told.marks["call"], told.marks["loss"]]
    assert re.fullmatch("pn+pn+", "".join(told["kinds"]))


def test_a_gradient_has_the_calling_and_the_forward_line(recorded):
    told = recorded("""
        def loss(x, y):
            h = mx.tanh(x @ y)  #[forward]
            return h.sum()

        x = mx.ones((48, 48)); y = mx.ones((48, 48))
        mx.eval(x, y)
        sl.clear_history()
        gradient = mx.grad(loss)(x, y)  #[grad]
        mx.eval(gradient)
        found = [(e["op"], lines(e), lines(e, "forward_traceback"))
                 for e in sl.get_memory_events() if e["action"].startswith("alloc")]
        tell(backward=[f for f in found if f[2]], forward=[f for f in found if not f[2]])
    """)
    forward, grad = told.marks["forward"], told.marks["grad"]
    assert ["Matmul", [grad], [grad, forward]] in told["backward"]
    assert ["Matmul", [grad, forward], []] in told["forward"]


def test_adds_that_accumulate_gradients_have_a_forward_line(recorded):
    told = recorded("""
        def loss(x):
            a = mx.sin(x)  #[a]
            b = mx.cos(x)  #[b]
            return (a * b).sum()

        x = mx.random.normal((64, 64))
        mx.eval(x)
        sl.clear_history()
        gradient = mx.grad(loss)(x)  #[grad]
        mx.eval(gradient)
        mx.synchronize()
        adds = [e for e in sl.get_memory_events() if e["op"] == "Add"]
        later = mx.ones((8, 8)) * 2
        mx.eval(later)
        after = [e for e in live_events() if e["op"] == "Multiply" and e["shape"] == (8, 8)]
        tell(adds=[(lines(e), lines(e, "forward_traceback")) for e in adds],
             after=[lines(e, "forward_traceback") for e in after])
    """)
    assert told["adds"]
    for calling, forward in told["adds"]:
        assert calling == [told.marks["grad"]]
        assert forward in ([told.marks["grad"], told.marks[m]] for m in ("a", "b"))
    assert told["after"] == [[]], "the forward line must not outlive the transform"


def test_jvp_tangents_have_a_forward_line(recorded):
    told = recorded("""
        x = mx.ones((40, 40))
        mx.eval(x)
        sl.clear_history()
        out, tangent = mx.jvp(lambda v: mx.exp(v) * 2, [x], [x])  #[jvp]
        mx.eval(out, tangent)
        tell(forward=[lines(e, "forward_traceback") for e in sl.get_memory_events()
                      if e["action"].startswith("alloc") and e["forward_traceback"]])
    """)
    assert told["forward"] and all(f[-1] == told.marks["jvp"] for f in told["forward"])


def test_batched_operations_are_charged_to_the_lines_that_vmap_traced(recorded):
    told = recorded("""
        def each(v):
            t = mx.tanh(v)  #[tanh]
            return t * 2 + v  #[add]

        x = mx.ones((40, 40))
        mx.eval(x)
        sl.clear_history()
        mapped = mx.vmap(each)(x)  #[vmap]
        gradient = mx.vmap(mx.grad(lambda v: each(v).sum()))(x)  #[grad]
        mx.eval(mapped, gradient)
        found = [(e["op"], lines(e)) for e in sl.get_memory_events()
                 if e["action"].startswith("alloc") and e["size"] >= 6400]
        tell(found=found)
    """)
    assert ["Tanh", [told.marks["vmap"], told.marks["tanh"]]] in told["found"]
    assert not [lines for op, lines in told["found"] if lines == [told.marks["vmap"]]]


def test_memory_asked_for_on_the_streams_thread_has_the_op(recorded):
    told = recorded("""
        b = mx.random.normal((64, 64))
        mx.eval(b)
        sl.clear_history()
        q, r = mx.linalg.qr(b, stream=mx.cpu)  #[qr]
        mx.eval(q, r)
        mx.synchronize()
        events = [e for e in sl.get_memory_events() if e["action"].startswith("alloc")]
        tell(ops=[e["op"] for e in events], lines=[line(e) for e in events],
             threads=len({e["thread"] for e in events}))
    """)
    assert set(told["ops"]) == {"QRF"} and told["threads"] > 1
    assert set(told["lines"]) == {told.marks["qr"]}


def test_wrapping_the_ring_changes_nothing_in_the_peak_report(recorded):
    program = """
        import strandline as sl
        sl.record_memory_events(True, max_entries=ENTRIES)
        w = mx.random.normal((500, 500))
        big = [mx.full((200, 200), i) * 2 for i in range(10)]
        mx.eval(w, big)
        mx.synchronize()
        # Which scalars live while several operations run depends on the threads: the peak is
        # reached by one operation, with a known number of bytes in MLX's cache.
        mx.clear_cache()
        unused = mx.ones((100, 100))
        mx.eval(unused)
        mx.synchronize()
        del unused
        top = mx.ones((1000, 1000))
        mx.eval(top)
        mx.synchronize()
        del big, top
        for i in range(400):
            v = w * i + i
            mx.eval(v)
        mx.synchronize()
        report = json.loads(sl.memory_report().json())
        tell(peak=report["peak"]["active_bytes"], cached=report["peak"]["cached_bytes"],
             by_op=report["by_operation"],
             by_line=[[row["bytes"], row["blocks"]] for row in report["by_line"]],
             overwritten=_native.counters()["events_overwritten"])
    """
    long = recorded(program.replace("ENTRIES", "1_000_000"))
    short = recorded(program.replace("ENTRIES", "20"))
    assert long["overwritten"] == 0 and short["overwritten"] > 100 * 20
    assert long["cached"] >= 40_000
    for key in ("peak", "cached", "by_op", "by_line"):
        assert long[key] == short[key], key
