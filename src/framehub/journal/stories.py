"""The stories that made-up traffic is woven from: one function each (spec/journal.md, section 9)."""

from collections.abc import Callable, Iterator
from typing import Any, Final, TypeAlias

from framehub.codes import CloseCode, ErrorCode, Service
from framehub.journal import hub_stories, rpc_stories
from framehub.journal.record import Row
from framehub.journal.rpc_stories import function_request
from framehub.journal.stream_stories import announced, incoming_stream, outgoing_stream
from framehub.journal.traffic import (
    ENDPOINTS,
    IN,
    MS,
    OUT,
    SECOND,
    USERS,
    Link,
    Story,
    World,
    asked,
    counted,
    pick,
    service,
)
from framehub.mfp import envelope
from framehub.mfp.checksum import BY_FLAG, Checksums
from framehub.mfp.frames import MessageFrame, RequestFrame, ResponseFrame, ServiceFrame

Told: TypeAlias = Callable[[World, Link], Story]

LINKS: Final = 48
"""Browsers connected at any time."""

_SUMMED: Final = Checksums(mode="always")
_NAMES: Final = [name for name, _, _ in ENDPOINTS]
_WEIGHTS: Final = [sum(weight for _, weight, _ in ENDPOINTS[: n + 1]) for n in range(len(ENDPOINTS))]
_FAILURES: Final = (
    {"code": ErrorCode.FUNCTION_FAILED, "message": "division by zero"},
    {"code": ErrorCode.FORBIDDEN, "message": "not for this user"},
    {"code": ErrorCode.BUSY, "message": "try again later"},
    {"reason": "out of stock"},
    "not allowed today",
)
_REFUSED: Final = (
    (b"\x00\x00\x00\x00\x01", "sub-protocol 0 is not in use at byte 0"),
    (b"\x25\x00\x00\x00\x09\x00\x00\x00\x07", "service code 5 is not in use at byte 0"),
    (b"\x61\x00\x00\x00", "a frame has at least 5 bytes, this one 4 at byte 4"),
)


def conversations(seed: int) -> Iterator[list[Row]]:
    """Rows without end, a few at a time, in the order of their times."""
    world = World(seed)
    begin(world)
    while True:
        world.step()
        if world.tape:
            rows, world.tape = world.tape, []
            yield rows


def begin(world: World) -> None:
    """All who make traffic come; once ``world.ending`` is set they go again."""
    rpc_stories.begin(world)
    hub_stories.begin(world)
    for _ in range(LINKS):
        world.tell(session(world), after=world.dice.randrange(5 * SECOND))


def session(world: World) -> Story:
    """A browser comes, does things for a while, goes; another takes its place."""
    dice = world.dice
    user = 0 if dice.random() < 0.1 else dice.randint(1, USERS)
    link = Link(dice.randbytes(8), user, _SUMMED if dice.random() < 0.15 else BY_FLAG)
    world.visitors += 1
    world.opened(link)
    for _ in range(dice.randint(20, 200)):
        yield int(dice.expovariate(1.0) * SECOND)
        if world.ending:
            break
        story = pick(dice, _STORIES, _STORY_WEIGHTS)
        world.tell(counted(story(world, link), link))
    while link.running:
        yield 250 * MS
    code, reason = dice.choice(((CloseCode.OK, None), (CloseCode.GOING_AWAY, "page closed")))
    world.closed(link, code, reason or "")
    world.visitors -= 1
    if not world.ending:
        world.tell(session(world), after=dice.randrange(SECOND))


def _ask(
    world: World, link: Link, direction: int, *, files: int = 0, need_ack: bool = False
) -> tuple[str, int, bytes]:
    """Record a request; its endpoint, id and exchange."""
    dice = world.dice
    endpoint = "resize" if files else pick(dice, _NAMES, _WEIGHTS)
    id_ = link.next_id(direction)
    attached = tuple((key, dice.randbytes(dice.randint(200, 3000))) for key in range(1, files + 1))
    names = {key: (f"photo-{key}.jpg", "image/jpeg") for key, _ in attached}
    payload = envelope.encode(endpoint, asked(dice, endpoint, link.user), names=names or None)
    exchange = link.open_exchange()
    frame = RequestFrame(id=id_, payload=payload, files=attached, need_ack=need_ack)
    world.record(link, direction, frame, exchange, endpoint=endpoint)
    return endpoint, id_, exchange


def _answer(
    world: World,
    link: Link,
    direction: int,
    asked_: tuple[str, int, bytes],
    *,
    error: Any = None,
    files: int = 0,
    need_ack: bool = False,
) -> int:
    """Record the response; its id."""
    endpoint, ref, exchange = asked_
    dice = world.dice
    id_ = link.next_id(direction)
    attached = tuple((key, dice.randbytes(dice.randint(500, 4000))) for key in range(1, files + 1))
    names = {key: (f"result-{key}.png", "image/png") for key, _ in attached}
    if error is None:
        data = {"ok": True, "count": dice.randint(0, 40), "took": endpoint}
        payload = envelope.encode(endpoint, data, names=names or None)
        told = None
    else:
        payload = envelope.encode(endpoint, error=error)
        told = str(error["code"]) if isinstance(error, dict) and "code" in error else "application"
    frame = ResponseFrame(id=id_, ref=ref, payload=payload, files=attached, need_ack=need_ack)
    world.record(link, direction, frame, exchange, endpoint=endpoint, error=told)
    return id_


