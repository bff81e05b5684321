"""Encode and decode one small MFP frame, as ratios to msgpack on the same values.

msgpack (msgspec's, which is among our own dependencies) packs the same fields (id, payload, need_ack) into an
array and makes no checks, so it is a floor and not a rival.
"""

import timeit
from collections.abc import Callable

from msgspec import msgpack

from framehub.mfp import codec
from framehub.mfp.frames import RequestFrame

ROUNDS = 7
CALLS = 20_000
FRAME_BYTES = 64
HEAD_BYTES = 9  # head, id, payload size


def nanoseconds(action: Callable[[], object]) -> float:
    """The best of several rounds: the others measure the machine's other work."""
    return min(timeit.repeat(action, number=CALLS, repeat=ROUNDS)) / CALLS * 1e9


def main() -> None:
    frame = RequestFrame(id=7, payload=b"x" * (FRAME_BYTES - HEAD_BYTES))
    data = codec.encode(frame)
    assert len(data) == FRAME_BYTES
    ours = {
        "encode": nanoseconds(lambda: codec.encode(frame)),
        "decode": nanoseconds(lambda: codec.decode(data)),
    }
    values = [frame.id, frame.payload, frame.need_ack]
    packed = msgpack.encode(values)
    theirs = {
        "encode": nanoseconds(lambda: msgpack.encode(values)),
        "decode": nanoseconds(lambda: msgpack.decode(packed)),
    }
    for what, cost in ours.items():
        print(
            f"   {what}  {cost:7.0f} ns a frame of {FRAME_BYTES} bytes   msgpack {theirs[what]:7.0f} ns"
            f"   {cost / theirs[what]:.2f} times msgpack's time"
        )
