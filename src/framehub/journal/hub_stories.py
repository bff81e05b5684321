"""Stories of the hub in made-up traffic (spec/journal.md, section 9; spec/hub.md)."""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from framehub.codes import CloseCode, HubCommand, HubError, HubState
from framehub.hub.headers import HubFrame, Settings
from framehub.journal.hub_traffic import (
    HubClient,
    HubService,
    Stream,
    command,
    error_out,
    ping,
    refusal,
)
from framehub.journal.traffic import IN, MS, OUT, SECOND, USERS, HubLink, Story, World, counted, pick

Streamed: TypeAlias = Callable[[World, HubClient], Story]

CLIENTS: Final = 8
OFFERED: Final = (
    # number, name, version of each of its instances
    (1, "weather", (2, 2)),
    (2, "quotes", (1,)),
    (3, "mixer", (2, 1)),
)
_HEARTBEAT: Final = 10 * SECOND
_TIMEOUTS: Final = (5, 10, 30)
"""In seconds, as a V1 client asks for them."""
_KILLS: Final = (HubError.BUSY, HubError.BUSY, HubError.LIMIT, HubError.INTERNAL)
_CITIES: Final = (b"Bern", b"Oslo", b"Quito", b"Hanoi", b"Perth")
_FAILED: Final = b'{"code":"function_failed","message":"no such city"}'
_CLOSE: Final = HubCommand.CLOSE
_NO_STREAM: Final = 0xFFFF0
"""A number that no client comes to."""
_NO_FRAME: Final = {1: (b"\xff\xff\x07\0", 2), 2: (b"\0\x0f\xff\xf0\x07\0", 4)}
"""By version, bytes of a state that is not in use, and where that stands."""
FIRST, MESSAGE, LAST, COMMAND = HubState.FIRST, HubState.MESSAGE, HubState.LAST, HubState.COMMAND


def begin(world: World) -> None:
    """Services come, and clients."""
    for number, name, versions in OFFERED:
        for version in versions:
            world.tell(serving(world, _service(world, number, name, version)))
    for _ in range(CLIENTS):
        world.tell(visiting(world), after=world.dice.randrange(SECOND, 4 * SECOND))


def serving(world: World, service: HubService) -> Story:
    """A service comes, is asked now and then whether it lives, and goes when no client is left."""
    service.come(world)
    world.services.append(service)
    while not world.ending or world.visitors or service.running:
        yield _HEARTBEAT
        direction = OUT if world.dice.random() < 0.8 else IN
        yield from _pinged(world, service, direction, 300_000)
    world.services.remove(service)
    _goodbye(world, service)


def visiting(world: World) -> Story:
    """A client comes, opens streams for a while, goes; another takes its place."""
    dice = world.dice
    client = _client(world)
    world.visitors += 1
    world.opened(client)
    if dice.random() < 0.3:
        _configure(world, client)
    for _ in range(dice.randint(20, 200)):
        yield int(dice.expovariate(0.46) * SECOND)
        if world.ending:
            break
        story = pick(dice, _STORIES, _STORY_WEIGHTS)
        world.tell(counted(story(world, client), client))
    while client.running:
        yield 250 * MS
    if dice.random() < 0.3:
        command(world, client, IN, _CLOSE)
    world.closed(client, CloseCode.OK)
    world.visitors -= 1
    if not world.ending:
        world.tell(visiting(world), after=dice.randrange(SECOND))


# --- stories of a client -------------------------------------------------------------------------------


def one_shot(world: World, client: HubClient) -> Story:
    """A question and its answer."""
    stream = _open(world, client)
    yield _work(world)
    _ends(stream, LAST, _answer(world))


def conversation(world: World, client: HubClient) -> Story:
    """Several messages each way; the client may say that it is done."""
    stream = _open(world, client)
    yield from _talk(stream, world.dice.randint(1, 4))
    if world.dice.random() < 0.5:
        stream.came(LAST)
        stream.passed(LAST)
        yield _work(world)
    _ends(stream, LAST, _answer(world))


def service_error(world: World, client: HubClient) -> Story:
    """The service cannot do it."""
    stream = _open(world, client)
    yield _work(world)
    _ends(stream, HubState.SERVICE_ERROR, _FAILED)


def timeout(world: World, client: HubClient) -> Story:
    """The service does not answer in time; both ends are told."""
    stream = _open(world, client)
    if world.dice.random() < 0.5:
        yield from _talk(stream, 1)
    yield stream.timeout_s * SECOND
    _kill(stream, HubError.TIMEOUT, b"no answer in time")


def killed(world: World, client: HubClient) -> Story:
    """The hub cannot go on with it; both ends are told."""
    stream = _open(world, client)
    yield from _talk(stream, 1)
    _kill(stream, world.dice.choice(_KILLS), b"")


