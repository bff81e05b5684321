"""The small contract between a peer and whatever carries its frames."""

from typing import Final, Protocol

SOFT_BYTES: Final = 256 * 1024
"""Waiting to be sent on one link: above this we stop producing."""
AHEAD_BYTES: Final = 8 * 1024 * 1024
"""What a listener still reads from a peer that is behind with reading: what it asks for waits in memory."""


class Link(Protocol):
    """One connection that carries whole frames."""

    def send(self, *pieces: bytes) -> bool:
        """Send one frame, now or soon, in order; false if the link is going down and takes none.

        Mostly it is in one piece. Several stand one behind the other, so that nothing large need be copied.
        """

    def pause(self, why: str) -> None:
        """Stop delivering frames until ``resume`` was called for every reason."""

    def resume(self, why: str) -> None:
        """This reason is gone."""

    @property
    def excused(self) -> bool:
        """Whether silence proves nothing: we do not read, or a frame has begun and is not whole."""

    def close(self, code: int, reason: str) -> None:
        """End the connection, and tell the other side why."""


class LinkOwner(Protocol):
    """Who is told what happens on a link."""

    def frame_received(self, data: bytes | memoryview) -> None:
        """One whole frame came; a view is good for the time of this call."""

    def link_full(self) -> None:
        """Wait with sending until ``link_ready``."""

    def link_ready(self) -> None:
        """The other side has caught up."""

    def link_lost(self, code: int, reason: str) -> None:
        """The connection is gone. Told once."""
