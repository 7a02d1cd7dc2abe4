# SPDX-License-Identifier: Apache-2.0
"""One check of the capture, in an interpreter of its own: `program.py CHECK FOLDER [NUMBER SEED]`.

FOLDER holds the built frames_module. The oracle is `sys._getframe`. Prints "ok" and a count.
"""

import _thread
import functools
import gc
import os
import random
import signal
import sys
import threading
import time
import traceback

CHECK, FOLDER = sys.argv[1], sys.argv[2]
NUMBER = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
sys.path.insert(0, FOLDER)

import frames_module  # noqa: E402
import patterns  # noqa: E402

MOST, OUTER = 128, 16  # frames of a stack that are kept, and the outermost of a deep one


def oracle():
    """The caller's stack, outermost first, and its innermost code objects."""
    frames = []
    frame = sys._getframe(1)
    while frame is not None:
        frames.append((frame.f_code.co_filename, frame.f_code.co_qualname, frame.f_lineno))
        frame = frame.f_back
    return frames[::-1]


def kept(told):
    """What is kept of a stack told outermost first: of a deep one its two ends."""
    if len(told) <= MOST:
        return told
    return [*told[:OUTER], ("<frames left out>", "…", 0), *told[OUTER + 1 - MOST :]]


class Checker:
    """Counts comparisons; the first difference is kept, since finalisers cannot raise."""

    def __init__(self):
        self.compared = 0
        self.difference = None

    def check(self):
        captured, told = frames_module.capture(), oracle()
        frames, truncated = frames_module.resolve(captured)
        self.compared += 1
        if (frames != kept(told) or truncated != (len(told) > MOST)) and not self.difference:
            self.difference = (frames, kept(told), truncated, len(told))

    def finish(self):
        if self.difference:
            frames, told, truncated, depth = self.difference
            print(f"difference: truncated {truncated}, depth {depth}")
            for number in range(max(len(frames), len(told))):
                pair = [a[number] if number < len(a) else None for a in (frames, told)]
                print("  " if pair[0] == pair[1] else "->", *pair)
            sys.exit(1)
        print("ok", self.compared)


def check_random():
    """Random stacks, each three times in a row: new, known, known."""
    choose = random.Random(SEED)
    checker = Checker()
    for number in range(NUMBER):
        links = choose.choices(patterns.LINKS, k=choose.randint(1, 9))
        if choose.random() < 0.02:
            links.insert(choose.randint(0, len(links)), choose.choice(patterns.RARE))
        for _ in range(3):
            patterns.run(links, checker.check)
        if number % 5000 == 0:
            frames_module.clear()
            gc.collect()
    checker.finish()


def check_reuse():
    """Code objects that die give their addresses to others; none may be mistaken for another."""
    checker = Checker()
    addresses = set()
    for number in range(NUMBER):
        name = f"made_{number}"
        scope = {"check": checker.check}
        exec(compile(f"def {name}():\n    check()\n", f"<{name}>", "exec"), scope)
        code = scope[name].__code__
        addresses.add(id(code))
        del code
        # Half of them are never captured, die, and leave their addresses to the other half.
        if number % 2:
            scope[name]()
    assert len(addresses) < NUMBER, "no address was used twice: this test shows nothing"
    checker.finish()


def check_traceback():
    """Against the traceback module as well, which reads files for their text alone."""
    checker = Checker()

    def end():
        captured, told = frames_module.capture(), traceback.extract_stack()
        frames, _ = frames_module.resolve(captured)
        expected = [(frame.filename, frame.name, frame.lineno) for frame in told][-MOST:]
        names = [(file, function.rsplit(".", 1)[-1], line) for file, function, line in frames]
        checker.compared += 1
        if names != expected and not checker.difference:
            checker.difference = (names, expected, False, len(told))

    for link in patterns.LINKS:
        patterns.run([link, link], end)
    checker.finish()


def check_signals():
    """A handler written in Python runs between any two instructions, and captures."""
    checker = Checker()
    signal.signal(signal.SIGALRM, lambda *_: checker.check())
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    while checker.compared < NUMBER and not checker.difference:
        for link in patterns.LINKS:
            patterns.run([link], lambda: frames_module.capture())
    signal.setitimer(signal.ITIMER_REAL, 0)
    checker.finish()


