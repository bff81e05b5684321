"""Encode and decode MFP frames, as ratios to msgpack on the same values.

msgpack (msgspec's, which is among our own dependencies) packs the same fields into an array and makes no
checks, so it is a floor and not a rival.
"""

import timeit
from collections.abc import Callable
from functools import partial

from msgspec import msgpack, structs

from benchmarks.report import Report
from framehub.codes import BinaryKind
from framehub.mfp import codec
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame

ROUNDS = 9
CALLS = 10_000
FRAME_BYTES = 64
LARGE_BYTES = 65_536
ENCODE_NS, DECODE_NS, TO_MSGPACK = 400, 600, 2.0


def request(size: int, *, checksum: bool = False) -> Frame:
    """A request whose whole frame has ``size`` bytes."""
    return RequestFrame(id=7, payload=b"x" * (size - 9 - 4 * checksum), checksum=checksum)


def frames() -> dict[str, Frame]:
    """One of each kind that carries something, each 64 bytes long or as it says."""
    return {
        "request": request(FRAME_BYTES),
        "request, crc32": request(FRAME_BYTES, checksum=True),
        "response": ResponseFrame(id=8, ref=7, payload=b"x" * (FRAME_BYTES - 13)),
        "message": MessageFrame(id=7, payload=b"x" * (FRAME_BYTES - 9)),
        "message, crc32": MessageFrame(id=7, payload=b"x" * (FRAME_BYTES - 13), checksum=True),
        "binary": BinaryFrame(id=8, ref=7, kind=BinaryKind.EXPECTED, key=0, data=b"x" * (FRAME_BYTES - 13)),
        "binary, crc32": BinaryFrame(
            id=8, ref=7, kind=BinaryKind.EXPECTED, key=0, data=b"x" * (FRAME_BYTES - 17), checksum=True
        ),
        "request, 64 KiB": request(LARGE_BYTES),
        "request, 64 KiB, crc32": request(LARGE_BYTES, checksum=True),
    }


def nanoseconds(actions: list[Callable[[], object]]) -> list[float]:
    """Each in turns, the best round of each: the others measure the machine's other work."""
    best = [float("inf")] * len(actions)
    for _ in range(ROUNDS):
        for at, action in enumerate(actions):
            best[at] = min(best[at], timeit.timeit(action, number=CALLS) / CALLS * 1e9)
    return best


def main(report: Report) -> None:
    report.say(f"{'ns a frame':24} {'bytes':>6}   encode  decode   msgpack's    times msgpack's")
    for name, frame in frames().items():
        data = codec.encode(frame)
        values = list(structs.astuple(frame))
        packed = msgpack.encode(values)
        encode, decode, pack, unpack = nanoseconds(
            [
                partial(codec.encode, frame),
                partial(codec.decode, data),
                partial(msgpack.encode, values),
                partial(msgpack.decode, packed),
            ]
        )
        mark = ""
        if name == "request":
            marks = [
                report.at_most("codec, encode 64 bytes", encode, ENCODE_NS, "ns"),
                report.at_most("codec, decode 64 bytes", decode, DECODE_NS, "ns"),
                report.at_most("codec, encode to msgpack", encode / pack, TO_MSGPACK),
                report.at_most("codec, decode to msgpack", decode / unpack, TO_MSGPACK),
            ]
            mark = f"   {', '.join(marks)}: {ENCODE_NS} ns, {DECODE_NS} ns, {TO_MSGPACK:g}x, {TO_MSGPACK:g}x"
        report.say(
            f"  {name:22} {len(data):>6}  {encode:>7.0f} {decode:>7.0f}  {pack:>5.0f} {unpack:>5.0f}"
            f"    {encode / pack:>5.2f} {decode / unpack:>5.2f}{mark}"
        )
