# SPDX-License-Identifier: Apache-2.0
"""What leaks: live at the end, growing from phase to phase; and how long the freed had lived."""

import pickle

import pytest
import strandline as sl
from snapshot_kinds import Program, frame, snapshot

KEPT, CACHE, WORK, WARM = ([frame(name, line)] for line, name in enumerate(("k", "c", "w", "u"), 1))


class Steps(Program):
    """Steps of a training run, marked as phases."""

    marks: list

    def mark(self, name, stage):
        self.marks.append({"name": name, "stage": stage, "device": 0, "time_us": self._time + 5})


@pytest.fixture
def leaks(tmp_path):
    def ask(program, **asked):
        path = tmp_path / "run.pickle"
        made = snapshot(program) | {"external_annotations": program.marks}
        path.write_bytes(pickle.dumps(made))
        return sl.Snapshot.load(path).leaks(**asked)

    return ask


def run(steps, *, end_clean=False):
    """Each step keeps 1000 bytes, puts 300 into a cache that the end clears, works with 5000."""
    program = Steps()
    program.marks = []
    program.alloc(7000, frames=WARM)
    cache = []
    for step in range(steps):
        program.mark(f"step {step}", "START")
        program.mark("forward", "START")
        program.alloc(1000, frames=KEPT)
        program.mark("forward", "END")
        cache.append(program.alloc(300, frames=CACHE))
        work = program.alloc(5000, frames=WORK)
        program.event("snapshot", 0, 0, [])  # 10 us pass
        program.free(work)
        program.mark(f"step {step}", "END")
    if end_clean:
        for block in cache:
            program.free(block)
    return program


def by_function(told):
    return {stack.line.function: stack for stack in told.stacks}


def test_stacks_that_grow_are_told_with_their_phases(leaks):
    told = leaks(run(6))
    assert (told.phase, told.phases) == ("forward", 6)  # as many as steps; the first by name
    found = by_function(told)
    assert [stack.line.function for stack in told.stacks] == ["u", "k", "c"]
    kept = found["k"]
    assert (kept.bytes, kept.allocs, kept.freed, kept.mean_lifetime_us) == (6000, 6, 0, None)
    assert (kept.growth_bytes, kept.grew_in_phases, kept.fell_in_phases) == (5000, 5, 0)
    assert kept.is_growing and not found["u"].is_growing
    assert 'grew by 4.9 KiB from phase "forward" to phase, in 5 of 5' in str(told)


def test_what_grew_and_is_freed_at_last_is_told_too(leaks):
    program = run(5, end_clean=True)
    told = leaks(program)
    cache = by_function(told)["c"]
    assert (cache.bytes, cache.blocks, cache.freed) == (0, 0, 5)
    # After "forward" of a step the cache holds what the steps before it put there.
    assert (cache.growth_bytes, cache.grew_in_phases, cache.is_growing) == (1200, 4, True)
    assert "w" not in by_function(told), "it holds nothing between the steps"


def test_lifetimes_are_of_what_was_freed(leaks):
    program = run(4)
    at = program.alloc(5000, frames=WORK)  # stays
    assert at in program.live
    work = by_function(leaks(program))["w"]
    # From the alloc to free_completed: the marker, free_requested and it, 10 us each.
    assert (work.freed, work.mean_lifetime_us, work.longest_lifetime_us) == (4, 30, 30)
    assert (work.bytes, work.allocs) == (5000, 5)


def test_without_phases_nothing_grows(leaks):
    program = run(3)
    program.marks = program.marks[:2]
    told = leaks(program)
    assert (told.phase, told.phases) == (None, 0)
    assert all((s.growth_bytes, s.grew_in_phases) == (0, 0) for s in told.stacks)


def test_a_filter_says_which_blocks_are_followed(leaks):
    program = run(4)
    told = leaks(program, filter="size<1000")
    (cache,) = told.stacks
    assert (cache.line.function, cache.bytes, cache.growth_bytes) == ("c", 1200, 900)
    assert leaks(program, filter="size=5000").stacks == []
