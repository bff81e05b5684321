"""Signs of life and of use, told once more from spec/mfp.md, 8.7: what a look at the clock must find."""

from math import inf

from framehub.codes import CloseCode
from framehub.mfp import events
from framehub.mfp.settings import Settings
from tests.simulation.book import must


class Signs:
    """One side's, by its own clock."""

    def __init__(self, settings: Settings) -> None:
        self._silence = settings.keepalive
        self._idle = settings.idle_timeout
        self._heard = self._used = 0.0
        self._since: float | None = None
        """What is older proves nothing: the first look, or the last ping while we did not read."""
        self._knocked: float | None = None
        self._looks = 0
        """Since that ping."""

    def came(self, now: float, *, service: bool) -> None:
        """A frame of the peer."""
        self._heard = now
        if not service:
            self._used = now

    def went(self, now: float) -> None:
        """A frame of ours that is no service frame."""
        self._used = now

    def looked(
        self,
        now: float,
        *,
        knocks: bool,
        over: events.ConnectionOver | None,
        deaf: bool,
        waiting: bool,
        wakes: float | None,
    ) -> None:
        """The machine looked: did it ping, or call the connection over, exactly when it should?"""
        since = self._since = now if self._since is None else self._since
        last = max(self._heard, since)
        self._looks += 1
        if knocks:
            must(now >= last + self._silence, "8.7.1", "pinged after {} s", now - last)
            again = self._knocked is not None and self._knocked > last
            must(deaf or not again, "8.7.1", "pinged twice in one silence")
            self._knocked, self._looks = now, 0
            if deaf:
                self._since = now
        if over is not None:
            self._is_over(over, now, last, deaf=deaf, waiting=waiting)
            return
        if now >= last + self._silence:
            knocked = -inf if self._knocked is None else self._knocked
            pinged = now < knocked + self._silence if deaf else knocked >= last
            # One that stopped reading after its last call to the peer will look again before long.
            pinged = pinged or (deaf and wakes is not None and wakes <= now + self._silence / 8)
            must(pinged, "8.7.3" if deaf else "8.7.1", "no ping after {} s", now - last)
        latest = now + min(self._silence, self._idle)
        must(latest == inf or (wakes is not None and wakes <= latest), "8.7.1", "wakes at {}", wakes)

    def _is_over(
        self, over: events.ConnectionOver, now: float, last: float, *, deaf: bool, waiting: bool
    ) -> None:
        """[MFP-8.7.2] [MFP-8.7.4] A dead peer was pinged and stayed silent; an idle connection rests."""
        if over.code is CloseCode.GOING_AWAY:
            must(not deaf, "8.7.3", "called dead by one that does not read")
            knocked = self._knocked
            must(knocked is not None and knocked >= last, "8.7.2", "called dead without a ping")
            waited = now - (knocked or 0.0)
            must(now >= (knocked or 0.0) + self._silence, "8.7.2", "called dead {} s after the ping", waited)
            must(self._looks > 1, "8.7.2", "called dead at the first look after the ping")
        else:
            must(now >= self._used + self._idle, "8.7.4", "called idle, used at {}", self._used)
            must(not waiting and not deaf, "8.7.4", "called idle with requests under way, or unread frames")
