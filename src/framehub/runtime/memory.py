"""Two peers joined in memory: the rules of a connection without a socket, for tests and for one process."""

import asyncio
import secrets

from framehub.mfp.settings import Settings
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.peer import Peer
from framehub.runtime.tap import Tap


class MemoryLink:
    """One end of a pair; frames arrive in the next pass of the loop, in order."""

    def __init__(self) -> None:
        self.full = False
        self.owner: Peer | None = None
        self.other: MemoryLink | None = None
        self._loop = asyncio.get_running_loop()
        self._held: list[bytes] = []
        self._pauses: set[str] = set()
        self._closed = False

    def send(self, data: bytes) -> None:
        """Hand one frame to the other end."""
        if not self._closed and self.other is not None:
            self._loop.call_soon(self.other.deliver, data)

    def deliver(self, data: bytes) -> None:
        """Take one frame from the other end."""
        if self._pauses:
            self._held.append(data)
        elif not self._closed and self.owner is not None:
            self.owner.frame_received(data)

    def pause(self, why: str) -> None:
        """Hold what comes."""
        self._pauses.add(why)

    def resume(self, why: str) -> None:
        """Give out what was held, unless there is another reason not to."""
        self._pauses.discard(why)
        if self._pauses:
            return
        held, self._held = self._held, []
        for data in held:
            self.deliver(data)

    def close(self, code: int, reason: str) -> None:
        """End both ends."""
        for end in (self, self.other):
            if end is not None and not end._closed:
                end._closed = True
                self._loop.call_soon(end._lost, code, reason)

    def _lost(self, code: int, reason: str) -> None:
        if self.owner is not None:
            self.owner.link_lost(code, reason)


def pair(
    ours: Endpoints | None = None,
    theirs: Endpoints | None = None,
    *,
    settings: Settings | None = None,
    tap: Tap | None = None,
) -> tuple[Peer, Peer]:
    """Two peers that are each other's other end; ``tap`` records what the second one sees."""
    left, right = MemoryLink(), MemoryLink()
    left.other, right.other = right, left
    name = secrets.token_bytes(8)
    agreed = settings or Settings()
    left.owner = Peer(agreed, left, ours or Endpoints(), link_id=name)
    right.owner = Peer(
        agreed, right, theirs or Endpoints(), link_id=name, tap=tap.link(name) if tap else None
    )
    return left.owner, right.owner
