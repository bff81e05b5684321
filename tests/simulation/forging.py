"""Frames that no machine sends: lawful but hostile ones, and bytes that are no frame."""

from random import Random

from framehub.codes import BinaryKind, Service
from framehub.mfp.checksum import OFF
from framehub.mfp.encoder import encode
from framehub.mfp.frames import BinaryFrame, Frame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from tests.simulation.accounts import FORGED
from tests.simulation.plan import sums
from tests.simulation.side import Side

FIRST = 2**31
"""Forged ids are of this range; no simulated machine comes that far."""


def refs(sender: Side, receiver: Side, rng: Random) -> list[int]:
    """Ids worth naming: of both sides, alive and past, and one that nobody has."""
    ours, theirs = sender.book, receiver.book
    known = [*ours.asked, *ours.sets, *ours.streams, *ours.past, *theirs.asked, *theirs.past]
    return [*rng.sample(sorted(known), min(4, len(known))), *theirs.waiting, *theirs.inflow, 77_777]


def frame(sender: Side, receiver: Side, rng: Random) -> Frame:
    """A frame from ``sender`` that its machine knows nothing of."""
    id_ = FIRST + rng.randrange(2**20)
    ref = rng.choice(refs(sender, receiver, rng))
    ack = rng.random() < 0.3
    pick = rng.randrange(8)
    if pick == 0:
        code = rng.choice((Service.ACK, Service.TIMEOUT, Service.ABORT, Service.UNKNOWN))
        return ServiceFrame(id=id_, code=code, ref=ref, own=rng.random() < 0.5)
    if pick == 1:
        return ServiceFrame(id=id_, code=Service.PING, ref=id_, own=True)
    if pick == 2:
        return ResponseFrame(id=id_, ref=ref, payload=FORGED, need_ack=ack)
    if pick == 3:
        return RequestFrame(id=id_, payload=FORGED + b"%d" % id_, need_ack=ack)
    if pick == 4:
        shape = rng.randrange(3)
        expected = (1, 2) if shape == 1 else ()
        return MessageFrame(
            id=id_, payload=FORGED + b"%d" % id_, expected=expected, streaming=shape == 2, need_ack=ack
        )
    kind = rng.choice(tuple(BinaryKind))
    keyed = kind in (BinaryKind.EXPECTED, BinaryKind.STREAMING)
    return BinaryFrame(
        id=id_,
        ref=ref,
        kind=kind,
        key=rng.randrange(9) if keyed else None,
        data=b"" if kind is BinaryKind.NONE else FORGED,
        final=rng.random() < 0.3,
        need_ack=ack,
    )


def unlawful(sender: Side, receiver: Side, rng: Random) -> bytes:
    """Bytes that must end the connection: no frame, one without its sum, or one whose id is alive."""
    settings = receiver.book.settings
    checksums = sums(settings)
    live = [*receiver.book.answering, *receiver.book.waiting, *receiver.book.inflow]
    if live and rng.random() < 0.4:
        id_ = rng.choice(live)
        again: Frame = rng.choice((RequestFrame(id=id_, payload=FORGED), MessageFrame(id=id_)))
        return encode(again, checksums)
    whole = encode(MessageFrame(id=1, payload=FORGED * 9), checksums)
    needs_sum = checksums.mode == "always"
    return rng.choice(
        (
            encode(MessageFrame(id=1, payload=FORGED * 9), OFF) if needs_sum else b"",
            b"",
            whole[:-1],
            whole + b"\0",
            bytes((0xC0,)) + whole[1:],
            whole[:1] + bytes(4) + whole[5:],
            b"\x41" + bytes(settings.max_frame_bytes),
            rng.randbytes(4),
        )
    )
