"""A connection machine under watch: what it queues, what is pending, and that nothing is left in the end.

Only the public calls of ``Connection`` are used.
"""

from collections import deque
from collections.abc import Callable, Iterable
from math import inf

from framehub import ids
from framehub.codes import Service
from framehub.errors import ConnectionClosed, RemoteProtocolError
from framehub.mfp import codec
from framehub.mfp.connection import Connection
from framehub.mfp.frames import Frame, MessageFrame, RequestFrame, ServiceFrame
from framehub.mfp.outbox import Outgoing
from framehub.mfp.settings import Settings
from tests.simulation.accounts import Accounts
from tests.simulation.book import Book, Broken, Said, must
from tests.simulation.signs import Signs


class Watched:
    """A machine, its book, and what it wants to put on the wire."""

    def __init__(
        self,
        name: str,
        accounts: Accounts,
        settings: Settings,
        first_id: int,
        machine: Callable[..., Connection] = Connection,
    ) -> None:
        self.name = name
        self.accounts = accounts
        self.book = Book(settings)
        self.machine = machine(settings, first_id=first_id)
        self.backlog: deque[Outgoing] = deque()
        self.signs = Signs(settings)
        self.now = 0.0
        """The time by our clock."""
        self._newest_exchange = 0
        self._last_id = first_id - 1
        self._wrapped = first_id != 1
        """Ids that began elsewhere may have been anything."""
        self.book.newest = inf if self._wrapped else 0

    def read(self, data: bytes) -> Frame | None:
        """What these bytes are to this side, if they are a frame."""
        settings = self.book.settings
        if len(data) > settings.max_frame_bytes:
            return None
        try:
            return codec.decode(
                data,
                settings.checksums,
                settings.max_files,
                settings.max_payload_bytes,
                settings.verify_always,
            )
        except RemoteProtocolError:
            return None

    def next_ids(self, count: int) -> set[int]:
        """The ids that come next, should none of them be alive."""
        return {(self._last_id + step) % ids.LAST + 1 for step in range(count)}

    def close(self) -> None:
        """The connection is gone: everything pending fails at once, and nothing is left."""
        book, machine = self.book, self.machine
        machine.close()
        for asked in book.asked.values():
            self.accounts.request_ends(asked.token, "lost")
        for flow in book.inflow.values():
            self.accounts.reader_stops(flow.token, "the end of the connection")
        must(machine.pending == 0, "M15", "{} pending after close", machine.pending)
        must(machine.next_deadline is None, "M15", "a deadline after close")
        must(machine.drain() == [], "M15", "something to send after close")
        must(machine.tick(1e12) == [], "M15", "something overdue after close")
        calls: list[Callable[[], object]] = [
            lambda: machine.request(b"", now=0.0),
            lambda: machine.message(b""),
            lambda: machine.ping(0.0),
        ]
        for call in calls:
            try:
                call()
            except ConnectionClosed:
                continue
            raise Broken("M15", "something was sent after close")
        must(machine.pending == 0, "M15", "{} pending after calls on a closed machine", machine.pending)

    def _refuses(self, error: type[Exception], call: Callable[[], object]) -> None:
        """A call that must fail, and change and send nothing."""
        try:
            call()
        except error:
            self._says([])
            self._settled()
            self.accounts.counts["calls refused"] += 1
            return
        raise Broken("M15", f"no {error.__name__}")

    def _sends_one(self, id_: int, *, need_ack: bool = False, checksum: bool = False) -> int:
        """Exactly this frame was queued; its exchange."""
        sent = self._queued()
        must([one.frame.id for one in sent] == [id_], "M9", "queued {}, not one frame {}", sent, id_)
        if need_ack:
            self.book.acks.add(id_)
        exchange = sent[0].exchange
        self._newest_exchange = max(self._newest_exchange, exchange)
        return exchange

    def _says(self, says: Iterable[Said], rule: str = "M9") -> list[Outgoing]:
        """Exactly these service frames were queued."""
        return self._said(self._queued(), says, rule)

    def _says_or_knocks(self, says: Iterable[Said]) -> bool:
        """The same, and perhaps a ping on the machine's own account: whether there was one."""
        sent = self._queued()
        knocks = [one for one in sent if getattr(one.frame, "code", None) is Service.PING]
        must(len(knocks) <= 1, "8.7.1", "more than one ping")
        for one in knocks:
            self.book.is_over(one.frame.id)
            self.accounts.counts["knocks"] += 1
        self._said([one for one in sent if one not in knocks], says, "M9")
        return bool(knocks)

    def _said(self, sent: list[Outgoing], says: Iterable[Said], rule: str) -> list[Outgoing]:
        got = [
            Said(frame.code, frame.ref, frame.own) if isinstance(frame := one.frame, ServiceFrame) else None
            for one in sent
        ]
        must(got == list(says), rule, "queued {}, not {}", got, says)
        self.accounts.counts["acks sent"] += sum(
            1 for said in got if said is not None and said.code is Service.ACK
        )
        return sent

    def _queued(self) -> list[Outgoing]:
        sent = self.machine.drain()
        for one in sent:
            if not isinstance(one.frame, ServiceFrame):
                self.signs.went(self.now)
            id_ = one.frame.id
            must(0 < id_ <= ids.LAST, "M5", "id {}", id_)
            must(not self.book.is_live(id_), "M5", "id {} is alive and was taken anew", id_)
            self.accounts.counts["ids wrapped"] += id_ < self._last_id
            self.accounts.counts["live ids passed over"] += id_ > self._last_id + 1
            self._wrapped = self._wrapped or id_ < self._last_id
            self._last_id = id_
            self.book.newest = inf if self._wrapped else id_
            if isinstance(one.frame, RequestFrame | MessageFrame):
                self.book.taken(id_)
        self.accounts.counts["frames"] += len(sent)
        self.backlog.extend(sent)
        return sent

    def _new_exchange(self, exchange: int) -> None:
        must(exchange > self._newest_exchange, "M10", "exchange {} is not new", exchange)
        self._newest_exchange = exchange

    def _settled(self) -> None:
        """After every event: as much is pending as the book has, and nothing came about nothing."""
        pending, booked = self.machine.pending, self.book.pending
        must(pending == booked, "M15", "{} pending, {} booked", pending, booked)
        ignored, booked = self.machine.ignored, self.book.ignored
        must(ignored == booked, "M18", "{} ignored, {} booked", ignored, booked)
        must(not (self.accounts.honest and ignored), "M18", "a frame about nothing known")
        totals, strikes = self.book.conduct.totals, self.machine.strikes
        must(strikes == totals["strikes"], "8.8.2", "{} strikes, booked are {}", strikes, totals)
        faults = totals["strikes"] + totals["strays"]
        must(not (self.accounts.honest and faults), "M18", "{} faults of an honest peer", faults)