def request(world: World, link: Link) -> Story:
    """A question and its answer."""
    question = _ask(world, link, IN)
    yield world.latency(question[0])
    _answer(world, link, OUT, question)


def failing_request(world: World, link: Link) -> Story:
    """A question answered with an error, the library's or the application's."""
    question = _ask(world, link, IN)
    yield world.latency(question[0])
    _answer(world, link, OUT, question, error=world.dice.choice(_FAILURES))


def acknowledged_request(world: World, link: Link) -> Story:
    """A question and an answer that both ask for an ack."""
    question = _ask(world, link, IN, need_ack=True)
    service(world, link, OUT, Service.ACK, question[1], question[2])
    yield world.latency(question[0])
    answer = _answer(world, link, OUT, question, need_ack=True)
    yield world.network()
    service(world, link, IN, Service.ACK, answer, question[2])


def upload(world: World, link: Link) -> Story:
    """Files in the question, a file in the answer."""
    question = _ask(world, link, IN, files=world.dice.randint(1, 3))
    yield world.latency(question[0])
    _answer(world, link, OUT, question, files=1)


def server_request(world: World, link: Link) -> Story:
    """The gateway asks the browser."""
    question = _ask(world, link, OUT)
    yield world.network()
    _answer(world, link, IN, question)


def timeout(world: World, link: Link) -> Story:
    """The browser gives up; the gateway learns it before it has answered."""
    question = _ask(world, link, IN)
    yield 5 * SECOND
    frame = ServiceFrame(id=link.next_id(IN), code=Service.TIMEOUT, ref=question[1], own=True)
    world.record(link, IN, frame, question[2])


def late_answer(world: World, link: Link) -> Story:
    """The gateway gives up on the browser; its answer comes too late and is unknown by then."""
    question = _ask(world, link, OUT)
    yield 2 * SECOND
    frame = ServiceFrame(id=link.next_id(OUT), code=Service.TIMEOUT, ref=question[1], own=True)
    world.record(link, OUT, frame, question[2])
    yield world.network()
    answer = _answer(world, link, IN, question)
    service(world, link, OUT, Service.UNKNOWN, answer, question[2])


def abort(world: World, link: Link) -> Story:
    """The browser cancels, or the gateway refuses."""
    question = _ask(world, link, IN)
    yield world.latency(question[0]) // 2
    if world.dice.random() < 0.5:
        frame = ServiceFrame(id=link.next_id(IN), code=Service.ABORT, ref=question[1], own=True)
        world.record(link, IN, frame, question[2])
    else:
        service(world, link, OUT, Service.ABORT, question[1], question[2])


def message(world: World, link: Link) -> Story:
    """One way, either way; some ask for an ack."""
    direction = IN if world.dice.random() < 0.6 else OUT
    need_ack = world.dice.random() < 0.6
    id_, exchange = link.next_id(direction), link.open_exchange()
    payload = envelope.encode("chat", asked(world.dice, "chat", link.user))
    frame = MessageFrame(id=id_, payload=payload, need_ack=need_ack)
    world.record(link, direction, frame, exchange, endpoint="chat")
    if need_ack:
        yield world.network() if direction == OUT else 50_000
        service(world, link, 1 - direction, Service.ACK, id_, exchange)


def ping(world: World, link: Link) -> Story:
    """Is anybody there? Yes."""
    direction = IN if world.dice.random() < 0.5 else OUT
    id_, exchange = link.next_id(direction), link.open_exchange()
    frame = ServiceFrame(id=id_, code=Service.PING, ref=id_, own=True)
    world.record(link, direction, frame, exchange)
    yield world.network() if direction == OUT else 50_000
    service(world, link, 1 - direction, Service.ACK, id_, exchange)


def refused(world: World, link: Link) -> Story:
    """Bytes that are no frame."""
    raw, reason = world.dice.choice(_REFUSED)
    world.refused(link, raw, reason)
    yield from ()


_WOVEN: Final[tuple[tuple[Told, int], ...]] = (
    (request, 600),
    (message, 150),
    (failing_request, 60),
    (acknowledged_request, 50),
    (ping, 40),
    (upload, 30),
    (function_request, 28),
    (server_request, 25),
    (announced, 15),
    (incoming_stream, 8),
    (outgoing_stream, 8),
    (timeout, 10),
    (abort, 10),
    (late_answer, 6),
    (refused, 4),
)
_STORIES: Final = [story for story, _ in _WOVEN]
_STORY_WEIGHTS: Final = [sum(weight for _, weight in _WOVEN[: n + 1]) for n in range(len(_WOVEN))]
