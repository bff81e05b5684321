"""One fault each, to be put into a switch: see ``mutants``."""

from collections import deque
from types import SimpleNamespace
from typing import Any

from framehub.codes import HubCommand, HubError, HubState
from framehub.hub.board import Board, cost
from framehub.hub.from_clients import FromClients
from framehub.hub.from_services import FromServices
from framehub.hub.headers import HubFrame, version_shown
from framehub.hub.holding import Holding
from framehub.hub.numbers import Numbers
from framehub.hub.parties import Client, Instance, Stream
from framehub.hub.settings import HubSettings
from framehub.hub.timers import Timers
from framehub.hub.used import UsedNumbers


def nothing(*_: object, **__: object) -> None:
    """Does nothing."""


def always(*_: object, **__: object) -> bool:
    return True


def never(*_: object, **__: object) -> bool:
    return False


# --- clients -----------------------------------------------------------------------------------------------

_client_says = FromClients.says
_on_stream = FromClients._on_stream
_client_link = FromClients._about_link
_refuse = FromClients._refuse


def trusts_any_client(self: FromClients, client: Client, frame: HubFrame, now: float) -> Any:
    """Takes a frame for whoever has a stream of that number."""
    if frame.stream not in client.streams:
        for stream in self._board.streams.values():
            if stream.id == frame.stream:
                return _on_stream(self, stream.client, frame, now)
    return _on_stream(self, client, frame, now)


def asks_anew(self: FromClients, client: Client, data: bytes, now: float) -> Any:
    """Every frame of a client's gives its service the whole time again."""
    about = _client_says(self, client, data, now)
    if isinstance(about, Stream) and about.unanswered is not None:
        about.unanswered = now
    return about


def takes_after_last(self: FromClients, client: Client, frame: HubFrame, now: float) -> Any:
    """Takes what comes after the client's last frame."""
    stream = client.streams.get(frame.stream)
    if stream is not None:
        stream.is_done = False
    return _on_stream(self, client, frame, now)


def closes_all(self: FromClients, client: Client, frame: HubFrame, now: float) -> Any:
    """CLOSE closes all streams of the client's."""
    about = _on_stream(self, client, frame, now)
    if frame.state is HubState.COMMAND and isinstance(about, Stream):
        for stream in list(client.streams.values()):
            self._board.close(stream, now)
    return about


def pongs_empty(self: FromClients, client: Client, frame: HubFrame, now: float) -> Any:
    """PONG without what the PING said."""
    if frame.state is HubState.COMMAND:
        frame = HubFrame(frame.stream, frame.state, frame.parameter)
    return _client_link(self, client, frame, now)


def refuses_silently(self: FromClients, *about: Any, **more: Any) -> str:
    """Says nothing to a client whose stream is not there."""
    text = _refuse(self, *about, **more)
    if text.startswith("stream_not_found"):
        self._board.to_clients.pop()
    return text


# --- services ----------------------------------------------------------------------------------------------

_long_way = FromServices._long_way
_spoken = FromServices._on_stream
_link = FromServices._about_link
_service_says = FromServices.says
_service_tick = FromServices.tick
_stranger = FromServices._stranger
_configure = FromServices._configure


def trusts_any_service(self: FromServices, instance: Instance, data: bytes, now: float) -> Any:
    """Takes a frame for any stream that there is."""
    if version_shown(data) is not None:
        return _long_way(self, instance, data, now)
    own = instance.streams
    instance.streams = {**self._board.streams}
    try:
        return _long_way(self, instance, data, now)
    finally:
        instance.streams = {number: stream for number, stream in own.items() if not stream.is_over}


def never_answered(self: FromServices, identity: bytes, parts: list[bytes], now: float) -> Any:
    """An answer does not count."""
    instance = self._board.instances.get(identity)
    since = {stream: stream.unanswered for stream in instance.streams.values()} if instance else {}
    about = _service_says(self, identity, parts, now)
    if isinstance(about, Stream) and since.get(about) is not None:
        about.unanswered = since[about]
    return about


