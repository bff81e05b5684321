"""Faults of MFP connections: one story for each rule of spec/audit.md, section 2, and for links."""

from typing import Final

from framehub.codes import BinaryKind, CloseCode, Service
from framehub.journal.faults.fault import Fault, FaultStory, Told, unrecorded
from framehub.journal.mfp_rows import LinkRows
from framehub.journal.record import NO_ID
from framehub.journal.traffic import IN, MS, OUT, SECOND, USERS, Link, Story, World
from framehub.mfp import codec, envelope
from framehub.mfp.frames import BinaryFrame, MessageFrame, RequestFrame, ResponseFrame, ServiceFrame
from framehub.mfp.layout import STREAM

_ENDPOINT: Final = "search"
_LONGER_THAN_IN_TIME: Final = 15 * SECOND


class Said:
    """A frame that was recorded: its number in the journal, its id, the conversation."""

    __slots__ = ("exchange", "id", "seq")

    def __init__(self, seq: int, id_: int, exchange: bytes) -> None:
        self.seq = seq
        self.id = id_
        self.exchange = exchange


def joined(world: World) -> Link:
    """A new connection of somebody."""
    link = Link(world.dice.randbytes(8), world.dice.randint(1, USERS))
    world.opened(link)
    return link


def left(world: World, link: Link) -> Story:
    """The connection goes, so late that nothing is excused by it."""
    yield _LONGER_THAN_IN_TIME
    world.closed(link, CloseCode.GOING_AWAY, "page closed")


def message(world: World, link: Link, direction: int, *, need_ack: bool = False) -> Said:
    """One way."""
    id_, exchange = link.next_id(direction), link.open_exchange()
    payload = envelope.encode("chat", {"text": "hello", "room": "lobby"})
    frame = MessageFrame(id=id_, payload=payload, need_ack=need_ack)
    return Said(world.record(link, direction, frame, exchange, endpoint="chat"), id_, exchange)


def _asked(world: World, link: Link, direction: int, *, id_: int | None = None) -> Said:
    exchange = link.open_exchange()
    frame = RequestFrame(
        id=id_ or link.next_id(direction), payload=envelope.encode(_ENDPOINT, {"query": "lamp"})
    )
    seq = world.record(link, direction, frame, exchange, endpoint=_ENDPOINT)
    return Said(seq, frame.id, exchange)


def _answered(world: World, link: Link, direction: int, to: Said, endpoint: str = _ENDPOINT) -> int:
    frame = ResponseFrame(
        id=link.next_id(direction), ref=to.id, payload=envelope.encode(endpoint, {"ok": True})
    )
    return world.record(link, direction, frame, to.exchange, endpoint=endpoint)


def _told(world: World, link: Link, direction: int, code: Service, about: Said, *, own: bool = False) -> int:
    frame = ServiceFrame(id=link.next_id(direction), code=code, ref=about.id, own=own)
    return world.record(link, direction, frame, about.exchange)


def _opened(world: World, link: Link, keys: tuple[int, ...] = ()) -> Said:
    """A message of the gateway's that announces files, or opens a stream."""
    id_, exchange = link.next_id(OUT), link.open_exchange()
    names = {key: (f"page-{key}.pdf", "application/pdf") for key in keys or (1,)}
    payload = envelope.encode("scan.download", {"pages": len(names)}, names=names)
    frame = MessageFrame(id=id_, payload=payload, expected=keys, streaming=not keys)
    return Said(world.record(link, OUT, frame, exchange, endpoint="scan.download"), id_, exchange)


def _sent(world: World, link: Link, to: Said, kind: BinaryKind, key: int, *, final: bool = False) -> int:
    data = world.dice.randbytes(world.dice.randint(100, 600))
    frame = BinaryFrame(id=link.next_id(OUT), ref=to.id, kind=kind, key=key, data=data, final=final)
    return world.record(link, OUT, frame, to.exchange)


def answered_twice(world: World) -> FaultStory:
    """A second answer to the same question."""
    link = joined(world)
    question = _asked(world, link, IN)
    yield world.latency(_ENDPOINT)
    first = _answered(world, link, OUT, question)
    yield world.latency(_ENDPOINT)
    second = _answered(world, link, OUT, question)
    yield from left(world, link)
    return Fault("mfp-answered-twice", (first, second))


