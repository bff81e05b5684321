"""Faults of the hub: one story for each rule of spec/audit.md, section 4."""

from typing import Final

from framehub.codes import CloseCode, HubCommand, HubError, HubState
from framehub.journal.faults.fault import Fault, FaultStory, Told
from framehub.journal.hub_traffic import HubClient, HubService, Stream, command, ping
from framehub.journal.traffic import IN, MS, OUT, SECOND, USERS, World

_QUESTION: Final = b'{"city": "Bergen"}'
_ANSWER: Final = b'{"rain": true}'
_TIMEOUT_S: Final = 30
_IDS: Final = 2**30
"""The hub's numbers of these streams: far above those that other stories get."""


def _client(world: World, user: int | None = None) -> HubClient:
    dice = world.dice
    user = dice.randint(1, USERS) if user is None else user
    client = HubClient(dice.randbytes(8), version=dice.choice((1, 2)), user=user)
    world.opened(client)
    return client


def _service(world: World, number: int | None = None) -> HubService:
    number = world.dice.randint(20_000, 60_000) if number is None else number
    service = HubService(world.dice.randbytes(16), version=2, number=number, name=f"weather-{number}")
    service.come(world)
    return service


def _stream(world: World) -> Stream:
    service = _service(world)
    id_ = _IDS + world.dice.randrange(_IDS)
    return Stream(world, _client(world), service, id_, timeout_s=_TIMEOUT_S)


def _opened(stream: Stream) -> int:
    """The client's first frame, passed to the service; the number of the opening."""
    opening = stream.opened(_QUESTION)
    stream.given(_QUESTION)
    return opening


def _answered(stream: Stream, state: HubState = HubState.MESSAGE) -> int:
    """A frame of the service's, passed to the client; the number of the row there."""
    stream.said(state, _ANSWER)
    return stream.told(state, _ANSWER)


def unanswered(world: World) -> FaultStory:
    """A question that neither the service nor the hub ever answers."""
    stream = _stream(world)
    yield world.network()
    opening = _opened(stream)
    return Fault("hub-unanswered", (opening,))


def client_gone_untold(world: World) -> FaultStory:
    """The client goes in the middle of a stream, and the service does not hear of it."""
    stream = _stream(world)
    yield world.network()
    opening = _opened(stream)
    yield 40 * MS
    _answered(stream)
    yield SECOND
    closed = world.closed(stream.client, CloseCode.GOING_AWAY, "page closed")
    return Fault("hub-client-gone-untold", (opening, closed))


def service_gone_untold(world: World) -> FaultStory:
    """The service goes in the middle of a stream, and the client does not hear of it."""
    stream = _stream(world)
    yield world.network()
    opening = _opened(stream)
    yield 40 * MS
    _answered(stream)
    yield SECOND
    closed = world.put(stream.service.rows.closed(world.at))
    return Fault("hub-service-gone-untold", (opening, closed))


def killed_untold(world: World) -> FaultStory:
    """The hub kills a stream and tells one of its two ends."""
    stream = _stream(world)
    yield world.network()
    _opened(stream)
    yield 40 * MS
    kill = world.dice.choice((stream.killed_at_client, stream.killed_at_service))
    error = kill(world.dice.choice((HubError.LIMIT, HubError.BUSY, HubError.INTERNAL)), b"killed")
    return Fault("hub-killed-untold", (error,))


def timeout_early(world: World) -> FaultStory:
    """A stream of thirty seconds times out after five."""
    stream = _stream(world)
    yield world.network()
    since = _opened(stream)
    if world.dice.random() < 0.5:
        yield 40 * MS
        since = _answered(stream)
        stream.came(HubState.MESSAGE, _QUESTION)
        stream.passed(HubState.MESSAGE, _QUESTION)
    yield 5 * SECOND
    error = stream.killed_at_client(HubError.TIMEOUT, b"no answer")
    stream.killed_at_service(HubError.TIMEOUT, b"no answer")
    return Fault("hub-timeout-early", (since, error))


def ping_unanswered(world: World) -> FaultStory:
    """A PING without a PONG."""
    client = _client(world)
    yield world.network()
    asked, _ = ping(world, client, IN, b"still there?")
    return Fault("hub-ping-unanswered", (asked,))


def pong_differs(world: World) -> FaultStory:
    """A PONG that says something else than the PING, or a second one."""
    client = _client(world)
    yield world.network()
    asked, exchange = ping(world, client, IN, b"still there?")
    said = b"yes"
    if world.dice.random() < 0.5:
        said = b"still there?"
        command(world, client, OUT, HubCommand.PONG, said, exchange)
        yield MS
    pong = command(world, client, OUT, HubCommand.PONG, said, exchange)
    return Fault("hub-pong-differs", (asked, pong))


