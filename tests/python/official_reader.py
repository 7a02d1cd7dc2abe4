# SPDX-License-Identifier: Apache-2.0
"""What memory_viz makes of a snapshot, re-implemented from its description and stricter.

`load` unpickles with the opcodes that reader knows and refuses every other. `Timeline` pairs events
by address as it does and raises `Complaint` where that reader would fail or draw something false.
"""

import struct

BATCH = 1000


class Complaint(Exception):
    """The official reader fails on this file, or shows something that is not so."""


class _Mark:
    pass


class _Unpickler:
    """A stack machine over the opcodes of the official reader, no others."""

    def __init__(self, data: bytes):
        self.data = data
        self.at = 0
        self.stack: list = []
        self.memo: dict[int, object] = {}
        self.used: set[int] = set()

    def take(self, count: int) -> bytes:
        piece = self.data[self.at : self.at + count]
        if len(piece) != count:
            raise Complaint(f"ends within an opcode at byte {self.at}")
        self.at += count
        return piece

    def number(self, form: str) -> int:
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def since_mark(self) -> list:
        last = max(i for i, item in enumerate(self.stack) if isinstance(item, _Mark))
        items = self.stack[last + 1 :]
        del self.stack[last:]
        return items

    def run(self) -> object:
        if self.take(1) != b"\x80" or not 2 <= self.take(1)[0] <= 4:
            raise Complaint("protocol is not 2, 3 or 4")
        while True:
            code = self.take(1)
            self.used.add(code[0])
            if code == b".":
                if len(self.stack) != 1 or self.at != len(self.data):
                    raise Complaint("stops with something left over")
                return self.stack[0]
            handler = _OPCODES.get(code)
            if handler is None:
                raise Complaint(f"unknown opcode {code!r} at byte {self.at - 1}")
            handler(self)

    def frame(self):
        self.number("Q")

    def push(self, value):
        self.stack.append(value)

    def long1(self):
        piece = self.take(self.number("B"))
        value = int.from_bytes(piece, "little", signed=True)
        self.push(value)

    def text(self, form):
        self.push(self.take(self.number(form)).decode("utf-8", errors="strict"))

    def set_items(self):
        items = self.since_mark()
        target = self.stack[-1]
        for key, value in zip(items[::2], items[1::2], strict=True):
            if not isinstance(key, str):
                raise Complaint(f"a dictionary key is {type(key).__name__}")
            if key in target:
                raise Complaint(f"key {key!r} twice in one dictionary")
            target[key] = value

    def append_items(self):
        items = self.since_mark()
        if len(items) > BATCH:
            raise Complaint(f"APPENDS of {len(items)} items overflows the reader's stack")
        self.stack[-1].extend(items)

    def append_one(self):
        value = self.stack.pop()
        self.stack[-1].append(value)

    def set_one(self):
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-1][key] = value

    def tuple_of(self, count):
        items = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        self.push(tuple(items))

    def memoize(self, number):
        self.memo[number] = self.stack[-1]

    def get(self, form):
        self.push(self.memo[self.number(form)])


_OPCODES = {
    b"\x95": _Unpickler.frame,
    b"(": lambda u: u.push(_Mark()),
    b"N": lambda u: u.push(None),
    b"\x88": lambda u: u.push(True),
    b"\x89": lambda u: u.push(False),
    b"J": lambda u: u.push(u.number("i")),
    b"K": lambda u: u.push(u.number("B")),
    b"M": lambda u: u.push(u.number("H")),
    b"\x8a": _Unpickler.long1,
    b"G": lambda u: u.push(struct.unpack(">d", u.take(8))[0]),
    b"\x8c": lambda u: u.text("B"),
    b"X": lambda u: u.text("I"),
    b"}": lambda u: u.push({}),
    b"]": lambda u: u.push([]),
    b")": lambda u: u.push(()),
    b"s": _Unpickler.set_one,
    b"u": _Unpickler.set_items,
    b"a": _Unpickler.append_one,
    b"e": _Unpickler.append_items,
    b"t": lambda u: u.push(tuple(u.since_mark())),
    b"\x85": lambda u: u.tuple_of(1),
    b"\x86": lambda u: u.tuple_of(2),
    b"\x87": lambda u: u.tuple_of(3),
    b"\x94": lambda u: u.memoize(len(u.memo)),
    b"q": lambda u: u.memoize(u.number("B")),
    b"r": lambda u: u.memoize(u.number("I")),
    b"h": lambda u: u.get("B"),
    b"j": lambda u: u.get("I"),
}


def load(data: bytes) -> object:
    """The object in the pickle, by the official reader's opcodes only."""
    return _Unpickler(data).run()


SEGMENT_KEYS = {
    "device", "address", "total_size", "allocated_size", "active_size", "requested_size", "stream",
    "segment_type", "segment_pool_id", "is_expandable", "frames", "blocks",
}  # fmt: skip
BLOCK_KEYS = {"address", "size", "requested_size", "state", "frames"}
EVENT_KEYS = {
    "action", "size", "stream", "time_us", "frames", "compile_context", "user_metadata", "pool_id",
}  # fmt: skip
ACTIONS = {
    "alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map",
    "segment_unmap", "oom", "snapshot", "annotate",
}  # fmt: skip
TOP_KEYS = {
    "segments", "device_traces", "allocator_settings", "external_annotations", "host_segments",
    "host_traces",
}  # fmt: skip