def check_collector():
    """Finalisers run by the collector capture too, at whatever point made an object."""
    checker = Checker()

    class Cycle:
        def __init__(self):
            self.me = self

        def __del__(self):
            checker.check()

    gc.set_threshold(3)
    while checker.compared < NUMBER:
        Cycle()
        for link in patterns.LINKS:
            patterns.run([link], frames_module.capture)
    gc.set_threshold(700)
    checker.finish()


def check_threads():
    """NUMBER threads, 50 at a time, with a short switching interval."""
    sys.setswitchinterval(1e-5)
    checkers = []

    def work(number):
        checker = Checker()
        checkers.append(checker)
        choose = random.Random(SEED + number)
        for _ in range(5):
            patterns.run(choose.choices(patterns.LINKS, k=4), checker.check)

    for start in range(0, NUMBER, 50):
        threads = [
            threading.Thread(target=work, args=(number,))
            for number in range(start, min(start + 50, NUMBER))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    total = Checker()
    total.compared = sum(checker.compared for checker in checkers)
    total.difference = next((c.difference for c in checkers if c.difference), None)
    assert len(checkers) == NUMBER
    total.finish()


def check_tracing():
    """Under sys.settrace, sys.setprofile and, where it exists, sys.monitoring."""
    checker = Checker()

    def trace(frame, event, argument):
        if frame.f_globals is patterns.__dict__:
            checker.check()
        return trace

    for switch in (sys.settrace, sys.setprofile):
        switch(trace)
        for link in patterns.LINKS:
            patterns.run([link], checker.check)
        switch(None)
    if hasattr(sys, "monitoring"):
        monitoring = sys.monitoring
        monitoring.use_tool_id(monitoring.COVERAGE_ID, "check")
        monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)
        monitoring.register_callback(
            monitoring.COVERAGE_ID, monitoring.events.LINE, lambda code, line: None
        )
        for link in patterns.LINKS:
            patterns.run([link, link], checker.check)
        monitoring.set_events(monitoring.COVERAGE_ID, 0)
    for link in patterns.LINKS:  # and afterwards, in code that has been instrumented
        patterns.run([link], checker.check)
    checker.finish()


def check_fork():
    """Both sides of a fork go on capturing, with stacks known before and new ones."""
    checker = Checker()
    patterns.run([patterns.generator], checker.check)
    for _ in range(20):
        child = os.fork()
        if child == 0:
            patterns.run([patterns.generator, patterns.coroutine], checker.check)
            os._exit(0 if checker.difference is None else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        patterns.run([patterns.constructor], checker.check)
    checker.finish()


def check_entry():
    """Frames from the entry outward are left out, whichever entry is set when."""
    checker = Checker()

    def trimmed(entry_name):
        captured, told = frames_module.capture(), oracle()
        frames, truncated = frames_module.resolve(captured)
        names = [function for _, function, _ in told]
        if entry_name in names:
            told = told[len(names) - names[::-1].index(entry_name) :]
        checker.compared += 1
        if frames != kept(told) or truncated != (len(told) > MOST):
            checker.difference = checker.difference or (frames, kept(told), truncated, len(told))

    def entry(rest):
        rest()

    def other(rest):
        rest()

    for depth in (0, 3, 122, 123, 124, 125, 126, 127, 128, 129, 200):
        for code in (None, entry.__code__, other.__code__, None):
            frames_module.set_entry(code)
            name = code.co_qualname if code else None
            for function in (entry, other):
                end = functools.partial(trimmed, name)
                function(functools.partial(patterns.recursion, end, depth))
    checker.finish()


def check_shutdown():
    """Captures while the interpreter ends: daemon threads, finalisers of module globals, atexit."""
    import atexit

    class Last:
        def __del__(self, capture=frames_module.capture):
            capture()

    def work():
        while True:
            patterns.run([patterns.generator], frames_module.capture)

    globals()["last"] = Last()
    patterns.last = Last()
    sys.last_kept = Last()
    atexit.register(frames_module.capture)
    for _ in range(4):
        _thread.start_new_thread(work, ())
    time.sleep(0.05)
    print("ok", 1, flush=True)


if __name__ == "__main__":
    source, why_not = frames_module.describe()
    assert source.endswith("(interpreter frames)") and not why_not, (source, why_not)
    globals()["check_" + CHECK]()
