"""What an owner does to its machine: each call is compared with the book before and after."""

from typing import TypedDict, Unpack

from framehub.codes import Service
from framehub.errors import LimitExceeded, LocalProtocolError, StreamAborted
from framehub.mfp.frames import Files
from tests.simulation.accounts import answer_to, chunk_number
from tests.simulation.book import Asked, Flow, Said, Set, must
from tests.simulation.hearing import Hearing


class Flags(TypedDict, total=False):
    """What may be asked for with any frame."""

    need_ack: bool
    checksum: bool


class Side(Hearing):
    """One whole side."""

    _tokens = 0

    def request(self, now: float, timeout: float | None, files: Files = (), **flags: Unpack[Flags]) -> None:
        book, token = self.book, self._token()
        if len(book.asked) >= book.settings.max_requests:
            self._refuses(LimitExceeded, lambda: self.machine.request(token, now=now))
            return
        id_ = self.machine.request(token, files, now=now, timeout=timeout, **flags)
        exchange = self._sends_one(id_, **flags)
        wait = book.settings.request_timeout if timeout is None else timeout
        book.asked[id_] = Asked(exchange, now + wait, token)
        self.accounts.asks(token, files)
        self._settled()

    def cancel(self, id_: int) -> None:
        waits = id_ in self.book.asked
        must(self.machine.cancel(id_) is waits, "M6", "cancelling request {}, waiting: {}", id_, waits)
        self.book.acks.discard(id_)
        if waits:
            self.accounts.request_ends(self.book.settle(id_).token, "cancelled")
            self.book.given_up.add(id_)
        self._says([Said(Service.ABORT, id_, True)] if waits else [])
        self._settled()

    def respond(self, ref: int, files: Files = (), **flags: Unpack[Flags]) -> None:
        asked = self.book.answering.get(ref)
        payload = answer_to(asked.token if asked else b"")
        id_ = self.machine.respond(ref, payload, files, **flags)
        must((id_ is None) is (asked is None), "M6", "answered {} as {}", ref, id_)
        if id_ is None or asked is None:
            self._says([])
            self.accounts.counts["answers made too late"] += 1
        else:
            exchange = self._sends_one(id_, **flags)
            must(exchange == asked.exchange, "M7", "{} was answered in another exchange", ref)
            self.book.end_theirs(ref)
            self.book.is_over(id_)
        self._settled()

    def refuse(self, ref: int) -> None:
        """A request or a message of the peer's."""
        asked = self.book.answering.get(ref)
        self.machine.refuse(ref)
        (sent,) = self._says([Said(Service.ABORT, ref)])
        opened = asked.exchange if asked else self.refusable.pop(ref)
        must(sent.exchange == opened, "M10", "{} was refused in another exchange", ref)
        if asked:
            self.book.end_theirs(ref)
        self._settled()

    def message(self, files: Files = (), **flags: Unpack[Flags]) -> None:
        token = self._token()
        id_ = self.machine.message(token, files, **flags)
        self._sends_one(id_, **flags)
        self.accounts.tells(token, dict(files))
        self._told(id_, token)
        self._settled()

    def announce(self, keys: tuple[int, ...], padding: int, **flags: Unpack[Flags]) -> None:
        book, token = self.book, self._token(padding)
        too_much = book.announced_bytes + len(token) > book.settings.max_waiting_bytes
        if too_much or len(book.sets) >= book.settings.max_announced:
            self._refuses(LimitExceeded, lambda: self.machine.message(token, expected=keys))
            return
        id_ = self.machine.message(token, expected=keys, **flags)
        exchange = self._sends_one(id_, **flags)
        self.book.sets[id_] = Set(exchange, token, keys)
        self.accounts.tells(token, {})
        self._settled()

    def file(self, ref: int, key: int, data: bytes, **flags: Unpack[Flags]) -> None:
        """One announced file; refused if it is not waited for."""
        ours = self.book.sets.get(ref)
        if ours is None or key not in ours.missing:
            self._refuses(LocalProtocolError, lambda: self.machine.file(ref, key, data))
            return
        if self.book.announced_bytes + len(data) > self.book.settings.max_waiting_bytes:
            self._refuses(LimitExceeded, lambda: self.machine.file(ref, key, data))
            return
        exchange = self._sends_one(self.machine.file(ref, key, data, **flags), **flags)
        must(exchange == ours.exchange, "M11", "a file of message {} in another exchange", ref)
        ours.missing.remove(key)
        ours.bytes += len(data)
        self.accounts.messages[ours.token].files[key] = data
        if not ours.missing:
            del self.book.sets[ref]
            self._told(ref, ours.token)
        self._settled()

    def open_stream(self, **flags: Unpack[Flags]) -> None:
        book, token = self.book, self._token()
        if len(book.streams) >= book.settings.max_streams:
            self._refuses(LimitExceeded, lambda: self.machine.message(token, streaming=True))
            return
        id_ = self.machine.message(token, streaming=True, **flags)
        book.streams[id_] = Flow(self._sends_one(id_, **flags), token)
        self.accounts.opens(token)
        self._settled()

    def chunk(
        self,
        ref: int,
        *,
        key: int | None,
        final: bool,
        bare: bool = False,
        padding: int = 0,
        **flags: Unpack[Flags],
    ) -> None:
        """The next chunk; ``bare``: a last frame with nothing in it. Refused if the stream is not open."""
        flow = self.book.streams.get(ref)
        if flow is None:
            self._refuses(StreamAborted, lambda: self.machine.chunk(ref, b"", key=key, final=final))
            return
        data = b"" if bare else chunk_number(flow.chunks, padding)
        id_ = self.machine.chunk(ref, data, key=None if bare else key, final=final, **flags)
        self.accounts.sends_chunk(flow.token, counted=not bare, final=final)
        exchange = self._sends_one(id_, **flags)
        must(exchange == flow.exchange, "M12", "a chunk of stream {} in another exchange", ref)
        flow.chunks += not bare
        if final:
            del self.book.streams[ref]
            self._told(ref, flow.token)
        self._settled()

    def give_up(self, ref: int) -> None:
        """An announced message or a stream of ours."""
        live = ref in self.book.sets or ref in self.book.streams
        must(self.machine.give_up(ref) is live, "M16", "giving up {}, open: {}", ref, live)
        self.book.acks.discard(ref)
        if live:
            self._ours_ends(ref, "given up")
        self._says([Said(Service.ABORT, ref, True)] if live else [])
        self._settled()

    def abort_stream(self, ref: int) -> None:
        """Read no more of a stream of the peer's."""
        flow = self.book.inflow.get(ref)
        must(self.machine.abort_stream(ref) is (flow is not None), "M16", "aborting {}", ref)
        self._says([Said(Service.ABORT, ref)] if flow else [])
        if flow:
            self.accounts.reader_stops(flow.token, "an abort of its reader")
            self.book.end_theirs(ref, swallow=True)
        self._settled()

    def ping(self, now: float) -> None:
        id_ = self.machine.ping(now)
        self._sends_one(id_)
        self.book.pings.add(id_)
        self.pinged[id_] = now
        self.accounts.counts["pings"] += 1
        self._settled()

    def forget(self, id_: int) -> None:
        """Wait no longer for an acknowledgement or a pong."""
        self.machine.forget(id_)
        if id_ in self.book.acks or id_ in self.book.pings:
            self.book.is_over(id_)
        self.book.acks.discard(id_)
        self.book.pings.discard(id_)
        self.pinged.pop(id_, None)
        self._says([])
        self._settled()

    def _token(self, padding: int = 0) -> bytes:
        self._tokens += 1
        return b"%s%d" % (self.name.encode(), self._tokens) + b"~" * padding

    def _told(self, id_: int, token: bytes) -> None:
        self.book.is_over(id_)
        self.book.refusable[id_] = token
