"""Which PING a PONG answers: both have one exchange in the journal (spec/journal.md, 3.8)."""

from collections import deque
from typing import Final

from framehub.codes import HubCommand, HubState
from framehub.hub.headers import HubFrame
from framehub.journal.hub_rows import ping_exchange
from framehub.journal.record import NO_ID

MOST: Final = 16
"""Of one link and way, that wait for their answer and are remembered for it."""


class Pings:
    """The PINGs of one link, both ways."""

    __slots__ = ("_awaited", "_count", "_link")

    def __init__(self, link: bytes, *, since: int = 0) -> None:
        """``since`` is what they are counted from: a link that may open again needs numbers of its own."""
        self._link = link
        self._count = since
        self._awaited: tuple[deque[tuple[int, int]], ...] = ()  # by direction; made when first used

    def exchange(self, direction: int, frame: HubFrame) -> bytes:
        """That of a frame on stream 0; none but PINGs and PONGs have one."""
        if frame.state is not HubState.COMMAND:
            return NO_ID
        if frame.parameter == HubCommand.PING:
            if not self._awaited:
                self._awaited = (deque(maxlen=MOST), deque(maxlen=MOST))
            self._count += 1
            self._awaited[direction].append((hash(frame.body), self._count))
            return ping_exchange(self._link, self._count)
        if frame.parameter == HubCommand.PONG and self._awaited:
            said, asked = hash(frame.body), self._awaited[1 - direction]
            for entry in asked:
                if entry[0] == said:
                    asked.remove(entry)
                    return ping_exchange(self._link, entry[1])
        return NO_ID
