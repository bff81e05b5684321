"""One MFP connection, the half that its owner speaks to: what we ask, tell, answer and give up. Pure.

It holds the tables of both directions; ``framehub.mfp.connection`` is the half that listens to the peer.
"""

from collections.abc import Callable, Sequence
from math import inf

from framehub.codes import Service
from framehub.mfp.announced import Announced
from framehub.mfp.answering import Answering
from framehub.mfp.asked import Asked
from framehub.mfp.awaited import Awaited
from framehub.mfp.conduct import Conduct
from framehub.mfp.dropped import Dropped
from framehub.mfp.frames import Files
from framehub.mfp.liveness import Liveness
from framehub.mfp.negotiation import Told
from framehub.mfp.outbox import Outbox, Outgoing
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings
from framehub.mfp.streams import Streams
from framehub.mfp.telling import Telling
from framehub.mfp.unknowns import Unknowns


class Speaking:
    """What is under way on one connection, and what its owner may do about it."""

    def __init__(self, settings: Settings, *, first_id: int = 1) -> None:
        self.settings = settings
        self.request_timeout = settings.request_timeout
        """Seconds after which a request of ours is given up that names no time of its own."""
        self.ignored = 0
        """Service frames about nothing we know: lawful one by one, suspicious in crowds."""
        self.deaf = False
        """Set it while the peer is not read: its silence means nothing then."""
        self._heard = self._heard_service = -inf  # when a frame came: a service frame, and any other
        self.outbox = Outbox(settings, self._is_live, first_id=first_id)
        """What waits to be sent; the owner drains it."""
        self._conduct = Conduct(settings)
        # What we sent, by our ids.
        self._past_ours = Remembered(settings.remembered)
        self._asked = Asked(settings, self.outbox, self._past_ours)
        self._unknowns = Unknowns(self.outbox)
        self._awaited = Awaited(self.outbox, self._past_ours)
        self._liveness = Liveness(settings, self.outbox, self._awaited)
        self._telling = Telling(settings, self.outbox, self._past_ours)
        # What the peer sent, by its ids. A message in one frame has nothing to give up: kept apart (8.5).
        self._past_theirs = Remembered(settings.remembered)
        self._told = Remembered(settings.remembered)
        self._answering = Answering(settings, self.outbox, self._past_theirs)
        self._dropped = Dropped(settings, self.outbox, self._past_theirs)
        self._announced = Announced(settings, self._dropped, self._past_theirs)
        self._streams = Streams(settings, self._dropped, self._past_theirs)

    # --- what the owner sends --------------------------------------------------------------------------

    def request(
        self,
        payload: bytes,
        files: Files = (),
        *,
        now: float,
        timeout: float | None = None,
        need_ack: bool = False,
        checksum: bool = False,
    ) -> int:
        """Ask; the id under which the answer will be told.

        Raises:
            LimitExceeded: too many requests wait already, or this one is too big for a frame.
        """
        deadline = now + (self.request_timeout if timeout is None else timeout)
        id_, exchange = self._asked.ask(payload, files, deadline, need_ack, checksum)
        if need_ack:
            self._awaited.acks[id_] = exchange
        return id_

    def message(
        self,
        payload: bytes,
        files: Files = (),
        *,
        expected: tuple[int, ...] = (),
        streaming: bool = False,
        need_ack: bool = False,
        checksum: bool = False,
    ) -> int:
        """Tell; files of ``expected`` keys follow by ``file``, the chunks of a stream by ``chunk``."""
        id_, exchange = self._telling.message(
            payload, files, expected=expected, streaming=streaming, need_ack=need_ack, checksum=checksum
        )
        return self._waiting(id_, exchange, need_ack)

    def file(self, ref: int, key: int, data: bytes, *, need_ack: bool = False, checksum: bool = False) -> int:
        """One announced file of our message ``ref``; the last missing one ends it."""
        id_, exchange = self._telling.file(ref, key, data, need_ack=need_ack, checksum=checksum)
        return self._waiting(id_, exchange, need_ack)

    def chunk(
        self,
        ref: int,
        data: bytes,
        *,
        key: int | None = None,
        final: bool = False,
        need_ack: bool = False,
        checksum: bool = False,
    ) -> int:
        """The next chunk of our stream ``ref``: of the file ``key``, or data that is no file.

        Raises:
            StreamAborted: the peer wants no more of it.
        """
        id_, exchange = self._telling.chunk(
            ref, data, key=key, final=final, need_ack=need_ack, checksum=checksum
        )
        return self._waiting(id_, exchange, need_ack)

    def give_up(self, ref: int) -> bool:
        """Abort an announced message or a stream of ours; false if it was over."""
        self._awaited.acks.pop(ref, None)
        return self._telling.give_up(ref)

    def abort_stream(self, ref: int) -> bool:
        """Want no more of a stream of the peer's; false if it was over."""
        return self._streams.abort(ref)

    def respond(
        self, ref: int, payload: bytes, files: Files = (), *, need_ack: bool = False, checksum: bool = False
    ) -> int | None:
        """Answer the peer's request; None, and nothing is sent, if it no longer waits."""
        sent = self._answering.respond(ref, payload, files, need_ack, checksum)
        if sent is None:
            return None
        id_, exchange = sent
        self._past_ours.add(id_, exchange)
        if need_ack:
            self._awaited.acks[id_] = exchange
        return id_

    def refuse(self, ref: int) -> None:
        """Tell the peer that its request or message will not be worked on."""
        if not self._answering.refuse(ref):
            self.outbox.service(Service.ABORT, ref, self._theirs(ref))

    def cancel(self, id_: int) -> bool:
        """Give up a request of ours that still waits, and say so if we may; false if it was settled."""
        self._awaited.acks.pop(id_, None)
        return self._asked.cancel(id_)

    def ask_before_cancels(self, may_cancel: Callable[[], bool]) -> None:
        """Have this asked for each request of ours that is given up; false: the peer is not told (8.2.3)."""
        self._asked.may_cancel = may_cancel

    def ping(self, now: float) -> int:
        """Ask for a sign of life; the id under which the pong will be told."""
        return self._awaited.ping(now)

    def forget(self, id_: int) -> None:
        """Wait no longer for the pong or the acknowledgement of ``id_``; one that comes late is ignored."""
        self._awaited.forget(id_)

    def is_telling(self, ref: int) -> bool:
        """Whether our announced message or stream ``ref`` goes on: not if the peer refused it."""
        return ref in self._telling

    def keep_to(self, told: Told) -> None:
        """The peer told what it takes: ask for no more, and wait no longer than it works."""
        self.outbox.keep_to(told.limits)
        self.request_timeout = min(self.request_timeout, told.request_timeout)

    def seal(self) -> None:
        """Send no frame without a checksum from now on, service frames included, unless checksums are off."""
        self.outbox.seal()

    def check_sizes(self, payload: int, files: Sequence[int]) -> None:
        """Raise ``LimitExceeded`` for what no frame to this peer can carry, by sizes alone."""
        self.outbox.check_sizes(payload, files)

    def check_announced(self, payload: int, files: Sequence[int]) -> None:
        """Raise ``LimitExceeded`` for an announced message that this peer can never take, by sizes alone."""
        self._telling.check_announced(payload, files)

    def drain(self) -> list[Outgoing]:
        """Take everything that waits to be sent, in order."""
        return self.outbox.drain()

    def close(self) -> None:
        """Forget everything: nothing is sent, received or waited for any more."""
        self.outbox.close()
        self._asked.clear()
        self._awaited.clear()
        self._liveness.stop()
        self._telling.clear()
        self._past_ours.clear()
        self._past_theirs.clear()
        self._told.clear()
        self._answering.clear()
        self._announced.clear()
        self._streams.clear()
        self._dropped.clear()
        self._unknowns.clear()

    @property
    def taken(self) -> int:
        """Requests and streams of the peer's that are under way."""
        return len(self._answering) + len(self._streams)

    @property
    def pending(self) -> int:
        """How much is under way in both directions; 0 after ``close``."""
        ours = len(self._asked.waiting) + len(self._awaited) + len(self._telling)
        return ours + len(self._answering) + len(self._announced) + len(self._streams)

    def _theirs(self, ref: int) -> int:
        """The exchange of what the peer last sent under this id and has finished, or 0."""
        return max(self._past_theirs.get(ref), self._told.get(ref))

    def _is_live(self, id_: int) -> bool:
        return self._asked.is_live(id_) or id_ in self._awaited or id_ in self._telling

    def _waiting(self, id_: int, exchange: int, need_ack: bool) -> int:
        if need_ack:
            self._awaited.acks[id_] = exchange
        return id_