def close_unpassed(world: World) -> FaultStory:
    """A CLOSE that is not passed on, or not echoed."""
    stream = _stream(world)
    yield world.network()
    _opened(stream)
    yield 40 * MS
    _answered(stream)
    yield SECOND
    close = stream.came(HubState.COMMAND, b"", HubCommand.CLOSE)
    tell = world.dice.choice((stream.told, stream.passed))
    tell(HubState.COMMAND, b"", HubCommand.CLOSE)
    return Fault("hub-close-unpassed", (close,))


def foreign_client(world: World) -> FaultStory:
    """Somebody's other connection speaks on a stream that is not its own."""
    stream = _stream(world)
    owner, other = stream.client, _client(world, stream.client.user)
    yield world.network()
    opening = _opened(stream)
    yield world.network()
    stream.client = other
    row = stream.came(HubState.MESSAGE, _QUESTION)
    stream.client = owner
    stream.passed(HubState.MESSAGE, _QUESTION)
    yield 40 * MS
    _answered(stream, HubState.LAST)
    return Fault("hub-foreign-client", (opening, row))


def foreign_service(world: World) -> FaultStory:
    """Another instance answers on a stream that was not given to it."""
    stream = _stream(world)
    owner, other = stream.service, _service(world, stream.service.number)
    yield world.network()
    stream.opened(_QUESTION)
    given = stream.given(_QUESTION)
    yield 40 * MS
    stream.service = other
    row = stream.said(HubState.MESSAGE, _ANSWER)
    stream.service = owner
    stream.told(HubState.MESSAGE, _ANSWER)
    yield 40 * MS
    _answered(stream, HubState.LAST)
    return Fault("hub-foreign-service", (given, row))


def dead_stream(world: World) -> FaultStory:
    """A message of the service's reaches the client after the last one."""
    stream = _stream(world)
    yield world.network()
    _opened(stream)
    yield 40 * MS
    end = _answered(stream, HubState.LAST)
    yield 40 * MS
    _answered(stream)
    late = _answered(stream)
    return Fault("hub-dead-stream", (end, late))


def reopened(world: World) -> FaultStory:
    """A client opens a stream under a number that it has used, and is let through."""
    stream = _stream(world)
    yield world.network()
    first = _opened(stream)
    yield 40 * MS
    _answered(stream, HubState.LAST)
    yield world.network()
    second = stream.opened(_QUESTION)
    return Fault("hub-reopened", (first, second))


def lost(world: World) -> FaultStory:
    """Of two frames of the service's the client gets the last only."""
    stream = _stream(world)
    yield world.network()
    opening = _opened(stream)
    yield 40 * MS
    stream.said(HubState.MESSAGE, _ANSWER)
    yield 40 * MS
    end = _answered(stream, HubState.LAST)
    return Fault("hub-lost", (opening, end))


def user_changed(world: World) -> FaultStory:
    """The service is told of another user than the client's."""
    stream = _stream(world)
    yield world.network()
    opening = stream.opened(_QUESTION)
    stream.client.user += 1
    given = stream.given(_QUESTION)
    stream.client.user -= 1
    yield 40 * MS
    _answered(stream, HubState.LAST)
    return Fault("hub-user-changed", (opening, given))


def after_last(world: World) -> FaultStory:
    """The client goes on after its last frame, and the hub passes it on."""
    stream = _stream(world)
    yield world.network()
    _opened(stream)
    yield world.network()
    stream.came(HubState.LAST, _QUESTION)
    last = stream.passed(HubState.LAST, _QUESTION)
    yield world.network()
    stream.came(HubState.MESSAGE, _QUESTION)
    late = stream.passed(HubState.MESSAGE, _QUESTION)
    yield 40 * MS
    _answered(stream, HubState.LAST)
    return Fault("hub-after-last", (last, late))


def wrong_state(world: World) -> FaultStory:
    """A stream error, which is the hub's alone to say, from the client or the service."""
    stream = _stream(world)
    yield world.network()
    _opened(stream)
    yield 40 * MS
    say = world.dice.choice((stream.came, stream.said))
    row = say(HubState.STREAM_ERROR, b"busy", HubError.BUSY)
    yield 40 * MS
    _answered(stream, HubState.LAST)
    return Fault("hub-wrong-state", (row,))


FAULTS: Final[dict[str, Told]] = {
    "hub-unanswered": unanswered,
    "hub-client-gone-untold": client_gone_untold,
    "hub-service-gone-untold": service_gone_untold,
    "hub-killed-untold": killed_untold,
    "hub-timeout-early": timeout_early,
    "hub-ping-unanswered": ping_unanswered,
    "hub-pong-differs": pong_differs,
    "hub-close-unpassed": close_unpassed,
    "hub-foreign-client": foreign_client,
    "hub-foreign-service": foreign_service,
    "hub-dead-stream": dead_stream,
    "hub-reopened": reopened,
    "hub-lost": lost,
    "hub-user-changed": user_changed,
    "hub-after-last": after_last,
    "hub-wrong-state": wrong_state,
}
