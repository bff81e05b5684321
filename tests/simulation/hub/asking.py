"""What clients say, and what must come of it."""

from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from framehub.hub.parties import Stream
from tests.simulation.hub import wire
from tests.simulation.hub.book import Book
from tests.simulation.hub.people import CLOSED, LASTED, Caller, Server, Talk
from tests.simulation.rpc.ledger import must

STRIKE_SECONDS: Final = 10.0
RACE_SECONDS: Final = 5.0
RULES: Final = {"ws_stream_collision": "HINV-5", "stream_not_found": "HINV-2", "limit": "HINV-11"}
"""Which rule is broken when that is not said."""
_LAWFUL: Final = frozenset((wire.MESSAGE, wire.LAST, wire.FIRST, wire.COMMAND))


class Opening(NamedTuple):
    """A stream that must be opened."""

    number: int
    function: int
    body: bytes
    timeout_ms: int
    free: list[Server]
    """Who may get it."""
    interface: bytes
    """What the hub itself is to answer, if anything."""


Wanted = Talk | Opening | str | None
"""The stream that a frame belongs to; one that is to be opened; the error; nothing, it is about the link."""


class Asking:
    """Judges what the hub makes of the frames of clients."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._settings = book.settings

    def before(self, caller: Caller, data: bytes, now: float, *, held: int) -> Wanted:
        """The hub is about to hear this; ``held`` bytes wait there."""
        caller.heard = now
        version = caller.version
        if caller.closing:
            return "bad_frame"
        self._book.touched[caller] = None
        if len(data) < wire.HEADER[version]:
            self._book.send_away(caller, 1002, now)
            return "bad_frame"
        number, state, parameter, rest = wire.read(data, version)
        if not _is_lawful(version, number, state, parameter, rest):
            return self._fault(caller, number, wire.BAD_FRAME, now)
        if number == 0:
            return self._about_link(caller, state, parameter, rest, now)
        if state == wire.FIRST:
            return self._open(caller, number, parameter, rest, now, held)
        talk = caller.talks.get(number)
        if state == wire.COMMAND and parameter != wire.CLOSE:
            return self._fault(caller, number, wire.BAD_FRAME, now)
        if talk is None or talk.why is not None:
            if now - caller.closed_at < RACE_SECONDS:
                return self._refuse(caller, number, wire.STREAM_NOT_FOUND)
            return self._fault(caller, number, wire.STREAM_NOT_FOUND, now)
        if state == wire.COMMAND:
            self._book.end(talk, CLOSED, now, caller=True, server=True)
            if not talk.answered:
                self._cancel(caller, now)
            return talk
        if talk.done:
            return self._fault(caller, number, wire.BAD_FRAME, now)
        talk.done = state == wire.LAST
        talk.last = now
        if talk.unanswered is None:
            talk.unanswered = now
        self._up(talk, (state, parameter, rest))
        return talk

    def after(self, caller: Caller, wanted: Wanted, about: object, now: float) -> None:
        """And this is what it says that the frame was."""
        if isinstance(wanted, Opening):
            self._opened(caller, wanted, about, now)
        elif isinstance(wanted, str):
            right = isinstance(about, str) and about.partition(":")[0] == wanted
            rule = RULES.get(wanted, "HINV-1")
            must(right, rule, "{}: a frame is to be refused as {}, and is {}", caller, wanted, told(about))
        elif wanted is None:
            must(about is None, "HINV-1", "{}: a frame is about the link, and not {}", caller, told(about))
        else:
            right = isinstance(about, Stream) and about.hub_id == wanted.hub_id and about.id == wanted.id
            must(right, "HINV-2", "{}: a frame belongs to {}, and not to {}", caller, wanted, told(about))

    def failed(self, caller: Caller, talk: Talk, now: float) -> None:
        """The hub's own code failed with a frame on this stream."""
        self._book.touched[caller] = None
        self._book.end(talk, wire.INTERNAL, now, caller=True, server=True)

    # --- the link itself -------------------------------------------------------------------------------

    def _about_link(self, caller: Caller, state: int, parameter: int, rest: bytes, now: float) -> str | None:
        version, settings = caller.version, self._settings
        if state == wire.FIRST:
            asked, timeout_ms, _ = wire.read_record(rest)
            if asked != version:
                return self._fault(caller, 0, wire.BAD_FRAME, now)
            caller.timeout = bounded(self._book, timeout_ms)
            force = wire.record(version, round(1000 * (caller.timeout or settings.timeout)), 0)
            self._notice(caller, wire.frame(version, 0, wire.COMMAND, wire.READY, force))
            return None
        if state == wire.COMMAND and parameter == wire.PING:
            if not one_more(caller.pings, settings.max_pings, 1.0, now):
                self._book.send_away(caller, 1008, now)
                return "limit"
            self._notice(caller, wire.frame(version, 0, wire.COMMAND, wire.PONG, rest))
            return None
        if state == wire.COMMAND and parameter == wire.PONG:
            return None
        if state == wire.COMMAND and parameter == wire.CLOSE:
            self._book.send_away(caller, 1000, now)
            return None
        return self._fault(caller, 0, wire.BAD_FRAME, now)

    def _notice(self, caller: Caller, data: bytes) -> None:
        caller.notices.append((data, True))
        caller.pending += 1

    # --- streams ---------------------------------------------------------------------------------------

    def _open(
        self, caller: Caller, number: int, function: int, rest: bytes, now: float, held: int
    ) -> Opening | str:
        book, settings = self._book, self._settings
        if caller.version == 1 and wire.read_record(rest)[0] != 1:
            return self._fault(caller, number, wire.BAD_FRAME, now)
        if number in caller.used:
            return self._fault(caller, number, wire.WS_STREAM_COLLISION, now)
        alone = number - 1 not in caller.used and number + 1 not in caller.used
        if alone and caller.runs >= settings.max_used:
            return self._limit(caller, number, now)
        caller.use(number)
        rested = (now - caller.left_at) * settings.max_opens
        caller.left = min(settings.opens_burst, caller.left + rested)
        caller.left_at = now
        if caller.left < 1:
            return self._limit(caller, number, now)
        caller.left -= 1
        if caller.open >= settings.max_streams or caller.held >= settings.held_bytes_client:
            return self._limit(caller, number, now)
        if held >= settings.held_bytes_in_all:
            return self._turn_down(caller, number, wire.LIMIT, now)
        if book.draining:
            return self._turn_down(caller, number, wire.BUSY, now)
        if caller.version == 2:
            service, timeout_ms, body = int.from_bytes(rest[:2], "big"), 0, rest[2:]
        else:
            _, timeout_ms, service = wire.read_record(rest)
            body = rest[wire.RECORD_BYTES :]
        here = [server for server in book.offers.get(service, ()) if not server.leaving]
        if not here:
            return self._turn_down(caller, number, wire.ENDPOINT_NOT_FOUND, now)
        told = [server.interface for server in here if server.interface] if function == 0 else []
        if told:
            return Opening(number, function, body, timeout_ms, here, told[-1])
        free = [one for one in here if not one.behind and one.load < settings.max_service_streams]
        if not free:
            return self._turn_down(caller, number, wire.BUSY, now)
        return Opening(number, function, body, timeout_ms, free, b"")

    def _opened(self, caller: Caller, opening: Opening, about: object, now: float) -> None:
        book, settings, number = self._book, self._settings, opening.number
        if isinstance(about, str) and about.startswith("busy:"):
            least = min(server.load for server in opening.free)
            v1 = any(server.version == 1 and server.load == least for server in opening.free)
            short = v1 and not opening.interface and book.is_out_of_numbers(now)
            must(short, "HINV-1", "{}: stream {} is refused, there is room: {}", caller, number, opening.free)
            self._turn_down(caller, number, wire.BUSY, now)
            book.counts["out of numbers"] += 1
            return
        must(isinstance(about, Stream), "HINV-1", "{}: stream {}: {}", caller, number, told(about))
        assert isinstance(about, Stream)
        book.counts["streams"] += 1
        if opening.interface:
            must(
                about.instance is None and about.is_over,
                "HINV-1",
                "{} was to be answered at once",
                told(about),
            )
            talk = caller.talks[number] = Talk(caller, None, number, 0, 0.0, now)
            talk.why = LASTED
            talk.down.append((wire.LAST, 0, opening.interface))
            caller.pending += 1
            caller.closed_at = now
            book.counts["interfaces told"] += 1
            return
        identity = about.instance.identity if about.instance is not None else b""
        server = book.servers.get(identity)
        free = opening.free
        must(server in free, "HINV-1", "stream {} went to {}, and not to one of {}", number, server, free)
        assert server is not None
        least = min(one.load for one in opening.free)
        must(server.load == least, "least-loaded", "{} was chosen, of {}", server, opening.free)
        asked = bounded(book, opening.timeout_ms)
        timeout = asked or caller.timeout or server.timeout or settings.timeout
        must(settings.least_timeout <= timeout <= settings.most_timeout, "HINV-17", "timeout {}", timeout)
        talk = Talk(caller, server, number, about.hub_id, timeout, now)
        book.open(talk, now)
        if caller.version != server.version:
            book.counts[f"V{caller.version} to V{server.version}"] += 1
        self._up(talk, (wire.FIRST, opening.function, caller.user.to_bytes(2, "big") + opening.body))

    def _up(self, talk: Talk, frame: tuple[int, int, bytes]) -> None:
        server = talk.server
        assert server is not None
        talk.up.append(frame)
        server.pending += 1
        self._book.served[server] = None

    # --- refusing --------------------------------------------------------------------------------------

    def _refuse(self, caller: Caller, number: int, code: int) -> str:
        name = wire.CODES[code]
        self._book.counts[f"refused: {name}"] += 1
        caller.owe(number, code)
        return name

    def _turn_down(self, caller: Caller, number: int, code: int, now: float) -> str:
        """No stream comes of this; what follows it at once is no fault."""
        caller.closed_at = now
        return self._refuse(caller, number, code)

    def _fault(self, caller: Caller, number: int, code: int, now: float) -> str:
        if number:
            self._refuse(caller, number, code)
        else:
            caller.notices.append((wire.frame(caller.version, 0, wire.ERROR, code), False))
            caller.pending += 1
        if not one_more(caller.strikes, self._settings.max_strikes, STRIKE_SECONDS, now):
            self._book.send_away(caller, 1008, now)
        return wire.CODES[code]

    def _limit(self, caller: Caller, number: int, now: float) -> str:
        self._turn_down(caller, number, wire.LIMIT, now)
        self._cancel(caller, now)
        return "limit"

    def _cancel(self, caller: Caller, now: float) -> None:
        if not one_more(caller.cancels, self._settings.max_cancels, STRIKE_SECONDS, now):
            self._book.send_away(caller, 1008, now)