def closed(world: World, client: HubClient) -> Story:
    """CLOSE from either side reaches the other and comes back."""
    stream = _open(world, client)
    yield from _talk(stream, world.dice.randint(0, 2))
    if world.dice.random() < 0.7:
        stream.came(COMMAND, b"", _CLOSE)
        stream.passed(COMMAND, b"", _CLOSE)
        stream.told(COMMAND, b"", _CLOSE)
    else:
        stream.said(COMMAND, b"", _CLOSE)
        stream.told(COMMAND, b"", _CLOSE)
        stream.passed(COMMAND, b"", _CLOSE)
    _done(stream)


def interface(world: World, client: HubClient) -> Story:
    """Function 0 is answered by the hub, from what the service said of itself."""
    service = world.dice.choice(world.services)
    stream = Stream(world, client, service, 0, function=0, timeout_s=client.timeout_s)
    stream.opened(b"")
    stream.told(LAST, service.interface)
    yield from ()


def pinged(world: World, client: HubClient) -> Story:
    """Is anybody there? Yes."""
    if world.dice.random() < 0.5:
        yield from _pinged(world, client, IN, 50_000)
    else:
        yield from _pinged(world, client, OUT, world.network())


def client_gone(world: World, client: HubClient) -> Story:
    """A client goes in the middle of its streams; their services are told."""
    stray = _client(world, client.user)
    world.opened(stray)
    streams = [_open(world, stray) for _ in range(world.dice.randint(1, 3))]
    yield from _talk(streams[0], 1)
    world.closed(stray, CloseCode.GOING_AWAY, "page closed")
    for stream in streams:
        stream.killed_at_service(HubError.CLIENT_DISCONNECT, b"the client has gone")
        stream.service.running -= 1


def service_gone(world: World, client: HubClient) -> Story:
    """A service goes in the middle of its streams; their clients are told. It comes back on a new link."""
    number, name, versions = world.dice.choice(OFFERED)
    mortal = _service(world, number, name, versions[0])
    mortal.come(world)
    yield 20 * MS
    streams = [_open(world, client, mortal) for _ in range(world.dice.randint(1, 3))]
    yield from _talk(streams[0], 1)
    yield 200 * MS
    world.closed(mortal)
    for stream in streams:
        stream.killed_at_client(HubError.SERVICE_DISCONNECT, b"the service has gone")
    yield 3 * SECOND
    again = _service(world, number, name, versions[0])
    again.come(world)
    yield 20 * MS
    stream = _open(world, client, again)
    yield _work(world)
    _ends(stream, LAST, _answer(world))
    yield SECOND
    _goodbye(world, again)


def refused(world: World, client: HubClient) -> Story:
    """Frames of a client's that are not taken."""
    case = world.dice.randrange(6)
    if case == 0:
        client.streams += 1
        frame = _first(client, client.streams, 999)
        refusal(world, client, frame, HubError.ENDPOINT_NOT_FOUND, service=999, function=1)
    elif case == 1:
        raw, where = _NO_FRAME[client.version]
        world.hub_refused(client, raw, f"bad_frame: state 7 is not in use at byte {where}")
        error_out(world, client, _NO_STREAM, HubError.BAD_FRAME, b"state 7 is not in use")
    elif case == 2:
        frame = HubFrame(_NO_STREAM, COMMAND, HubCommand.PING)
        refusal(world, client, frame, HubError.BAD_FRAME, b"PING belongs on stream 0")
    elif case == 3:
        stream = _open(world, client)
        stream.came(LAST)
        stream.passed(LAST)
        yield world.network()
        frame = HubFrame(stream.number, MESSAGE, stream.function, b"one more")
        world.hub(client, IN, frame, refused="bad_frame", **stream.labels)
        stream.told(HubState.STREAM_ERROR, b"its last frame has come", HubError.BAD_FRAME)
        yield _work(world)
        _ends(stream, LAST, _answer(world))
    else:
        stream = _open(world, client)
        yield _work(world)
        _ends(stream, LAST, _answer(world))
        yield world.network()
        if case == 4:
            frame = HubFrame(stream.number, MESSAGE, stream.function, b"too late")
            refusal(world, client, frame, HubError.STREAM_NOT_FOUND)
        else:
            frame = _first(client, stream.number, stream.service.number)
            labels = {**stream.labels, "function": frame.parameter}
            refusal(world, client, frame, HubError.WS_STREAM_COLLISION, **labels)