def answered_after_end(world: World) -> FaultStory:
    """An answer to a question that the browser gave up."""
    link = joined(world)
    question = _asked(world, link, IN)
    yield 5 * SECOND
    code = world.dice.choice((Service.TIMEOUT, Service.ABORT))
    end = _told(world, link, IN, code, question, own=True)
    yield world.latency(_ENDPOINT)
    answer = _answered(world, link, OUT, question)
    yield from left(world, link)
    return Fault("mfp-answered-after-end", (end, answer))


def late_answer_untold(world: World) -> FaultStory:
    """The browser answers too late and nobody tells it."""
    link = joined(world)
    question = _asked(world, link, OUT)
    yield 2 * SECOND
    end = _told(world, link, OUT, Service.TIMEOUT, question, own=True)
    yield world.network()
    answer = _answered(world, link, IN, question)
    yield from left(world, link)
    return Fault("mfp-late-answer-untold", (end, answer))


def not_acked(world: World) -> FaultStory:
    """A message that asks for an ack in vain."""
    link = joined(world)
    yield world.network()
    asking = message(world, link, IN, need_ack=True)
    yield from left(world, link)
    return Fault("mfp-not-acked", (asking.seq,))


def acked_twice(world: World) -> FaultStory:
    """Two acks of one message."""
    link = joined(world)
    asking = message(world, link, IN, need_ack=True)
    first = _told(world, link, OUT, Service.ACK, asking)
    yield world.network()
    second = _told(world, link, OUT, Service.ACK, asking)
    yield from left(world, link)
    return Fault("mfp-acked-twice", (first, second))


def acked_unasked(world: World) -> FaultStory:
    """An ack of a message that asked for none."""
    link = joined(world)
    silent = message(world, link, IN)
    yield 50_000
    ack = _told(world, link, OUT, Service.ACK, silent)
    yield from left(world, link)
    return Fault("mfp-acked-unasked", (ack,))


def ping_unanswered(world: World) -> FaultStory:
    """Is anybody there? Silence."""
    link = joined(world)
    yield world.network()
    id_ = link.next_id(IN)
    frame = ServiceFrame(id=id_, code=Service.PING, ref=id_, own=True)
    ping = world.record(link, IN, frame, link.open_exchange())
    yield from left(world, link)
    return Fault("mfp-ping-unanswered", (ping,))


def id_reused(world: World) -> FaultStory:
    """A second question under the id of one that waits still."""
    link = joined(world)
    first = _asked(world, link, IN)
    yield MS
    second = _asked(world, link, IN, id_=first.id)
    yield world.latency(_ENDPOINT)
    _answered(world, link, OUT, first)
    _answered(world, link, OUT, second)
    yield from left(world, link)
    return Fault("mfp-id-reused", (first.seq, second.seq))


def chunk_after_end(world: World) -> FaultStory:
    """A stream of the gateway's goes on after its last frame."""
    link = joined(world)
    stream = _opened(world, link)
    yield MS
    _sent(world, link, stream, BinaryKind.STREAMING, 1)
    end = _sent(world, link, stream, BinaryKind.STREAMING, 1, final=True)
    yield MS
    _sent(world, link, stream, BinaryKind.STREAMING, 1)
    last = _sent(world, link, stream, BinaryKind.STREAMING, 1, final=True)
    yield from left(world, link)
    return Fault("mfp-chunk-after-end", (end, last))


def chunk_after_abort(world: World) -> FaultStory:
    """A stream of the gateway's goes on although the browser aborted it."""
    link = joined(world)
    stream = _opened(world, link)
    yield MS
    _sent(world, link, stream, BinaryKind.STREAMING, 1)
    yield world.network()
    abort = _told(world, link, IN, Service.ABORT, stream)
    _sent(world, link, stream, BinaryKind.STREAMING, 1)
    yield MS
    last = _sent(world, link, stream, BinaryKind.STREAMING, 1)
    yield from left(world, link)
    return Fault("mfp-chunk-after-abort", (abort, last))


def set_short(world: World) -> FaultStory:
    """Three files announced, two sent."""
    link = joined(world)
    opening = _opened(world, link, keys=(1, 2, 3))
    yield MS
    _sent(world, link, opening, BinaryKind.EXPECTED, 1)
    yield MS
    last = _sent(world, link, opening, BinaryKind.EXPECTED, 2, final=True)
    yield from left(world, link)
    return Fault("mfp-set-short", (opening.seq, last))


