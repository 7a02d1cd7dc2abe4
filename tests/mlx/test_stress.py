# SPDX-License-Identifier: Apache-2.0
"""Threads, switching and dumping under MLX at once, forks, and programs that end badly."""

import os
import pickle
import signal
import subprocess
import sys
import textwrap


def test_threads_switching_and_dumping_together_keep_the_sums(recorded, tmp_path):
    told = recorded(
        """
        import threading, time
        stop = threading.Event()
        errors = []

        def work(number):
            try:
                stream = mx.new_stream(mx.cpu)
                rounds = 0
                while rounds < 150 or not stop.is_set():
                    with mx.stream(stream):
                        x = mx.ones((rounds % 50 + 1, 64)) * number
                        y = mx.split(mx.exp(x) + x, 2, axis=1)
                        mx.eval(y)
                        assert abs(y[0][0, 0].item() - (2.718281828 ** number + number)) < 1e-2
                    rounds += 1
                mx.synchronize(stream)
            except BaseException as error:
                errors.append(repr(error))

        def switch():
            try:
                for i in range(60):
                    sl.record_memory_events(i % 2 == 0)
                    time.sleep(0.005)
                    if i % 20 == 7:
                        sl.clear_history(tables=True)
            except BaseException as error:
                errors.append(repr(error))

        def dump():
            try:
                for _ in range(12):
                    sl.dump_snapshot(sys.argv[1])
                    sl.get_memory_events()
                    sl.memory_report().text()
            except BaseException as error:
                errors.append(repr(error))

        workers = [threading.Thread(target=work, args=(n,)) for n in range(4)]
        others = [threading.Thread(target=f) for f in (switch, dump)]
        for thread in workers + others:
            thread.start()
        for thread in others:
            thread.join()
        stop.set()
        for thread in workers:
            thread.join()
        sl.record_memory_events(True)
        mx.synchronize()
        tell(errors=errors, ours=_native.active_memory(), mlx=mx.get_active_memory(),
             fault=_native.fault(), counters=_native.counters())
        """,
        str(tmp_path / "dump.pickle"),
    )
    assert told["errors"] == [] and not told["fault"]
    assert told["ours"] == told["mlx"]
    assert told["counters"]["orphan_frees"] == told["counters"]["double_allocs"] == 0
    assert pickle.loads((tmp_path / "dump.pickle").read_bytes())["device_traces"]


def test_a_million_events_hold_the_rings_memory_constant(recorded):
    told = recorded("""
        def resident():
            return int(open("/proc/self/statm").read().split()[1]) * 4096

        sl.record_memory_events(True, max_entries=50_000)
        x = mx.ones((4, 4))
        mx.eval(x)
        levels = []
        for block in range(4):
            for _ in range(250):
                mx.eval([x + i for i in range(250)])
            mx.synchronize()
            levels.append(resident())
        tell(levels=levels, events=sum(_native.counters()["events"].values()))
    """)
    assert told["events"] >= 500_000
    assert told["levels"][-1] - told["levels"][0] < 4 << 20


def _run(tmp_path, text, *options):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent(text))
    command = [sys.executable, "-m", "strandline", "run", "-o", "out.pickle", *options]
    return subprocess.run(
        [*command, str(program)], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )


def test_an_exception_inside_a_transform_still_gives_report_and_snapshot(tmp_path):
    done = _run(
        tmp_path,
        """
        import mlx.core as mx
        x = mx.ones((300, 300)) + 1
        mx.eval(x)

        def loss(v):
            y = mx.exp(v)
            raise RuntimeError("inside")

        mx.grad(loss)(x)
        """,
    )
    assert done.returncode == 1
    assert "RuntimeError: inside" in done.stderr
    assert "program.py:3" in done.stderr, "the report names the line that held the peak"
    assert (tmp_path / "out.pickle").exists()


def test_after_an_error_in_a_transform_recording_goes_on_without_its_forward_line(recorded):
    told = recorded("""
        x = mx.ones((64, 64))

        def bad(v):
            raise RuntimeError("inside")

        @mx.custom_function
        def custom(v):
            return mx.exp(v)

        @custom.vjp
        def custom_vjp(primals, cotangents, outputs):
            raise ValueError("in the gradient")

        for function in (bad, lambda v: custom(v).sum()):
            try:
                mx.grad(function)(x)
            except (RuntimeError, ValueError):
                pass
        y = x * 3
        mx.eval(y)
        mx.synchronize()
        [event] = [e for e in live_events() if e["op"] == "Multiply"]
        tell(forward=event["forward_traceback"], fault=_native.fault(),
             same=_native.active_memory() == mx.get_active_memory())
    """)
    assert not told["forward"] and not told["fault"] and told["same"]


def test_a_forked_child_is_not_recorded_and_the_parent_counts_it(tmp_path):
    done = _run(
        tmp_path,
        """
        import os
        pid = os.fork()
        if pid == 0:
            import mlx.core as mx
            x = mx.ones((10, 10)) + 1
            mx.eval(x)
            print("child", x.sum().item(), flush=True)
            os._exit(0)
        os.waitpid(pid, 0)
        import mlx.core as mx
        y = mx.ones((20, 20)) + 1
        mx.eval(y)
        print("parent", y.sum().item())
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["child", "200.0", "parent", "800.0"]
    assert "1 child" in done.stderr or "1 process" in done.stderr


def test_os_exit_ends_the_program_at_once_and_leaves_no_half_file(tmp_path):
    done = _run(
        tmp_path,
        """
        import os
        import mlx.core as mx
        mx.eval(mx.ones((10, 10)))
        os._exit(7)
        """,
    )
    assert done.returncode == 7
    assert not [f for f in os.listdir(tmp_path) if f != "program.py"]


def test_ctrl_c_during_an_evaluation_gives_report_and_snapshot(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import mlx.core as mx\n"
        "x = mx.ones((500, 500)) + 1\n"
        "mx.eval(x)\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    mx.eval(x @ x)\n"
    )
    command = [sys.executable, "-m", "strandline", "run", "-o", "out.pickle", str(program)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode in (130, -signal.SIGINT)
    assert "KeyboardInterrupt" in errors and "held at the peak" in errors
    assert (tmp_path / "out.pickle").exists()
