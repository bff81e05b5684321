"""Transfers that we aborted: what of them is still on its way is no fault (spec/mfp.md, 8.4). Pure."""

from framehub.codes import Service
from framehub.mfp.frames import BinaryFrame
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered
from framehub.mfp.settings import Settings
from framehub.mfp.unknowns import Unknowns


class Dropped:
    """Aborts transfers and swallows the rest of them; tells ``unknown`` from that."""

    def __init__(self, settings: Settings, outbox: Outbox, past: Remembered) -> None:
        self._outbox = outbox
        self._past = past
        self._unknowns = Unknowns(outbox)
        self.times = 0
        """How often that happened: mostly never."""
        self._refs = Remembered(settings.remembered)

    def abort(self, ref: int, exchange: int, *, in_flight: bool = True) -> None:
        """Tell the peer to stop; unless nothing more can come, remember that something may."""
        self.times += 1
        self._past.add(ref, exchange)
        if in_flight:
            self._refs.add(ref, exchange)
        self._outbox.service(Service.ABORT, ref, exchange)

    def swallow_rest(self, ref: int, exchange: int) -> None:
        """It is whole, but its sender said that more follows: that is no fault either."""
        self.times += 1
        self._refs.add(ref, exchange)

    def forgives(self, ref: int) -> bool:
        """Whether more of this transfer may come without its sender's fault."""
        return self._refs.get(ref) != 0

    def late(self, frame: BinaryFrame, exchange: int, now: float) -> None:
        """A binary frame of no living transfer: swallow it, or say that it refers to nothing."""
        if not self.forgives(frame.ref):
            self._unknowns.tell(frame.ref, exchange, ref=frame.ref, now=now)
        elif frame.final:
            self._refs.pop(frame.ref)

    def forget(self, ref: int) -> None:
        """The peer says itself that nothing more comes, or uses this id anew."""
        self._refs.pop(ref)

    def clear(self) -> None:
        """Forget everything."""
        self._refs.clear()
        self._unknowns.clear()
