"""What a link does about a peer that is behind with reading, or sends much, whatever carries its frames."""

import asyncio
from typing import Final

from framehub.codes import CloseCode
from framehub.runtime.link import AHEAD_BYTES, SOFT_BYTES, LinkOwner
from framehub.runtime.uptake import Uptake

PROVOKED_BYTES: Final = 2 * SOFT_BYTES
"""Above this there is more than we produce of our own accord: a listener stops reading from that peer."""
HARD_BYTES: Final = 1024 * 1024
"""Above this plus one whole frame the connection is ended: only what a peer provokes gets here."""


class Behind:
    """The half of a link that bounds what waits for its peer; the other half carries the bytes."""

    _loop: asyncio.AbstractEventLoop
    _owner: LinkOwner | None
    _listening: bool
    _max_sent: int
    """The largest frame that we send."""
    _patience: float
    _uptake: Uptake | None = None  # made when first used: most peers read
    _ahead: int | None = None  # read since the peer is behind

    def pause(self, why: str) -> None:
        """Stop reading."""
        raise NotImplementedError

    def resume(self, why: str) -> None:
        """Read again, unless there is another reason not to."""
        raise NotImplementedError

    def close(self, code: int, reason: str) -> None:
        """End the connection."""
        raise NotImplementedError

    def _waiting_bytes(self) -> int:
        raise NotImplementedError

    def pause_writing(self) -> None:
        """The peer reads too slowly."""
        self._ahead = 0
        if self._listening:
            if self._uptake is None:
                self._uptake = Uptake(2 * self._patience, self._waiting_bytes, self._stuck)
            self._uptake.begin()
        if self._owner is not None:
            self._owner.link_full()

    def resume_writing(self) -> None:
        """The peer has caught up."""
        self._ahead = None
        self._stop_watching()
        if self._listening:
            self.resume("slow")
        if self._owner is not None:
            self._owner.link_ready()

    def _stop_watching(self) -> None:
        if self._uptake is not None:
            self._uptake.end()
            self._uptake = None  # it knows us

    def _read_ahead(self, size: int) -> None:
        """So much was read of a peer that may be behind: not much more of it is."""
        if self._ahead is not None and self._listening:
            self._ahead += size
            if self._ahead > AHEAD_BYTES:
                self.pause("slow")

    def _guard(self) -> None:
        """Bound what waits for a peer that asks for answers and does not read them."""
        waiting = self._waiting_bytes()
        if waiting > PROVOKED_BYTES and self._listening:
            self.pause("slow")
        if waiting > HARD_BYTES + self._max_sent:
            self.close(CloseCode.POLICY, "the peer does not read")

    def _let_others(self) -> None:
        """Read on when all others have had their turn."""
        self.pause("turn")
        self._loop.call_soon(self.resume, "turn")

    def _stuck(self) -> None:
        self.close(CloseCode.POLICY, "the peer takes nothing of what waits for it")
