"""Encode and decode MFP frames, beside msgpack on the same values.

msgpack packs a map of what the frame says, by name; it is the library of that name, in an environment of its
own, and what the target is about. msgspec packs an array of the same without names, which is the floor.
Neither makes any checks.
"""

import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

from msgspec import msgpack, structs

from benchmarks.measuring import Process, Processes
from benchmarks.peers.environments import NoEnvironment, python_of
from benchmarks.report import Report
from framehub.codes import BinaryKind
from framehub.mfp import codec
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame

MEASURES = ("src/framehub/mfp",)

PEER = "benchmarks.peers.msgpack_map"
ROUNDS = 25
CALLS = 2_000
FRAME_BYTES = 64
LARGE_BYTES = 65_536
ENCODE_NS, DECODE_NS, TO_MSGPACK = 400, 600, 2.0
TARGET_FRAME = "request"
NONE = float("nan")


def request(size: int, *, checksum: bool = False) -> Frame:
    """A request whose whole frame has ``size`` bytes."""
    return RequestFrame(id=7, payload=b"x" * (size - 9 - 4 * checksum), checksum=checksum)


def chunk(size: int, *, checksum: bool = False) -> Frame:
    """A binary frame of ``size`` bytes."""
    data = b"x" * (size - 13 - 4 * checksum)
    return BinaryFrame(id=8, ref=7, kind=BinaryKind.EXPECTED, key=0, data=data, checksum=checksum)


def frames() -> dict[str, Frame]:
    """One of each kind that carries something, each 64 bytes long or as it says."""
    return {
        TARGET_FRAME: request(FRAME_BYTES),
        "request, crc32": request(FRAME_BYTES, checksum=True),
        "response": ResponseFrame(id=8, ref=7, payload=b"x" * (FRAME_BYTES - 13)),
        "message": MessageFrame(id=7, payload=b"x" * (FRAME_BYTES - 9)),
        "message, crc32": MessageFrame(id=7, payload=b"x" * (FRAME_BYTES - 13), checksum=True),
        "binary": chunk(FRAME_BYTES),
        "binary, crc32": chunk(FRAME_BYTES, checksum=True),
        "request, 64 KiB": request(LARGE_BYTES),
        "request, 64 KiB, crc32": request(LARGE_BYTES, checksum=True),
    }


def nanoseconds(action: Callable[[], object]) -> float:
    return timeit.timeit(action, number=CALLS) / CALLS * 1e9


def present(frame: Frame) -> dict[str, Any]:
    """The fields that take part: no empty tables of files."""
    return {name: value for name, value in structs.asdict(frame).items() if value not in ((), None)}


def theirs(peer: Process | None, frame: Frame) -> tuple[float, float]:
    """The same fields as msgpack has them."""
    if peer is None:
        return NONE, NONE
    fields = present(frame)
    sizes = {name: len(value) for name, value in fields.items() if isinstance(value, bytes)}
    rest = {name: value for name, value in fields.items() if name not in sizes}
    done = peer.ask(fields=rest, bytes=sizes, calls=CALLS)
    return done["encode"], done["decode"]


def measure(frame: Frame, peer: Process | None) -> list[float]:
    """Encode and decode of ours, msgpack's and msgspec's, in turns; the best round of each."""
    data = codec.encode(frame)
    assert codec.decode(data) == frame
    values = list(present(frame).values())
    packed = msgpack.encode(values)
    rounds = [
        [
            nanoseconds(partial(codec.encode, frame)),
            nanoseconds(partial(codec.decode, data)),
            *theirs(peer, frame),
            nanoseconds(partial(msgpack.encode, values)),
            nanoseconds(partial(msgpack.decode, packed)),
        ]
        for _ in range(ROUNDS)
    ]
    return [min(column) for column in zip(*rounds, strict=True)]


def marks(report: Report, best: list[float]) -> str:
    said = [
        report.at_most("codec, encode 64 bytes", best[0], ENCODE_NS, "ns"),
        report.at_most("codec, decode 64 bytes", best[1], DECODE_NS, "ns"),
    ]
    if best[2] == best[2]:  # not the one that means "none"
        said += [
            report.at_most("codec, encode to msgpack", best[0] / best[2], TO_MSGPACK),
            report.at_most("codec, decode to msgpack", best[1] / best[3], TO_MSGPACK),
        ]
    return f"   {', '.join(said)}: {ENCODE_NS} ns, {DECODE_NS} ns, {TO_MSGPACK:g}x, {TO_MSGPACK:g}x"


def main(report: Report) -> None:
    with Processes() as processes:
        peer = None
        try:
            peer = processes.client(PEER, python=python_of("msgpack"))
        except NoEnvironment as why:
            report.say(f"left out, msgpack: {why}")
        report.say(
            f"{'ns a frame':24}  encode decode   {'msgpack map':>13}  {'times its':>11}"
            f"   {'msgspec array':>13}  {'times its':>11}"
        )
        for name, frame in frames().items():
            best = measure(frame, peer)
            encode, decode = best[:2]
            others = "   ".join(
                f"{pack:>6.0f} {unpack:>6.0f}  {encode / pack:>5.2f} {decode / unpack:>5.2f}"
                for pack, unpack in (best[2:4], best[4:6])
            )
            mark = marks(report, best) if name == TARGET_FRAME else ""
            report.say(f"  {name:22}  {encode:>6.0f} {decode:>6.0f}   {others}{mark}")
