"""Stories of files and streams that follow a message, in made-up traffic (spec/journal.md, section 9)."""

from typing import Final

from framehub.codes import BinaryKind, Service
from framehub.journal.traffic import IN, MS, OUT, Link, Story, World, service
from framehub.mfp import envelope
from framehub.mfp.frames import BinaryFrame, MessageFrame, ServiceFrame

_PDF: Final = "application/pdf"
_ENDPOINTS: Final = {IN: "scan.upload", OUT: "scan.ready"}


def announced(world: World, link: Link) -> Story:
    """A message that announces files, then the files; from either side."""
    dice = world.dice
    direction = IN if dice.random() < 0.7 else OUT
    keys = tuple(range(1, dice.randint(2, 4)))
    id_, exchange = link.next_id(direction), link.open_exchange()
    endpoint = _ENDPOINTS[direction]
    names = {key: (f"page-{key}.pdf", _PDF) for key in keys}
    payload = envelope.encode(endpoint, {"user": link.user}, names=names)
    frame = MessageFrame(id=id_, payload=payload, expected=keys)
    world.record(link, direction, frame, exchange, endpoint=endpoint)
    for key in keys:
        yield 10 * MS
        file = BinaryFrame(
            id=link.next_id(direction),
            ref=id_,
            kind=BinaryKind.EXPECTED,
            key=key,
            data=dice.randbytes(dice.randint(300, 4000)),
            final=key == keys[-1],
        )
        world.record(link, direction, file, exchange)


def incoming_stream(world: World, link: Link) -> Story:
    """A browser streams; now and then it gives up, or the gateway does."""
    return _stream(world, link, IN, "video.upload")


def outgoing_stream(world: World, link: Link) -> Story:
    """The gateway streams; now and then it gives up, or the browser does."""
    return _stream(world, link, OUT, "video.watch")


def _stream(world: World, link: Link, direction: int, endpoint: str) -> Story:
    dice = world.dice
    id_, exchange = link.next_id(direction), link.open_exchange()
    keys = tuple(range(1, dice.randint(2, 3)))
    names = {key: (f"clip-{key}.webm", "video/webm") for key in keys}
    payload = envelope.encode(endpoint, {"user": link.user}, names=names)
    need_ack = dice.random() < 0.3
    opening = MessageFrame(id=id_, payload=payload, streaming=True, need_ack=need_ack)
    world.record(link, direction, opening, exchange, endpoint=endpoint)
    if need_ack:
        yield from _acked(world, link, direction, id_, exchange)
    chunks = dice.randint(2, 12)
    aborted_at = dice.randrange(1, chunks) if dice.random() < 0.15 else 0
    asks = dice.random() < 0.3
    for number in range(chunks):
        yield 5 * MS
        if number and number == aborted_at:
            by = IN if dice.random() < 0.5 else OUT
            own = by == direction
            frame = ServiceFrame(id=link.next_id(by), code=Service.ABORT, ref=id_, own=own)
            world.record(link, by, frame, exchange)
            return
        chunk = _chunk(world, link.next_id(direction), id_, keys, is_final=number == chunks - 1, asks=asks)
        world.record(link, direction, chunk, exchange)
        if asks:
            yield from _acked(world, link, direction, chunk.id, exchange)


def _chunk(
    world: World, id_: int, ref: int, keys: tuple[int, ...], *, is_final: bool, asks: bool
) -> BinaryFrame:
    """A piece of a file, data that is none, or (at the end only) nothing."""
    dice = world.dice
    choice = dice.random()
    if is_final and choice < 0.3:
        return BinaryFrame(id=id_, ref=ref, need_ack=asks)
    data = dice.randbytes(dice.randint(200, 2000))
    if choice < 0.1:
        return BinaryFrame(id=id_, ref=ref, kind=BinaryKind.DATA, data=data, final=is_final, need_ack=asks)
    return BinaryFrame(
        id=id_,
        ref=ref,
        kind=BinaryKind.STREAMING,
        key=dice.choice(keys),
        data=data,
        final=is_final,
        need_ack=asks,
    )


def _acked(world: World, link: Link, direction: int, id_: int, exchange: bytes) -> Story:
    yield world.network() if direction == OUT else 50_000
    service(world, link, 1 - direction, Service.ACK, id_, exchange)