def _require(condition: bool, text: str) -> None:
    if not condition:
        raise Complaint(text)


def _check_frames(frames: object) -> None:
    _require(isinstance(frames, list), "frames is no list")
    for frame in frames:
        _require(set(frame) == {"filename", "line", "name"}, f"a frame has keys {sorted(frame)}")
        _require(isinstance(frame["filename"], str), "a file name is no string")
        _require(isinstance(frame["name"], str), "a function name is no string")


def check_form(snapshot: dict) -> None:
    """Keys, types, segments that add up, stacks with names, annotations in order."""
    _require(set(snapshot) == TOP_KEYS, f"top-level keys {sorted(snapshot)}")
    for segment in snapshot["segments"]:
        _require(set(segment) == SEGMENT_KEYS, f"segment keys {sorted(segment)}")
        at = segment["address"]
        for block in segment["blocks"]:
            _require(set(block) == BLOCK_KEYS, f"block keys {sorted(block)}")
            _require(block["address"] == at, f"block at {block['address']:#x}, expected {at:#x}")
            _check_frames(block["frames"])
            at += block["size"]
        _require(at - segment["address"] == segment["total_size"], "blocks do not add up")
        _check_frames(segment["frames"])
    starts = [(s["device"], s["address"]) for s in snapshot["segments"]]
    _require(starts == sorted(starts), "segments are not in order of address")
    for trace in snapshot["device_traces"]:
        for event in trace:
            _check_event(event)
    times = [a["time_us"] for a in snapshot["external_annotations"]]
    _require(times == sorted(times), "annotations are not in order")


def _check_event(event: dict) -> None:
    _require(event["action"] in ACTIONS, f"action {event['action']!r}")
    place = "device_free" if event["action"] == "oom" else "addr"
    optional = {"category", "forward_frames"}
    _require(
        EVENT_KEYS | {place} <= set(event) <= EVENT_KEYS | {place} | optional,
        f"event keys {sorted(event)}",
    )
    _check_frames(event["frames"])
    _check_frames(event.get("forward_frames", []))
    _require(isinstance(event["user_metadata"], str | dict), "user_metadata is of an odd type")


def categories(snapshot: dict) -> set[str]:
    """Categories in use; the reader fails unless "unknown" is among them."""
    found = {e["category"] for t in snapshot["device_traces"] for e in t if "category" in e}
    _require(not found or "unknown" in found, f"categories without 'unknown': {sorted(found)}")
    return found


class Timeline:
    """Active memory as drawn: pairs by address, ghosts, memory from before the first event."""

    def __init__(self, snapshot: dict, device: int, by_segments: bool = False):
        begin, end = (
            ("segment_alloc", "segment_free") if by_segments else ("alloc", "free_completed")
        )
        self.initial: list[dict] = []
        self.curve: list[int] = []
        open_at: dict[int, dict] = {}
        steps: list[int] = []
        for event in snapshot["device_traces"][device]:
            if event["action"] == begin:
                if event["addr"] in open_at:
                    raise Complaint(f"{event['addr']:#x} is allocated twice: drawn for ever")
                open_at[event["addr"]] = event
                steps.append(event["size"])
            elif event["action"] == end:
                opened = open_at.pop(event["addr"], None)
                if opened is None:
                    self.initial.append(event)
                elif opened["size"] != event["size"]:
                    raise Complaint(
                        f"{event['addr']:#x}: freed {event['size']}, not {opened['size']}"
                    )
                steps.append(-event["size"])
        if not by_segments:
            self.initial += self._ghosts(snapshot, device, open_at)
        self.open_at_end = open_at
        level = sum(e.get("requested_size", e.get("size")) for e in self.initial)
        self.start = level
        self.curve = [level]
        for step in steps:
            level += step
            self.curve.append(level)
        _require(min(self.curve) >= 0, "the curve goes below zero")

    @staticmethod
    def _ghosts(snapshot: dict, device: int, open_at: dict[int, dict]) -> list[dict]:
        blocks = (
            block
            for segment in snapshot["segments"]
            if segment["device"] == device
            for block in segment["blocks"]
        )
        return [
            b for b in blocks if b["state"] == "active_allocated" and b["address"] not in open_at
        ]


def replay_state_backwards(snapshot: dict, device: int) -> int:
    """State History: undoes every event from the end; fails on a block outside every segment."""
    segments = {
        s["address"]: s["total_size"] for s in snapshot["segments"] if s["device"] == device
    }
    blocks = {
        b["address"]: b["size"]
        for s in snapshot["segments"]
        if s["device"] == device
        for b in s["blocks"]
        if b["state"] != "inactive"
    }

    def holds(address: int) -> bool:
        return any(a <= address < a + max(size, 1) for a, size in segments.items())

    for event in reversed(snapshot["device_traces"][device]):
        action, address = event["action"], event.get("addr")
        if action == "alloc":
            _require(blocks.pop(address, None) is not None, f"no block at {address:#x} to undo")
        elif action == "free_completed":
            _require(address not in blocks, f"{address:#x} is freed and still there")
            _require(holds(address), f"block {address:#x} lies outside every segment")
            blocks[address] = event["size"]
        elif action == "segment_alloc":
            _require(segments.pop(address, None) is not None, f"no segment at {address:#x}")
        elif action == "segment_free":
            _require(address not in segments, f"segment {address:#x} freed and still there")
            segments[address] = event["size"]
    return len(blocks)