def loses_parameters(self: FromServices, stream: Stream, frame: HubFrame, now: float) -> Any:
    """Parameters of last frames are lost."""
    if frame.state is HubState.LAST:
        frame = HubFrame(frame.stream, frame.state, 0, frame.body)
    return _spoken(self, stream, frame, now)


def never_leaves(self: FromServices, instance: Instance, frame: HubFrame, now: float) -> Any:
    """A goodbye is not heard."""
    about = _link(self, instance, frame, now)
    instance.is_leaving = False
    return about


def believes_any_pong(self: FromServices, instance: Instance, frame: HubFrame, now: float) -> Any:
    """A PONG is taken to be of now, whenever it was asked for."""
    about = _link(self, instance, frame, now)
    if frame.state is HubState.COMMAND and frame.parameter == HubCommand.PONG:
        instance.epoch = self._board.epoch
    return about


def keeps_all(self: FromServices, instance: Instance, frame: HubFrame, now: float) -> Any:
    """Whoever comes back is taken to have been there."""
    instance.epoch = self._board.epoch
    return _configure(self, instance, frame, now)


def keeps_what_waited(self: FromServices, instance: Instance, frame: HubFrame, now: float) -> Any:
    """What waits for a service waits on when it comes back."""
    holding = self._holding
    self._holding = SimpleNamespace(drop=nothing)  # type: ignore[assignment]
    try:
        return _configure(self, instance, frame, now)
    finally:
        self._holding = holding


def never_dead(self: FromServices, now: float, *, lenient: bool) -> None:
    """Silence is forgiven."""
    del lenient
    _service_tick(self, now, lenient=True)


def takes_strangers(self: FromServices, identity: bytes, parts: list[bytes], now: float) -> Any:
    """Somebody who has not said who it is speaks on streams of others."""
    for instance in self._board.instances.values():
        if (
            len(parts) == 1
            and instance.version == 2
            and int.from_bytes(parts[0][:4], "big") in instance.streams
        ):
            return _service_says(self, instance.identity, parts, now)
    return _stranger(self, identity, parts, now)


# --- streams -----------------------------------------------------------------------------------------------

_end = Board.end
_kill = Board.kill
_close = Board.close
_tell = Board.tell


def kills_twice(self: Board, stream: Stream, code: HubError, text: str, now: float, **sides: bool) -> None:
    """The client hears of the end twice."""
    _kill(self, stream, code, text, now, **sides)
    if sides.get("client", True):
        self.say(stream.client, HubFrame(stream.id, HubState.STREAM_ERROR, code, text.encode()), stream)


def kills_behind_service(
    self: Board, stream: Stream, code: HubError, text: str, now: float, **sides: bool
) -> None:
    """The service is not told."""
    _kill(self, stream, code, text, now, **{**sides, "service": False})


def kills_behind_client(
    self: Board, stream: Stream, code: HubError, text: str, now: float, **sides: bool
) -> None:
    """The client is not told."""
    _kill(self, stream, code, text, now, **{**sides, "client": False})


def kills_with_another_code(
    self: Board, stream: Stream, code: HubError, text: str, now: float, **sides: bool
) -> None:
    """The service hears another reason."""
    _kill(self, stream, code, text, now, **sides)
    if sides.get("service", True):
        instance, _, _ = self.to_services.pop()
        error = HubFrame(stream.hub_id, HubState.STREAM_ERROR, HubError.INTERNAL)
        self.tell(instance, error, stream)


def closes_unheard(self: Board, stream: Stream, now: float) -> None:
    """CLOSE is not echoed."""
    _close(self, stream, now)
    self.to_clients.pop()


def keeps_the_dead(self: Board, stream: Stream, how: HubState | HubError, now: float) -> Instance:
    """A service may go on after its last frame."""
    assert stream.instance is not None
    instance = stream.instance if stream.is_over else _end(self, stream, how, now)
    instance.streams[stream.hub_id] = stream
    return instance


