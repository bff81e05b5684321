"""What services say, and what must come of it."""

from typing import Final

from framehub.hub.parties import Stream
from tests.simulation.hub import wire
from tests.simulation.hub.asking import bounded, is_known, told
from tests.simulation.hub.book import Book
from tests.simulation.hub.people import CLOSED, LASTED, Server, Talk
from tests.simulation.rpc.ledger import must

COMPLAIN_SECONDS: Final = 1.0
TOLD_SECONDS: Final = 5.0
BROKEN: Final = (
    b"{",
    b"[]",
    b'"a service"',
    b'{"name": 7}',
    b'{"functions": {}}',
    b'{"functions": [{"name": "no number"}]}',
    b'{"functions": [{"number": 256}]}',
    b'{"functions": [{"number": 1}, {"number": 1}]}',
    b"\xff\xfe",
)
"""Interfaces that are none."""
_SPOKEN: Final = frozenset((wire.MESSAGE, wire.LAST, wire.SERVICE_ERROR, wire.COMMAND))

Wanted = Talk | str | None


class Answering:
    """Judges what the hub makes of the messages of services."""

    def __init__(self, book: Book) -> None:
        self._book = book

    def before(self, identity: bytes, parts: list[bytes], now: float) -> Wanted:
        """The hub is about to hear this."""
        book = self._book
        server = book.servers.get(identity)
        shown = _version_shown(parts[0]) if len(parts) == 1 else None
        other = server is not None and shown not in (None, server.version)
        if server is not None and other and _is_record(parts[0][wire.HEADER[shown or 2] :]):
            book.gone(server, now)  # it was started anew, and speaks another version
            stranger = book.strangers[identity] = Server(identity, now)
            stranger.maybe += server.maybe + server.owed
            server = None
        if server is None:
            return self._stranger(identity, parts, shown, now)
        server.heard = now
        book.served[server] = None
        if len(parts) != 1 or len(parts[0]) < wire.HEADER[server.version]:
            return self._complain(server, now)
        number, state, parameter, rest = wire.read(parts[0], server.version)
        if not _is_lawful(number, state, parameter, rest):
            return self._refuse(server, number, wire.BAD_FRAME)
        if number == 0:
            return self._about_link(server, state, parameter, rest, now)
        if state not in _SPOKEN or (state == wire.COMMAND and parameter != wire.CLOSE):
            return self._refuse(server, number, wire.BAD_FRAME)
        talk = server.talks.get(number)
        if talk is not None and talk.why is None:
            self._on_stream(talk, (state, parameter, rest), now)
            return talk
        if number in book.live:
            book.counts["others' streams"] += 1
            return self._refuse(server, number, wire.ZMQ_STREAM_COLLISION)
        book.counts["dead streams"] += 1
        if now - server.told.get(number, -1e9) < TOLD_SECONDS:
            return "stream_not_found"
        server.told[number] = now
        return self._refuse(server, number, wire.STREAM_NOT_FOUND)

    def after(self, identity: bytes, wanted: Wanted, about: object) -> None:
        """And this is what it says that the frame was."""
        if isinstance(wanted, str):
            right = isinstance(about, str) and about.partition(":")[0] == wanted
            must(right, "HINV-3", "{!r}: to be refused as {}, and is {}", identity, wanted, told(about))
        elif wanted is None:
            must(about is None, "HINV-17", "{!r}: a frame is about the link: {}", identity, told(about))
        else:
            right = isinstance(about, Stream) and about.hub_id == wanted.hub_id and about.id == wanted.id
            must(right, "HINV-3", "{!r}: a frame belongs to {}: {}", identity, wanted, told(about))

    # --- who they are ----------------------------------------------------------------------------------

    def _stranger(self, identity: bytes, parts: list[bytes], shown: int | None, now: float) -> str | None:
        book = self._book
        stranger = book.strangers.get(identity)
        if stranger is None:
            stranger = book.strangers[identity] = Server(identity, now)
        book.served[stranger] = None
        stranger.version = shown or 2
        if shown is None:
            book.counts["strangers"] += 1
            return self._complain(stranger, now)
        rest = parts[0][wire.HEADER[shown] :]
        if not _is_record(rest):
            return self._refuse(stranger, 0, wire.BAD_FRAME)
        if len(book.servers) >= book.settings.max_services:
            return self._refuse(stranger, 0, wire.LIMIT)
        return self._configure(stranger, rest, now)

    def _configure(self, server: Server, rest: bytes, now: float) -> str | None:
        book, settings = self._book, self._book.settings
        version, timeout_ms, number = wire.read_record(rest)
        interface = rest[wire.RECORD_BYTES :]
        if version != server.version:
            return self._refuse(server, 0, wire.BAD_FRAME)
        if len(interface) > settings.max_interface_bytes:
            return self._refuse(server, 0, wire.LIMIT)
        if interface in BROKEN:
            book.counts["broken interfaces"] += 1
            return self._refuse(server, 0, wire.BAD_FRAME)
        if server.number >= 0:
            book.withdraw(server)
            began = server.epoch != book.epoch
            if began:
                book.begins(server, now)
            kept = server.is_broken and server.load
            must(not kept, "HINV-7", "{} came back, and its streams stay", server)
            server.is_broken = False
            book.counts["configured again"] += 1
        else:
            began = True
            del book.strangers[server.identity]
            server.heard = server.came = now
            server.complained = -1e9
            book.counts[f"services of version {version}"] += 1
        server.number = number
        server.interface = interface
        server.epoch = book.epoch
        server.leaving = False
        server.timeout = bounded(book, timeout_ms)
        book.register(server)
        force = wire.record(version, round(1000 * (server.timeout or settings.timeout)), number)
        self._owe(server, wire.frame(version, 0, wire.COMMAND, wire.READY, force), whole=True)
        if began:
            server.sure = server.owed[-1:]
        return None

    # --- what they say ---------------------------------------------------------------------------------

    def _about_link(self, server: Server, state: int, parameter: int, rest: bytes, now: float) -> str | None:
        if state == wire.FIRST:
            return self._configure(server, rest, now)
        if state == wire.COMMAND and parameter == wire.PING:
            self._owe(server, wire.frame(server.version, 0, wire.COMMAND, wire.PONG, rest), whole=True)
            return None
        if state == wire.COMMAND and parameter == wire.PONG:
            if rest == server.asked:
                server.epoch = max(server.epoch, server.asked_epoch)
            return None
        if state == wire.COMMAND and parameter == wire.CLOSE:
            server.leaving = True
            return None
        return self._complain(server, now)

    def _on_stream(self, talk: Talk, frame: tuple[int, int, bytes], now: float) -> None:
        book, state = self._book, frame[0]
        if state == wire.COMMAND:
            book.end(talk, CLOSED, now, caller=True, server=True)
            return
        talk.last = now
        talk.unanswered = None
        talk.answered = True
        talk.down.append(frame)
        talk.caller.pending += 1
        book.touched[talk.caller] = None
        if state != wire.MESSAGE:
            book.end(talk, LASTED, now, caller=False, server=False)

    # --- refusing --------------------------------------------------------------------------------------

    def _complain(self, server: Server, now: float) -> str:
        if now - server.complained >= COMPLAIN_SECONDS:
            server.complained = now
            self._refuse(server, 0, wire.BAD_FRAME)
        return "bad_frame"

    def _refuse(self, server: Server, number: int, code: int) -> str:
        if not server.behind:
            self._owe(server, wire.frame(server.version, number, wire.ERROR, code), whole=False)
        return wire.CODES[code]

    def _owe(self, server: Server, data: bytes, *, whole: bool) -> None:
        server.owed.append((data, whole))
        server.pending += 1
        self._book.served[server] = None


def _version_shown(data: bytes) -> int | None:
    if data[:5] == b"\0\0\0\0\x0f":
        return 2
    return 1 if data[:3] == b"\0\0\x0f" else None


def _is_record(rest: bytes) -> bool:
    return len(rest) >= wire.RECORD_BYTES and wire.read_record(rest)[0] in (1, 2)


def _is_lawful(number: int, state: int, parameter: int, rest: bytes) -> bool:
    """Whether there is such a frame at all."""
    if not is_known(state, parameter):
        return False
    return state != wire.FIRST or number != 0 or _is_record(rest)
