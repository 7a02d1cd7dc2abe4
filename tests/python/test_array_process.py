# SPDX-License-Identifier: Apache-2.0
"""Arrays in processes that fork and that end: children work, and the end is quiet."""

import subprocess
import sys
import textwrap

import pytest

pytest.importorskip("numpy")


def run(program):
    """Standard output of a program that must end by itself, quietly."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


FORK = """
    import os, signal, sys
    import strandline as sl, strandline.array as sa

    def child_says(body):
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            signal.alarm(20)  # a child that hangs ends
            try:
                print(body(), flush=True)
            finally:
                os._exit(0)
        status = os.waitpid(pid, 0)[1]
        assert status == 0, status
"""


def test_a_forked_child_goes_on_with_arrays_of_its_parent():
    said = run(
        FORK
        + """
    x = sa.ones((100, 100)) + 1
    sa.eval(x)
    lazy = x * 3
    stream = sa.new_stream()
    with sa.stream(stream):
        sa.eval(sa.ones((2,)) + 1)

    def work():
        with sa.stream(stream):
            other = (sa.ones((3,)) * 5).sum().item()
        gradient = sa.grad(lambda w: (w * w).sum())(sa.array([3.0])).item()
        return (x @ x)[0, 0].item(), lazy[5, 5].item(), other, gradient

    child_says(work)
    print(work())
    """
    )
    assert said == "(400.0, 6.0, 15.0, 6.0)\n" * 2


def test_a_child_of_a_recorded_program_works_too():
    said = run(
        FORK
        + """
    sl.record_memory_events()
    sa.eval(sa.ones((100,)) + 1)
    child_says(lambda: (sa.ones((100,)) + 1).sum().item())
    sl.record_memory_events(False)
    """
    )
    assert said == "200.0\n"


def test_processes_of_multiprocessing_work_with_arrays():
    said = run("""
    import multiprocessing
    import strandline.array as sa

    def work(number):
        return (sa.ones((10,)) * number).sum().item()

    work(1)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        print(pool.map(work, [1, 2, 3]))
    """)
    assert said == "[10.0, 20.0, 30.0]\n"


EVALUATES = "sa.eval(sa.ones((1000,)) + 1)"
READS = "(sa.ones((100,)) + 1).tolist()"
DIFFERENTIATES = "sa.grad(lambda w: sum((w * w * i).sum() for i in range(50)))(sa.ones((10,)))"
PRINTS = "repr(sa.ones((100, 100)) + 1)"


@pytest.mark.parametrize("work", [EVALUATES, READS, DIFFERENTIATES, PRINTS])
def test_a_program_ends_quietly_while_a_daemon_works_with_arrays(work):
    said = run(f"""
    import threading
    import strandline.array as sa

    started = threading.Event()

    def loop():
        while True:
            {work}
            started.set()

    for _ in range(2):
        threading.Thread(target=loop, daemon=True).start()
    started.wait()
    print("done")
    """)
    assert said == "done\n"


def test_a_program_ends_quietly_with_work_under_way_and_arrays_alive():
    said = run("""
    import strandline.array as sa
    x = sa.random.normal((300, 300))
    for _ in range(20):
        x = sa.tanh(x @ x)
    sa.async_eval(x)
    y = x + 1
    print("done")
    """)
    assert said == "done\n"


@pytest.mark.parametrize("work", ["sa.tanh(z + z)", "z @ z", "sa.grad(lambda a: (a * a).sum())(z)"])
def test_a_child_goes_on_while_threads_of_its_parent_evaluate(work):
    said = run(
        FORK
        + f"""
    import threading
    stop = False

    def evaluate():
        while not stop:
            z = sa.ones((60, 60))
            sa.eval({work})

    def child():
        for _ in range(3):  # work of another thread may have been cut off, which is told once
            try:
                return ((sa.ones((4, 4)) + 1) @ sa.ones((4, 4))).sum().item()
            except sl.DeviceError:
                pass

    sa.eval(sa.ones((8, 8)) @ sa.ones((8, 8)))
    threads = [threading.Thread(target=evaluate) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(12):
        child_says(child)
    stop = True
    for thread in threads:
        thread.join()
    """
    )
    assert said == "128.0\n" * 12