def frees_numbers(self: Board, stream: Stream, how: HubState | HubError, now: float) -> Instance:
    """The number of an ended stream may be used again."""
    instance = _end(self, stream, how, now)
    old, stream.client.used = stream.client.used, UsedNumbers()
    for start, stop in zip(old._starts, old._ends, strict=True):
        for number in range(start, stop + 1):
            if number != stream.id:
                stream.client.used.add(number, 1 << 20)
    return instance


def forgets_user(self: Board, instance: Instance, frame: HubFrame, stream: Stream | None = None) -> None:
    """The service is told of user 0."""
    if frame.state is HubState.FIRST:
        frame = HubFrame(frame.stream, frame.state, frame.parameter, frame.body, 0)
    _tell(self, instance, frame, stream)


# --- who is behind -----------------------------------------------------------------------------------------

_hold = Holding.hold
_next_held = Holding.next_held
_sent = Holding.sent
_mind = Board.mind


def drops_what_waits(self: Holding, client: Client, data: bytes, stream: Stream, now: float) -> None:
    """What comes while something waits is lost."""
    if not client.held.get(stream.id):
        _hold(self, client, data, stream, now)


def newest_first(self: Holding, client: Client) -> Any:
    """What waited last goes first."""
    if client.held:
        number = next(iter(client.held))
        client.held[number] = deque(reversed(client.held[number]))
    return _next_held(self, client)


def one_stream_first(self: Holding, client: Client) -> Any:
    """Streams do not take turns."""
    if client.held:
        number = min(client.held)
        client.held = {number: client.held.pop(number), **client.held}
    return _next_held(self, client)


def sends_twice(self: Holding, instance: Instance) -> None:
    """What was sent waits still, if more does."""
    if len(instance.held) > 1:
        first = instance.held.popleft()
        self._board.held_bytes -= cost(instance.held[0][0])
        instance.held[0] = first
    else:
        _sent(self, instance)


def never_pauses(self: Board, client: Client) -> None:
    """A client is read, however much of its own waits."""
    _mind(self, client)
    client.is_paused = False
    self.to_pause.clear()


def never_resumes(self: Board, client: Client) -> None:
    """Whoever was paused stays so."""
    _mind(self, client)
    self.to_resume.clear()


def minds_services_only(self: Board, client: Client) -> None:
    """A client that does not read is read."""
    held, client.held_bytes = client.held_bytes, 0
    _mind(self, client)
    client.held_bytes = held


def holds_for_strangers(
    self: Holding, instance: Instance, data: bytes, stream: Stream | None, now: float
) -> None:
    """What a service that is none does not read is kept for ever."""
    if self._board.instances.get(instance.identity) is not instance:
        self._append(instance, data, None, now)
    else:
        _hold_for_service(self, instance, data, stream, now)


def drops_endings(self: Holding, instance: Instance, data: bytes, stream: Stream | None, now: float) -> None:
    """A service that is behind does not hear that a stream is over."""
    if stream is None or not stream.is_over:
        _hold_for_service(self, instance, data, stream, now)


_hold_for_service = Holding.hold_for_service


# --- numbers, limits, time ---------------------------------------------------------------------------------

_numbers = Numbers.__init__
_take = Numbers.take
_discard = Timers.discard


def gives_again(self: Numbers, live: object, quarantine: float) -> None:
    """Does not look whether a number is in use."""
    del live
    _numbers(self, (), quarantine)


def short_numbers(self: Numbers, version: int, now: float) -> int | None:
    """One kind of numbers for all."""
    del version
    return _take(self, 1, now)


def no_rest(self: Numbers, number: int, now: float) -> None:
    """The number of an ended stream is used again at once."""
    if number < 1 << 20:
        self._resting.append((now, number))


def fullest(instance: Instance) -> int:
    """The one with the most streams gets the next."""
    return -len(instance.streams)


def unbounded(self: HubSettings, timeout_ms: int) -> float:
    """Any timeout will do."""
    del self
    return timeout_ms / 1000


def forgets_ranges(self: UsedNumbers, number: int, most: int) -> bool:
    """Remembers as many ranges as there are."""
    return _add(self, number, most + 1_000_000)


_add = UsedNumbers.add