def one_more(times: deque[float], most: int, seconds: float, now: float) -> bool:
    """Whether there were at most so many in the last seconds, with this one."""
    while times and times[0] + seconds <= now:
        times.popleft()
    times.append(now)
    return len(times) <= most


def bounded(book: Book, timeout_ms: int) -> float:
    """A timeout in seconds, within the hub's bounds; 0 if none was asked for."""
    settings = book.settings
    if not timeout_ms:
        return 0.0
    return min(max(timeout_ms / 1000, settings.least_timeout), settings.most_timeout)


def told(about: object) -> str:
    """What the hub says that a frame is about, in words that are the same each time."""
    return f"about {about.hub_id}" if isinstance(about, Stream) else repr(about)


def is_known(state: int, parameter: int, known: Iterable[int] = wire.STATES) -> bool:
    """Whether there is such a frame at all."""
    if state not in known:
        return False
    if state == wire.COMMAND:
        return parameter in wire.COMMANDS
    return state != wire.ERROR or parameter in wire.CODES


def _is_lawful(version: int, number: int, state: int, parameter: int, rest: bytes) -> bool:
    """Whether a client may send this at all."""
    if not is_known(state, parameter, _LAWFUL):
        return False
    if state != wire.FIRST:
        return True
    if number and version == 2:
        return len(rest) >= 2
    if len(rest) < wire.RECORD_BYTES or wire.read_record(rest)[0] not in (1, 2):
        return False
    return bool(number) or len(rest) == wire.RECORD_BYTES
