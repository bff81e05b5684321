"""Rows of the journal, made by what makes them in a gateway."""

from typing import Any

import pyarrow as pa

from framehub.codes import BinaryKind, HubCommand, HubError, HubState, Service
from framehub.hub.headers import HubFrame, Way, encode
from framehub.journal.columns import to_batch
from framehub.journal.hub_rows import HubRows, stream_exchange
from framehub.journal.mfp_rows import IN, OUT, LinkRows
from framehub.journal.record import NO_ID, Row
from framehub.journal.rpc_rows import RpcRows
from framehub.mfp import codec, envelope
from framehub.mfp.frames import (
    BinaryFrame,
    Frame,
    MessageFrame,
    RequestFrame,
    ResponseFrame,
    ServiceFrame,
)
from framehub.rpc import words

CLIENT, WORKER, SERVICE = b"client--", b"worker--", b"service-"
ASKED, CALLED = CLIENT + bytes(7) + b"\1", b"a-query-16-bytes"
NODE = "here"


def at(ms: float) -> tuple[int, int]:
    """So many milliseconds after the beginning."""
    return 1_700_000_000_000_000_000 + int(ms * 1e6), int(ms * 1e6)


class Script:
    """What happened, one row after another."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.mfp = LinkRows(CLIENT, 7)
        self.rpc = RpcRows()
        self.hub_client = HubRows(CLIENT, version=2, user=7)
        self.hub_service = HubRows(SERVICE, version=2, is_service=True)

    def say(self, ms: float, way: int, frame: Frame, exchange: bytes = ASKED, **labels: Any) -> None:
        self.rows.append(self.mfp.frame(at(ms), way, frame, codec.encode(frame), exchange, **labels))

    def request(self, ms: float, name: str = "nap", *, id_: int = 1, exchange: bytes = ASKED) -> None:
        payload = envelope.encode(name, 3)
        self.say(ms, IN, RequestFrame(id=id_, payload=payload), exchange, endpoint=name)

    def respond(self, ms: float, *, error: str | None = None, exchange: bytes = ASKED) -> None:
        frame = ResponseFrame(id=9, ref=1, payload=envelope.encode("nap", "well"))
        self.say(ms, OUT, frame, exchange, endpoint="nap", error=error)

    def stream(self, ms: float, way: int = IN, name: str = "upload", *, exchange: bytes = ASKED) -> None:
        frame = MessageFrame(id=1, payload=envelope.encode(name), streaming=True)
        self.say(ms, way, frame, exchange, endpoint=name)

    def chunk(self, ms: float, way: int = IN, *, final: bool = False, exchange: bytes = ASKED) -> None:
        frame = BinaryFrame(id=2, ref=1, kind=BinaryKind.STREAMING, key=0, data=bytes(100), final=final)
        self.say(ms, way, frame, exchange)

    def refuse(self, ms: float, way: int = OUT, *, own: bool = False, exchange: bytes = ASKED) -> None:
        self.say(ms, way, ServiceFrame(id=3, code=Service.ABORT, ref=1, own=own), exchange)

    def give_up(self, ms: float, *, exchange: bytes = ASKED) -> None:
        self.say(ms, IN, ServiceFrame(id=2, code=Service.TIMEOUT, ref=1, own=True), exchange)

    def query(self, ms: float, way: int, *, parent: bytes = NO_ID) -> None:
        link = CLIENT if way == IN else WORKER
        parts = [words.QUERY, b"id", b"3", b"nap"]
        self._rpc(ms, way, link, parts, coder="json", parent=parent, function="nap")

    def rpc_says(self, ms: float, way: int, link: bytes, *parts: bytes, error: str | None = None) -> None:
        self._rpc(ms, way, link, list(parts), function="nap", error=error)

    def _rpc(self, ms: float, way: int, link: bytes, parts: list[bytes], **labels: Any) -> None:
        self.rows.append(self.rpc.row(at(ms), way, b"who", parts, link=link, exchange=CALLED, **labels))

    def hub(self, ms: float, way: int, state: HubState, parameter: int, *, at_service: bool = False) -> None:
        first = state is HubState.FIRST
        body = b"" if state is HubState.COMMAND else b"30"
        frame = HubFrame(5, state, parameter, body, 7 if first else None)
        ways = (
            (Way.SERVICE_TO_HUB, Way.HUB_TO_SERVICE) if at_service else (Way.CLIENT_TO_HUB, Way.HUB_TO_CLIENT)
        )
        rows = self.hub_service if at_service else self.hub_client
        raw = encode(frame, 2, ways[way])
        about: dict[str, Any] = {"ref": 5, "user": 7} if at_service else {}
        exchange = stream_exchange(CLIENT, 5)
        self.rows.append(
            rows.frame(at(ms), way, frame, raw, exchange, service=7, function=3, endpoint="quotes", **about)
        )

    @property
    def batch(self) -> pa.RecordBatch:
        return to_batch(self.rows)

    @property
    def read(self) -> list[dict[str, Any]]:
        """As a reader gives them."""
        return [{"node": NODE, "seq": seq, **row} for seq, row in enumerate(self.batch.to_pylist(), 1)]

    @property
    def told(self) -> list[dict[str, Any]]:
        """As a story has them: ids in hex."""
        rows = self.read
        for row in rows:
            for name in ("link", "exchange", "parent"):
                row[name] = row[name].hex() if row[name] is not None else None
        return rows


def timed_out(script: Script) -> Script:
    """A call by MFP of a function whose worker takes too long."""
    script.request(0)
    script.query(0.2, IN, parent=ASKED)
    script.query(0.3, OUT)
    script.rpc_says(0.35, OUT, CLIENT, words.QUERY_RECEIVED, b"id")
    script.rpc_says(0.8, IN, WORKER, words.QUERY_RECEIVED, b"id")
    script.give_up(400)
    script.rpc_says(401, IN, CLIENT, words.CANCEL, b"id")
    script.rpc_says(402, OUT, WORKER, words.CANCEL, b"id")
    script.rpc_says(415, IN, WORKER, words.RESPONSE_EXCEPTION, b"id", b"cancelled", error="cancelled")
    return script


def pondered(script: Script) -> Script:
    """A stream of the hub that the service never answers, and the hub ends."""
    script.hub(0, IN, HubState.FIRST, 3)
    script.hub(1, OUT, HubState.FIRST, 3, at_service=True)
    script.hub(1001, OUT, HubState.STREAM_ERROR, HubError.TIMEOUT)
    script.hub(1002, OUT, HubState.STREAM_ERROR, HubError.TIMEOUT, at_service=True)
    return script


def closed(script: Script) -> Script:
    """One that the client has enough of."""
    script.hub(0, IN, HubState.FIRST, 3)
    script.hub(1, OUT, HubState.FIRST, 3, at_service=True)
    script.hub(2, IN, HubState.MESSAGE, 0, at_service=True)
    script.hub(3, OUT, HubState.MESSAGE, 0)
    script.hub(9, IN, HubState.COMMAND, HubCommand.CLOSE)
    return script
