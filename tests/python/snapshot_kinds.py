# SPDX-License-Identifier: Apache-2.0
"""Makes snapshots of kinds that no public sample has, together with what is true of them.

`Program` allocates and frees by a seeded plan and keeps its own books as it goes, forwards; the
reader under test walks backwards from the blocks, so the two share no way of counting.
"""

import random
from dataclasses import dataclass, field
from typing import Any

SEGMENT = 2 << 20
BASE = 0x7F20_0000_0000


def frame(name: str, line: int, filename: str = "/home/u/train.py") -> dict[str, Any]:
    return {"name": name, "filename": filename, "line": line}


@dataclass
class Block:
    address: int
    requested: int
    size: int
    born: int  # event number
    frames: list[dict[str, Any]]


@dataclass
class Program:
    """One device: a bump allocator over segments that are never returned."""

    seed: int = 1
    device: int = 0
    base: int = BASE
    events: list[dict[str, Any]] = field(default_factory=list)
    live: dict[int, Block] = field(default_factory=dict)
    levels: list[int] = field(default_factory=lambda: [0])  # before each event, and after the last

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._stacks = [[frame(f"f{d}", 10 * s + d) for d in range(1 + s % 7)] for s in range(20)]
        self._next = self.base
        self._time = 1_700_000_000_000_000

    def event(self, action: str, addr: int, size: int, frames: list[dict[str, Any]]) -> None:
        self._time += 10
        self.events.append(
            {
                "action": action,
                "addr": addr,
                "size": size,
                "stream": 0,
                "time_us": self._time,
                "compile_context": "N/A",
                "user_metadata": "",
                "frames": frames,
            }
        )
        change = {"alloc": size, "free_completed": -size}.get(action, 0)
        self.levels.append(self.levels[-1] + change)

    def alloc(self, requested: int, frames: list[dict[str, Any]] | None = None) -> int:
        size = max(512, (requested + 511) // 512 * 512)
        at = self._next
        if at % SEGMENT == 0 or at % SEGMENT + size > SEGMENT:
            at = (at + SEGMENT - 1) // SEGMENT * SEGMENT
            self.event("segment_alloc", at, SEGMENT, [])
        stack = self._random.choice(self._stacks) if frames is None else frames
        self.event("alloc", at, requested, stack)
        self.live[at] = Block(at, requested, size, len(self.events) - 1, stack)
        self._next = at + size
        return at

    def free(self, at: int) -> None:
        block = self.live.pop(at)
        self.event("free_requested", at, block.requested, [])
        self.event("free_completed", at, block.requested, [])

    def run(self, steps: int) -> "Program":
        for _ in range(steps):
            if self.live and self._random.random() < 0.45:
                self.free(self._random.choice(list(self.live)))
            else:
                self.alloc(self._random.randrange(1, 40_000))
        return self

    def segments(self) -> list[dict[str, Any]]:
        starts = [e["addr"] for e in self.events if e["action"] == "segment_alloc"]
        return [self._segment(start) for start in starts]

    def _segment(self, start: int) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = []
        at = start
        inside = sorted(b.address for b in self.live.values() if 0 <= b.address - start < SEGMENT)
        for address in inside:
            if address > at:
                blocks.append(self._block(at, address - at, 0, "inactive", []))
            block = self.live[address]
            blocks.append(
                self._block(address, block.size, block.requested, "active_allocated", block.frames)
            )
            at = address + block.size
        if at < start + SEGMENT:
            blocks.append(self._block(at, start + SEGMENT - at, 0, "inactive", []))
        active = sum(b["size"] for b in blocks if b["state"] != "inactive")
        return {
            "device": self.device,
            "address": start,
            "total_size": SEGMENT,
            "allocated_size": active,
            "active_size": active,
            "requested_size": sum(b["requested_size"] for b in blocks),
            "stream": 0,
            "segment_type": "small",
            "segment_pool_id": (0, 0),
            "is_expandable": False,
            "frames": [],
            "blocks": blocks,
        }

    @staticmethod
    def _block(
        address: int, size: int, requested: int, state: str, frames: list[dict[str, Any]]
    ) -> dict[str, Any]:
        return {
            "address": address,
            "size": size,
            "requested_size": requested,
            "state": state,
            "frames": frames,
        }

    def facts(self, first: int = 0) -> dict[str, Any]:
        """What is true when the trace begins at event `first`."""
        events = self.events[first:]
        levels = self.levels[first:]
        peak = max(levels)
        born = {e["addr"] for e in events if e["action"] == "alloc"}
        freed = [e for e in events if e["action"] == "free_completed"]
        orphans = [e for e in freed if e["addr"] not in born]
        before = [b for b in self.live.values() if b.born < first]
        actions: dict[str, int] = {}
        for event in events:
            actions[event["action"]] = actions.get(event["action"], 0) + 1
        reserved = SEGMENT * sum(e["action"] == "segment_alloc" for e in self.events)
        rounded = sum(b.size for b in self.live.values())
        return {
            "device": self.device,
            "events": len(events),
            "actions": actions,
            "active_start": levels[0],
            "active_end": levels[-1],
            "active_peak": peak,
            "active_peak_after_event": levels.index(peak) - 1,
            "live_blocks": len(self.live),
            "live_without_alloc_event": len(before),
            "before_bytes": sum(b.requested for b in before),
            "orphan_frees": len(orphans),
            "orphan_bytes": sum(e["size"] for e in orphans),
            "lost_frees": 0,
            "double_allocs": 0,
            "broken_segments": 0,
            "residual": 0,
            "verdict": "starts-midway" if orphans or before else "complete",
            "reserved": reserved,
            "cached": reserved - rounded,
            "max_stack_depth": max(len(e["frames"]) for e in events),
        }


def snapshot(*programs: Program, first: int = 0) -> dict[str, Any]:
    return {
        "segments": [segment for program in programs for segment in program.segments()],
        "device_traces": [program.events[first:] for program in programs],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "garbage_collection_threshold": 0.5},
        "external_annotations": [],
    }


def differences(told: dict[str, Any], true: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {key: (told.get(key), value) for key, value in true.items() if told.get(key) != value}