def refused_service(world: World, client: HubClient) -> Story:
    """Frames of a service's that are not taken: to a stream that has ended, or is another's."""
    stream = _open(world, client)
    yield _work(world)
    here: dict[str, Any] = {"service": stream.service.number, "endpoint": stream.service.name}
    if world.dice.random() < 0.5:
        _ends(stream, LAST, _answer(world))
        frame = HubFrame(stream.id, MESSAGE, 0, b"one more")
        refusal(world, stream.service, frame, HubError.STREAM_NOT_FOUND, **here)
        return
    others = [s for s in world.services if s is not stream.service and s.version == stream.service.version]
    for other in others[:1]:
        there: dict[str, Any] = {"service": other.number, "endpoint": other.name}
        frame = HubFrame(stream.id, MESSAGE, 0, b"not mine")
        refusal(world, other, frame, HubError.ZMQ_STREAM_COLLISION, **there)
    _ends(stream, LAST, _answer(world))


# --- parts of stories ----------------------------------------------------------------------------------


def _client(world: World, user: int | None = None) -> HubClient:
    dice = world.dice
    if user is None:
        user = 0 if dice.random() < 0.1 else dice.randint(1, USERS)
    return HubClient(dice.randbytes(8), version=1 if dice.random() < 0.3 else 2, user=user)


def _service(world: World, number: int, name: str, version: int) -> HubService:
    return HubService(b"\x7f" + world.dice.randbytes(15), version=version, number=number, name=name)


def _configure(world: World, client: HubClient) -> None:
    """A client sets its timeout."""
    client.timeout_s = 10
    settings = Settings(client.version, 1000 * client.timeout_s)
    world.hub(client, IN, HubFrame(0, FIRST, 0, b"", None, settings))
    command(world, client, OUT, HubCommand.READY, settings.encode())


def _first(client: HubClient, number: int, service: int) -> HubFrame:
    if client.version == 1:
        return HubFrame(number, FIRST, 1, b"{}", None, Settings(1, 10_000, service))
    return HubFrame(number, FIRST, 1, b"{}", service)


def _open(world: World, client: HubClient, service: HubService | None = None) -> Stream:
    """Open a stream: to this service, or to the instance of some service that has the fewest."""
    dice = world.dice
    if service is None:
        wanted = dice.choice(OFFERED)[0]
        service = min((s for s in world.services if s.number == wanted), key=_load)
    service.running += 1
    timeout_s = dice.choice(_TIMEOUTS) if client.version == 1 else client.timeout_s
    stream = Stream(world, client, service, function=dice.randint(1, 4), timeout_s=timeout_s)
    body = b'{"city":"%s","day":%d}' % (dice.choice(_CITIES), dice.randrange(365))
    stream.opened(body)
    stream.given(body)
    return stream


def _load(service: HubService) -> int:
    return service.running


def _talk(stream: Stream, rounds: int) -> Story:
    """The service answers, the client goes on; the service has the last word."""
    world = stream.world
    for number in range(rounds):
        yield _work(world)
        body = _answer(world)
        stream.said(MESSAGE, body)
        stream.told(MESSAGE, body)
        if number < rounds - 1:
            yield world.network()
            more = b'{"more":%d}' % number
            stream.came(MESSAGE, more)
            stream.passed(MESSAGE, more)


def _ends(stream: Stream, state: HubState, body: bytes) -> None:
    stream.said(state, body)
    stream.told(state, body)
    _done(stream)


def _kill(stream: Stream, code: HubError, text: bytes) -> None:
    stream.killed_at_client(code, text)
    stream.killed_at_service(code, text)
    _done(stream)


def _done(stream: Stream) -> None:
    stream.service.running -= 1


def _goodbye(world: World, service: HubService) -> None:
    command(world, service, IN, _CLOSE)
    world.closed(service)


def _pinged(world: World, link: HubLink, direction: int, wait: int) -> Story:
    body = world.dice.randbytes(4) if world.dice.random() < 0.8 else b""
    _, exchange = ping(world, link, direction, body)
    yield wait
    command(world, link, 1 - direction, HubCommand.PONG, body, exchange)


def _work(world: World) -> int:
    """How long a service takes."""
    return int(world.dice.lognormvariate(2.5, 0.5) * MS) + 300_000


def _answer(world: World) -> bytes:
    return b'{"degrees":%d,"rain":%d}' % (world.dice.randrange(-9, 36), world.dice.randrange(101))


_WOVEN: Final[tuple[tuple[Streamed, int], ...]] = (
    (one_shot, 500),
    (conversation, 250),
    (pinged, 80),
    (interface, 40),
    (service_error, 40),
    (closed, 40),
    (refused, 30),
    (timeout, 15),
    (client_gone, 15),
    (service_gone, 10),
    (refused_service, 10),
    (killed, 8),
)
_STORIES: Final = [story for story, _ in _WOVEN]
_STORY_WEIGHTS: Final = [sum(weight for _, weight in _WOVEN[: n + 1]) for n in range(len(_WOVEN))]
