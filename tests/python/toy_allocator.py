# SPDX-License-Identifier: Apache-2.0
"""A caching allocator by PyTorch's rules that writes down its whole state before every event.

Forwards and naive: lists that are searched from end to end. The reader under test has only the
events and the last state, and works out all others; the two share no code and no way of counting.
"""

import copy
import random
from dataclasses import dataclass, field
from typing import Any

KIB = 1 << 10
MIB = 1 << 20


def rounded(size: int) -> int:
    return max(512, (size + 511) // 512 * 512)


@dataclass
class Block:
    address: int
    size: int
    requested: int = 0
    state: str = "inactive"
    frames: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Segment:
    address: int
    size: int
    stream: int
    pool: tuple[int, int]
    small: bool
    blocks: list[Block]


@dataclass
class ToyAllocator:
    """One device. `states[i]` is what the segments are before event i."""

    capacity: int = 1 << 40
    device: int = 0
    segments: list[Segment] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)
    states: list[list[Segment]] = field(default_factory=list)
    base: int = 0x7F00_0000_0000
    time: int = 1_700_000_000_000_000

    def event(
        self, action: str, size: int, stream: int, pool: tuple[int, int], **keys: Any
    ) -> None:
        self.states.append(copy.deepcopy(self.segments))
        self.time += 10
        self.events.append(
            {"action": action, "size": size, "stream": stream, "pool_id": pool}
            | {"time_us": self.time, "frames": []}
            | keys
        )

    def holes(self, stream: int, pool: tuple[int, int], small: bool) -> list[Block]:
        return [
            block
            for segment in self.segments
            if (segment.stream, segment.pool, segment.small) == (stream, pool, small)
            for block in segment.blocks
            if block.state == "inactive"
        ]

    def reserved(self) -> int:
        return sum(segment.size for segment in self.segments)

    def alloc(
        self,
        requested: int,
        stream: int = 0,
        pool: tuple[int, int] = (0, 0),
        frames: list[dict[str, Any]] | None = None,
    ) -> int | None:
        """The address; None where the device has no memory left."""
        size = rounded(requested)
        small = size <= MIB
        frames = frames or []
        fitting = [b for b in self.holes(stream, pool, small) if b.size >= size]
        if not fitting:
            wanted = 2 * MIB if small else 20 * MIB
            if not small and size >= 10 * MIB:
                wanted = (size + 2 * MIB - 1) // (2 * MIB) * (2 * MIB)
            free = self.capacity - self.reserved()
            if wanted > free:
                self.event("oom", size, stream, pool, device_free=free, frames=frames)
                return None
            address = self.base
            self.base += (wanted + 2 * MIB - 1) // (2 * MIB) * (2 * MIB) + 2 * MIB
            self.event("segment_alloc", wanted, stream, pool, addr=address, frames=frames)
            block = Block(address, wanted)
            self.segments.append(Segment(address, wanted, stream, pool, small, [block]))
        else:
            block = min(fitting, key=lambda b: (b.size, b.address))
        self.event("alloc", requested, stream, pool, addr=block.address, frames=frames)
        rest = block.size - size
        if rest >= 512 if small else rest > MIB:
            segment = self.segment_of(block.address)
            at = segment.blocks.index(block)
            segment.blocks.insert(at + 1, Block(block.address + size, rest))
            block.size = size
        block.requested, block.state, block.frames = requested, "active_allocated", frames
        return block.address

    def segment_of(self, address: int) -> Segment:
        return next(s for s in self.segments if 0 <= address - s.address < s.size)

    def request_free(self, address: int) -> None:
        segment = self.segment_of(address)
        block = next(b for b in segment.blocks if b.address == address)
        self.event("free_requested", block.requested, segment.stream, segment.pool, addr=address)
        block.state = "active_pending_free"

    def complete_free(self, address: int) -> None:
        segment = self.segment_of(address)
        block = next(b for b in segment.blocks if b.address == address)
        self.event("free_completed", block.requested, segment.stream, segment.pool, addr=address)
        block.requested, block.state, block.frames = 0, "inactive", []
        merged: list[Block] = []
        for one in segment.blocks:
            if merged and merged[-1].state == one.state == "inactive":
                merged[-1].size += one.size
            else:
                merged.append(one)
        segment.blocks = merged

    def free(self, address: int) -> None:
        self.request_free(address)
        self.complete_free(address)

    def empty_cache(self) -> None:
        for segment in list(self.segments):
            if [b.state for b in segment.blocks] == ["inactive"]:
                self.event(
                    "segment_free",
                    segment.size,
                    segment.stream,
                    segment.pool,
                    addr=segment.address,
                )
                self.segments.remove(segment)

    def run(self, steps: int, seed: int) -> "ToyAllocator":
        """A seeded program: sizes of both pools, streams, private pools, late frees."""
        chance = random.Random(seed)
        live: list[int] = []
        pending: list[int] = []
        stacks = [[frame("f", line), frame("main", 1)] for line in range(1, 9)]
        for _ in range(steps):
            pick = chance.random()
            if pick < 0.45 or not live:
                size = chance.choice([chance.randrange(1, 40_000), chance.randrange(1, 6 * MIB)])
                if chance.random() < 0.05:
                    size = chance.randrange(8 * MIB, 40 * MIB)
                stream = chance.choice([0, 0, 0, 7])
                pool = (0, 1) if chance.random() < 0.1 else (0, 0)
                address = self.alloc(size, stream, pool, chance.choice(stacks))
                if address is not None:
                    live.append(address)
            elif pick < 0.90:
                address = live.pop(chance.randrange(len(live)))
                self.request_free(address)
                pending.append(address)
            elif pick < 0.97:
                while pending:
                    self.complete_free(pending.pop())
            else:
                self.empty_cache()
        return self

    def state(self, index: int) -> list[Segment]:
        """Before event `index`; after the last one for their number."""
        return self.segments if index == len(self.events) else self.states[index]


def frame(name: str, line: int, filename: str = "/home/u/train.py") -> dict[str, Any]:
    return {"name": name, "filename": filename, "line": line}


def segments_of(state: list[Segment], device: int = 0) -> list[dict[str, Any]]:
    """The state as PyTorch writes it."""
    return [
        {
            "device": device,
            "address": s.address,
            "total_size": s.size,
            "allocated_size": sum(b.size for b in s.blocks if b.state == "active_allocated"),
            "active_size": sum(b.size for b in s.blocks if b.state != "inactive"),
            "requested_size": sum(b.requested for b in s.blocks),
            "stream": s.stream,
            "segment_type": "small" if s.small else "large",
            "segment_pool_id": s.pool,
            "is_expandable": False,
            "frames": [],
            "blocks": [
                {
                    "address": b.address,
                    "size": b.size,
                    "requested_size": b.requested,
                    "state": b.state,
                    "frames": b.frames,
                }
                for b in s.blocks
            ],
        }
        for s in sorted(state, key=lambda s: s.address)
    ]


def snapshot_of(*allocators: ToyAllocator, first: int = 0) -> dict[str, Any]:
    """What PyTorch would dump, with a ring that has lost the events before `first`."""
    return {
        "segments": [s for a in allocators for s in segments_of(a.segments, a.device)],
        "device_traces": [a.events[first:] for a in allocators],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1},
        "external_annotations": [],
    }
