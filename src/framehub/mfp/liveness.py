"""Whether the peer still lives, and whether a connection is still used (spec/mfp.md, 8.7). Pure.

Nothing is counted per frame: the owner notes when it last heard something, and looks at that now and then. A
look that comes early only says when to look again. Silence alone never kills: the peer is pinged first, and
then looked at twice, the second time a while after the first. So a clock that jumps, or a process that slept,
first reads what came meanwhile.
"""

from math import inf

from framehub.codes import CloseCode
from framehub.mfp.awaited import Awaited
from framehub.mfp.events import ConnectionOver
from framehub.mfp.outbox import Outbox
from framehub.mfp.settings import Settings


class Liveness:
    """Looks at one connection; ``next`` is when to look again."""

    def __init__(self, settings: Settings, outbox: Outbox, awaited: Awaited) -> None:
        self._silence = settings.keepalive
        self._idle = settings.idle_timeout
        self._outbox = outbox
        self._awaited = awaited
        self._since = -inf  # what is older than this proves nothing: we were not there, or did not read
        self._used = -inf
        self._sent = 0
        self._pinged: float | None = None
        self._last_call: float | None = None
        self.next = inf if self._silence == self._idle == inf else 0.0

    def look(
        self, now: float, *, heard: float, heard_service: float, waiting: bool, deaf: bool
    ) -> ConnectionOver | None:
        """Judge by when a frame was last ``heard``; ping the peer if it was silent for long.

        ``waiting``: requests are under way, which have a time limit of their own. ``deaf``: we do not read at
        present, so the peer cannot be judged, but shall hear from us.
        """
        if self._since == -inf:
            self._since = now
        used = self._last_use(now, heard, going_on=waiting or deaf)
        if now >= used + self._idle:
            self.next = inf
            return ConnectionOver(CloseCode.OK, f"not used for {self._idle:g} s")
        due = self._last_sign(now, max(heard, heard_service, self._since), deaf=deaf)
        if now >= due:
            self.next = inf
            return ConnectionOver(CloseCode.GOING_AWAY, f"no sign of life for {2 * self._silence:g} s")
        self.next = min(due, used + self._idle)
        return None

    def stop(self) -> None:
        """Look no more."""
        self.next = inf

    def _last_use(self, now: float, heard: float, *, going_on: bool) -> float:
        """When a frame other than a service frame came, or went; when it went is known to one look."""
        sent = self._outbox.sent
        if going_on or sent != self._sent:
            self._sent = sent
            self._used = now
        return max(heard, self._used, self._since)

    def _last_sign(self, now: float, heard: float, *, deaf: bool) -> float:
        """When to look again for signs of life; not after ``now``: there were none, the peer is dead."""
        silence = self._silence
        if deaf or self._pinged is None or heard >= self._pinged:
            self._pinged = self._last_call = None
            if now < heard + silence:
                return heard + silence
            self._awaited.knock()
            if deaf:
                self._since = now
                return now + silence
            self._pinged = now
        if self._last_call is None:
            first_call = self._pinged + silence * 7 / 8
            if now < first_call:
                return first_call
            self._last_call = max(self._pinged + silence, now + silence / 8)
        return self._last_call
