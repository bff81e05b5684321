"""Rows of one link as what its peer did, in order, so that it can be done again. Pure.

A request, a message with or without files, a stream and its chunks, a query of a function; then what came of
it. Only rows whose frame was recorded in full can be done again: the others are ``Skipped``, with the reason.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Protocol, TypeAlias

from msgspec import UNSET, Struct

from framehub.codes import Kind, Service
from framehub.errors import MalformedFrame
from framehub.journal import answers
from framehub.journal.answers import Answer, Attached, Path
from framehub.mfp import anysum, envelope
from framehub.mfp.envelope import BadEnvelope, Envelope
from framehub.mfp.frames import BinaryFrame, Files, MessageFrame, RequestFrame, ResponseFrame

Row: TypeAlias = Mapping[str, Any]

TAKEN: Final = Answer("taken")
ABORTED: Final = Answer("aborted")
TIMEOUT: Final = Answer("timeout")
INCOMPLETE: Final = "its files did not all come"
_NO: Final = {Service.TIMEOUT: TIMEOUT, Service.ABORT: ABORTED, Service.UNKNOWN: ABORTED}
COLUMNS: Final = (
    "node", "time_ns", "link", "protocol", "direction", "kind", "code", "endpoint", "coder", "exchange",
    "recorded", "payload_at", "payload_bytes", "raw",
)  # fmt: skip
"""What of a row is looked at."""


class Ask(Struct, frozen=True):
    """A request to an endpoint."""

    exchange: bytes
    name: str
    data: Any
    files: Mapping[int, Attached]


class Query(Struct, frozen=True):
    """A call of a function, its argument in bytes."""

    exchange: bytes
    name: str
    argument: bytes


class Tell(Struct, frozen=True):
    """A message; ``announced`` if its files came after it."""

    exchange: bytes
    name: str
    data: Any
    files: Mapping[int, Attached]
    announced: bool = False
    ack: bool = False


class Open(Struct, frozen=True):
    """A stream begins."""

    exchange: bytes
    name: str
    data: Any


class Chunk(Struct, frozen=True):
    """A part of a stream: of the file ``key``, or data that is no file."""

    exchange: bytes
    data: bytes
    key: int | None
    final: bool


class GiveUp(Struct, frozen=True):
    """The peer wanted no more of what it began."""

    exchange: bytes


class Answered(Struct, frozen=True):
    """What came of it; None if that was not recorded in full."""

    exchange: bytes
    answer: Answer | None
    coder: str | None = None


class Skipped(Struct, frozen=True):
    """It cannot be done again."""

    name: str
    why: str


class Left(Struct, frozen=True):
    """The peer is gone."""


Act: TypeAlias = Ask | Query | Tell | Open | Chunk | GiveUp | Answered | Skipped | Left


class Wants(Protocol):
    """Which conversations shall be done again."""

    def __call__(self, name: str, exchange: bytes, /) -> bool:
        """Whether what goes to this endpoint or function, in this exchange, is wanted."""

    def begin(self) -> bool:
        """One that is wanted, and can be done, begins: false if there were enough."""


class Acts(Protocol):
    """The rows of one link as acts; nothing is known but what is open."""

    @property
    def open(self) -> int:
        """What was begun, and whose end did not come yet."""

    @property
    def incomplete(self) -> int:
        """Messages whose files did not all come yet."""

    def take(self, row: Row) -> Act | None:
        """What this row says, if it says anything."""


class _Lost(Exception):
    """A frame that was not recorded so that it can be used again."""


class MfpActs:
    """What a peer of MFP did."""

    def __init__(self, wants: Wants, ignored: Iterable[Path] = ()) -> None:
        self._wants = wants
        self._ignored = tuple(ignored)
        self._asked: set[bytes] = set()
        self._streams: set[bytes] = set()
        self._sets: dict[bytes, _Set] = {}

    @property
    def open(self) -> int:
        """What was begun, and whose end did not come yet."""
        return len(self._asked) + len(self._streams) + len(self._sets)

    @property
    def incomplete(self) -> int:
        """Messages whose files did not all come yet."""
        return len(self._sets)

    def take(self, row: Row) -> Act | None:
        """What this row says, if it says anything."""
        kind, exchange, came = row["kind"], row["exchange"], row["direction"] == "in"
        if kind == Kind.LINK_CLOSED:
            return Left()
        if exchange is None:
            return None
        if kind in (Kind.REQUEST, Kind.MESSAGE) and came:
            if not self._wants(row["endpoint"] or "", exchange):
                return None
            return self._begun(row, exchange)
        if kind == Kind.BINARY and came:
            return self._followed(row, exchange)
        if kind == Kind.RESPONSE and not came and exchange in self._asked:
            self._asked.discard(exchange)
            return Answered(exchange, self._answer(row))
        if kind == Kind.SERVICE and row["code"] in _NO:
            return self._ended(exchange, _NO[Service(row["code"])], by_peer=came)
        return None

    def _begun(self, row: Row, exchange: bytes) -> Act | None:
        name = row["endpoint"]
        try:
            frame = _frame(row, RequestFrame, MessageFrame)
            told = _envelope(frame)
        except _Lost as exc:
            return Skipped(name or "", str(exc))
        if not self._wants.begin():
            return None
        if isinstance(frame, RequestFrame):
            self._asked.add(exchange)
            return Ask(exchange, told.endpoint, told.data, _attached(frame.files, told))
        if frame.streaming:
            self._streams.add(exchange)
            return Open(exchange, told.endpoint, told.data)
        if frame.expected:
            self._sets[exchange] = _Set(told, frame.expected, frame.need_ack)
            return None
        files = _attached(frame.files, told)
        return Tell(exchange, told.endpoint, told.data, files, ack=frame.need_ack)

    def _followed(self, row: Row, exchange: bytes) -> Act | None:
        waiting = self._sets.get(exchange)
        if waiting is None and exchange not in self._streams:
            return None
        try:
            frame = _frame(row, BinaryFrame)
        except _Lost as exc:
            if waiting is None:
                self._streams.discard(exchange)
                return GiveUp(exchange)
            del self._sets[exchange]
            return Skipped(waiting.told.endpoint, str(exc))
        if waiting is None:
            if frame.final:
                self._streams.discard(exchange)
            return Chunk(exchange, frame.data, frame.key, frame.final)
        if frame.key in waiting.missing:
            waiting.missing.discard(frame.key)
            waiting.files.append((frame.key, frame.data))
        if waiting.missing:
            return None
        del self._sets[exchange]
        told = waiting.told
        files = _attached(tuple(waiting.files), told)
        return Tell(exchange, told.endpoint, told.data, files, announced=True, ack=waiting.ack)

    def _ended(self, exchange: bytes, answer: Answer, *, by_peer: bool) -> Act | None:
        if waiting := self._sets.pop(exchange, None):
            return Skipped(waiting.told.endpoint, INCOMPLETE)
        if exchange not in self._asked and exchange not in self._streams:
            return None
        self._asked.discard(exchange)
        self._streams.discard(exchange)
        return GiveUp(exchange) if by_peer else Answered(exchange, answer)

    def _answer(self, row: Row) -> Answer | None:
        try:
            frame = _frame(row, ResponseFrame)
            told = _envelope(frame)
        except _Lost:
            return None
        data = None if told.data is UNSET else told.data
        said = {"data": data} if told.error is UNSET else {"error": told.error}
        return answers.of_reply(said, _attached(frame.files, told), self._ignored)


class _Set:
    """A message whose files are still to come."""

    def __init__(self, told: Envelope, expected: Iterable[int], ack: bool) -> None:
        self.told = told
        self.missing = set(expected)
        self.files: list[tuple[int, bytes]] = []
        self.ack = ack


class Lately:
    """Exchanges that ended lately; of all that ever did, the last ones."""

    def __init__(self, most: int = 65_536) -> None:
        self._most = most
        self._ended: dict[bytes, None] = {}

    def add(self, exchange: bytes) -> None:
        """It ended."""
        self._ended[exchange] = None
        if len(self._ended) > self._most:
            del self._ended[next(iter(self._ended))]

    def __contains__(self, exchange: bytes) -> bool:
        return exchange in self._ended


class RpcActs:
    """Which functions a client called. A client may ask again what was answered: that is no other call."""

    def __init__(self, wants: Wants, ignored: Iterable[Path] = (), ended: Lately | None = None) -> None:
        self._wants = wants
        self._ignored = tuple(ignored)
        self._asked: set[bytes] = set()
        self._ended = ended if ended is not None else Lately()

    @property
    def incomplete(self) -> int:
        """There is no such thing here."""
        return 0

    @property
    def open(self) -> int:
        """What was begun, and whose end did not come yet."""
        return len(self._asked)

    def take(self, row: Row) -> Act | None:
        """What this row says, if it says anything."""
        kind, exchange, came = row["kind"], row["exchange"], row["direction"] == "in"
        if exchange is None:
            return None
        if kind == Kind.QUERY and came:
            name = row["endpoint"] or ""
            if exchange in self._asked or exchange in self._ended or not self._wants(name, exchange):
                return None
            try:
                argument = _payload(row)
            except _Lost as exc:
                return Skipped(name, str(exc))
            if not self._wants.begin():
                return None
            self._asked.add(exchange)
            return Query(exchange, name, argument)
        if exchange not in self._asked:
            return None
        if kind == Kind.CANCEL and came:
            self._asked.discard(exchange)
            self._ended.add(exchange)
            return GiveUp(exchange)
        if kind in (Kind.RESULT, Kind.EXCEPTION, Kind.UNKNOWN_FUNCTION) and not came:
            self._asked.discard(exchange)
            self._ended.add(exchange)
            return Answered(exchange, self._answer(row), row["coder"])
        return None

    def _answer(self, row: Row) -> Answer | None:
        if row["kind"] == Kind.UNKNOWN_FUNCTION:
            return answers.of_failure("unknown function")
        try:
            payload = _payload(row)
        except _Lost:
            return None
        if row["kind"] == Kind.EXCEPTION:
            return answers.of_exception(payload.decode(errors="replace"), self._ignored)
        return answers.of_result(payload, row["coder"], self._ignored)


def _whole(row: Row) -> bytes:
    raw: bytes | None = row["raw"]
    if row["recorded"] == "redacted":
        raise _Lost("parts of it were redacted")
    if row["recorded"] != "full" or raw is None:
        raise _Lost(f"recorded: {row['recorded']}")
    return raw


def _frame(row: Row, *kinds: type[Any]) -> Any:
    try:
        frame, _ = anysum.decode(_whole(row))
    except MalformedFrame as exc:
        raise _Lost(f"its frame cannot be read: {exc}") from exc
    if not isinstance(frame, kinds):
        raise _Lost("its frame is of another kind than its row")
    return frame


def _payload(row: Row) -> bytes:
    at = row["payload_at"] or 0
    return _whole(row)[at : at + (row["payload_bytes"] or 0)]


def _envelope(frame: RequestFrame | MessageFrame | ResponseFrame) -> Envelope:
    is_ahead = isinstance(frame, MessageFrame) and (frame.streaming or bool(frame.expected))
    try:
        return envelope.decode(frame.payload, None if is_ahead else frame.files)
    except BadEnvelope as exc:
        raise _Lost("it has no envelope") from exc


def _attached(files: Files, told: Envelope) -> dict[int, Attached]:
    return {key: Attached(blob, *told.names[key]) for key, blob in files}
