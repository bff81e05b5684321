"""Two peers joined in memory: the rules of a connection without a socket, for tests and for one process."""

import asyncio
import secrets
from contextvars import copy_context

from framehub.mfp.settings import Settings
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.link import SOFT_BYTES
from framehub.runtime.peer import Peer
from framehub.runtime.tap import Tap


class MemoryLink:
    """One end of a pair; frames arrive in the next pass of the loop, in order."""

    def __init__(self) -> None:
        self.full = False
        self.owner: Peer | None = None
        self.other: MemoryLink | None = None
        self._loop = asyncio.get_running_loop()
        self._held: list[bytes | tuple[int, str]] = []
        self._pauses: set[str] = set()
        self._under_way = 0
        self._closed = False

    def send(self, *pieces: bytes) -> bool:
        """Hand one frame to the other end."""
        if self._closed or self.other is None:
            return False
        data = b"".join(pieces)
        self._loop.call_soon(self.other.deliver, data)
        self._under_way += len(data)
        if self._under_way > SOFT_BYTES and not self.full and self.owner is not None:
            self.full = True
            self.owner.link_full()
        return True

    def deliver(self, item: bytes | tuple[int, str]) -> None:
        """Take one frame from the other end, or its goodbye."""
        if self._pauses:
            self._held.append(item)
        elif isinstance(item, tuple):
            self._lost(*item)
        elif self.owner is not None and self.other is not None:
            self.other._arrived(len(item))
            if not self._closed:
                self.owner.frame_received(item)

    def pause(self, why: str) -> None:
        """Hold what comes."""
        self._pauses.add(why)

    def resume(self, why: str) -> None:
        """Give out what was held, unless there is another reason not to."""
        self._pauses.discard(why)
        if self._pauses:
            return
        held, self._held = self._held, []
        context = copy_context()  # whoever resumes is not who is asked
        for item in held:
            context.run(self.deliver, item)

    @property
    def excused(self) -> bool:
        """Whether we hold what comes."""
        return bool(self._pauses)

    def close(self, code: int, reason: str) -> None:
        """End both ends; the other one first gets what was sent before."""
        if self._closed:
            return
        self._closed = True
        self._loop.call_soon(self._lost, code, reason)
        if self.other is not None:
            self._loop.call_soon(self.other.deliver, (code, reason))

    def _arrived(self, size: int) -> None:
        self._under_way -= size
        if self.full and self._under_way <= SOFT_BYTES // 2 and self.owner is not None:
            self.full = False
            self.owner.link_ready()

    def _lost(self, code: int, reason: str) -> None:
        self._closed = True
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
    left.owner = Peer(agreed, left, ours or Endpoints(), link_id=name, expects_hello=True)
    right.owner = Peer(
        agreed, right, theirs or Endpoints(), link_id=name, tap=tap.link(name) if tap else None
    )
    return left.owner, right.owner