def key_twice(world: World) -> FaultStory:
    """One of the announced files comes again."""
    link = joined(world)
    opening = _opened(world, link, keys=(1, 2))
    yield MS
    first = _sent(world, link, opening, BinaryKind.EXPECTED, 1)
    yield MS
    second = _sent(world, link, opening, BinaryKind.EXPECTED, 1)
    _sent(world, link, opening, BinaryKind.EXPECTED, 2, final=True)
    yield from left(world, link)
    return Fault("mfp-key-twice", (first, second))


def request_streams(world: World) -> FaultStory:
    """A request that opens a stream; no bytes were recorded of it."""
    link = joined(world)
    frame = RequestFrame(id=link.next_id(IN), payload=envelope.encode(_ENDPOINT, {"query": "coat"}))
    exchange, raw = link.open_exchange(), codec.encode(frame)
    row = link.rows.frame(world.at, IN, frame, raw, exchange, endpoint=_ENDPOINT)
    question = Said(world.put(unrecorded(row, head=raw[0] | STREAM)), frame.id, exchange)
    yield world.latency(_ENDPOINT)
    _answered(world, link, OUT, question)
    yield from left(world, link)
    return Fault("mfp-request-streams", (question.seq,))


def answer_unasked(world: World) -> FaultStory:
    """An answer to a question that nobody asked."""
    link = joined(world)
    yield world.network()
    answer = _answered(world, link, OUT, Said(0, 77, NO_ID))
    yield from left(world, link)
    return Fault("mfp-answer-unasked", (answer,))


def user_changed(world: World) -> FaultStory:
    """The answer is recorded for somebody else than the question."""
    link = joined(world)
    question = _asked(world, link, IN)
    yield world.latency(_ENDPOINT)
    link.rows = LinkRows(link.link, link.user + 1)
    answer = _answered(world, link, OUT, question)
    link.rows = LinkRows(link.link, link.user)
    yield from left(world, link)
    return Fault("mfp-user-changed", (question.seq, answer))


def endpoint_changed(world: World) -> FaultStory:
    """The answer names another endpoint than the question."""
    link = joined(world)
    question = _asked(world, link, IN)
    yield world.latency(_ENDPOINT)
    answer = _answered(world, link, OUT, question, endpoint="translate")
    yield from left(world, link)
    return Fault("mfp-endpoint-changed", (question.seq, answer))


def zero_id(world: World) -> FaultStory:
    """A message with the id 0, or an unknown about it; no bytes were recorded of either."""
    link = joined(world)
    yield world.network()
    if world.dice.random() < 0.5:
        sent = MessageFrame(id=link.next_id(IN), payload=envelope.encode("chat", {"text": "hello"}))
        raw = codec.encode(sent)
        row = link.rows.frame(world.at, IN, sent, raw, link.open_exchange(), endpoint="chat")
        seq = world.put(unrecorded(row, id=0))
    else:
        told = ServiceFrame(id=link.next_id(OUT), code=Service.UNKNOWN, ref=1)
        row = link.rows.frame(world.at, OUT, told, codec.encode(told), NO_ID)
        seq = world.put(unrecorded(row, ref=0))
    yield from left(world, link)
    return Fault("mfp-zero-id", (seq,))


def used_after_close(world: World) -> FaultStory:
    """A message on a connection that is gone."""
    link = joined(world)
    message(world, link, OUT)
    yield SECOND
    closed = world.closed(link, CloseCode.OK, "")
    yield world.network()
    late = message(world, link, world.dice.choice((IN, OUT)))
    return Fault("link-used-after-close", (closed, late.seq))


FAULTS: Final[dict[str, Told]] = {
    "mfp-answered-twice": answered_twice,
    "mfp-answered-after-end": answered_after_end,
    "mfp-late-answer-untold": late_answer_untold,
    "mfp-not-acked": not_acked,
    "mfp-acked-twice": acked_twice,
    "mfp-acked-unasked": acked_unasked,
    "mfp-ping-unanswered": ping_unanswered,
    "mfp-id-reused": id_reused,
    "mfp-chunk-after-end": chunk_after_end,
    "mfp-chunk-after-abort": chunk_after_abort,
    "mfp-set-short": set_short,
    "mfp-key-twice": key_twice,
    "mfp-request-streams": request_streams,
    "mfp-answer-unasked": answer_unasked,
    "mfp-user-changed": user_changed,
    "mfp-endpoint-changed": endpoint_changed,
    "mfp-zero-id": zero_id,
    "link-used-after-close": used_after_close,
}
