"""Acknowledgements and pongs that we wait for (spec/mfp.md, 4 and 8.1). Pure."""

from framehub.mfp.events import Acknowledged, PongReceived
from framehub.mfp.outbox import Outbox
from framehub.mfp.remembered import Remembered


class Awaited:
    """By the id of the frame of ours that they are about."""

    def __init__(self, outbox: Outbox, past: Remembered) -> None:
        self._outbox = outbox
        self._past = past
        self.acks: dict[int, int] = {}
        """The exchange of each frame of ours that is to be acknowledged."""
        self._pings: dict[int, tuple[int, float]] = {}

    def __len__(self) -> int:
        return len(self.acks) + len(self._pings)

    def __contains__(self, id_: int) -> bool:
        return id_ in self.acks or id_ in self._pings

    def ping(self, now: float) -> int:
        """Send a ping whose pong is waited for; its id."""
        id_, exchange = self._outbox.ping()
        self._pings[id_] = (exchange, now)
        return id_

    def knock(self) -> None:
        """Send a ping; any frame is an answer to it, so its pong is not waited for."""
        self._past.add(*self._outbox.ping())

    def came(self, ref: int, now: float) -> Acknowledged | PongReceived | None:
        """An ack of ours; None if nobody waits for it."""
        if ping := self._pings.pop(ref, None):
            exchange, sent = ping
            return PongReceived(ref, now - sent, exchange)
        if exchange := self.acks.pop(ref, 0):
            return Acknowledged(ref, exchange)
        return None

    def forget(self, id_: int) -> None:
        """Wait no longer; what comes late is ignored."""
        if exchange := self.acks.pop(id_, 0):
            self._past.add(id_, exchange)
        if ping := self._pings.pop(id_, None):
            self._past.add(id_, ping[0])

    def clear(self) -> None:
        """Forget everything."""
        self.acks.clear()
        self._pings.clear()
