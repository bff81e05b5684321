"""Encode and decode one small MFP frame, as ratios to msgpack on the same values.

msgpack is no dependency of ours: ``.venv/bin/pip install msgpack`` brings the peer. It packs the same
fields (id, payload, need_ack) into an array and makes no checks, so it is a floor and not a rival.
"""

import timeit
from collections.abc import Callable
from importlib import import_module
from typing import Any

from framehub.mfp import codec
from framehub.mfp.frames import RequestFrame

ROUNDS = 7
CALLS = 20_000
FRAME_BYTES = 64
HEAD_BYTES = 9  # head, id, payload size


def nanoseconds(action: Callable[[], object]) -> float:
    """The best of several rounds: the others measure the machine's other work."""
    return min(timeit.repeat(action, number=CALLS, repeat=ROUNDS)) / CALLS * 1e9


def peer() -> Any:
    try:
        return import_module("msgpack")
    except ImportError:
        return None


def main() -> None:
    frame = RequestFrame(id=7, payload=b"x" * (FRAME_BYTES - HEAD_BYTES))
    data = codec.encode(frame)
    assert len(data) == FRAME_BYTES
    ours = {
        "encode": nanoseconds(lambda: codec.encode(frame)),
        "decode": nanoseconds(lambda: codec.decode(data)),
    }
    theirs: dict[str, float] = {}
    if msgpack := peer():
        values = [frame.id, frame.payload, frame.need_ack]
        packed = msgpack.packb(values)
        theirs["encode"] = nanoseconds(lambda: msgpack.packb(values))
        theirs["decode"] = nanoseconds(lambda: msgpack.unpackb(packed))
    for what, cost in ours.items():
        line = f"   {what}  {cost:7.0f} ns a frame of {FRAME_BYTES} bytes"
        if what in theirs:
            line += f"   msgpack {theirs[what]:7.0f} ns   {cost / theirs[what]:.2f} times msgpack's time"
        print(line)
    if not theirs:
        print("   no ratios: msgpack is not here (.venv/bin/pip install msgpack)")
