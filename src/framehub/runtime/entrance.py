"""What is spoken at one path of a WebSocket listener: MFP, or the frames of the hub.

``WebSocketServer`` is given a mapping of paths to entrances. It decides whether somebody may come in at all;
an ``Entrance`` decides what is spoken, and makes the owner of a WebSocket that is open.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from http import HTTPStatus
from typing import Final, Protocol

from picows import WSUpgradeRequest

from framehub.hub import negotiation as hub
from framehub.mfp.negotiation import SUBPROTOCOLS, choose
from framehub.mfp.settings import Settings
from framehub.runtime.link import LinkOwner
from framehub.runtime.websocket import JOINED_FRAMES, WebSocketLink
from framehub.runtime.zmq_setup import LARGEST_MESSAGE

MFP_PATH: Final = "/mfp"
HUB_PATH: Final = "/hub"
ANONYMOUS: Final = 0
"""The user who has no token."""
HUB_MESSAGE_BYTES: Final = 1024 * 1024
HUB_PATIENCE: Final = 30.0
HUB_JOINED: Final = 64
"""Others have made them: there is nothing for the client to begin with while we do."""


class Refused(Exception):
    """An upgrade that gets this answer instead; the text is for whoever asked."""

    def __init__(self, status: HTTPStatus, text: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, text)
        self.status = status
        self.text = text
        self.headers = dict(headers or {})


@dataclass(frozen=True, slots=True)
class Agreed:
    """What an entrance and a client agreed on."""

    own: Callable[[WebSocketLink, int], LinkOwner]
    """Called once the WebSocket is open, with it and the number of its user; 0 is nobody in particular."""
    subprotocol: str | None = None
    """To answer with: one of those that were offered."""


class Entrance(Protocol):
    """One path."""

    max_bytes: int
    """Of one message; what is larger is refused unread (1009)."""
    patience: float
    """Seconds for a message that has begun to come."""
    joined: int
    """Small messages that are written at once, at most."""
    max_sent: int
    """Of one message the other way, if that is more."""

    def agree(self, offered: Sequence[str], request: WSUpgradeRequest) -> Agreed:
        """Agree with a client on what to speak; ``offered`` are its sub-protocols, those of tokens left out.

        Raises:
            Refused: that cannot be.
        """


class OwnMfp(Protocol):
    """Makes the owner of a WebSocket that speaks MFP."""

    def __call__(self, link: WebSocketLink, user: int, *, settings: Settings, greet: bool) -> LinkOwner:
        """``greet`` a peer that offered a sub-protocol."""


class MfpEntrance:
    """MFP (spec/mfp.md, section 9)."""

    def __init__(self, settings: Settings, own: OwnMfp) -> None:
        self.max_bytes = settings.max_frame_bytes
        self.max_sent = settings.max_frame_bytes
        self.patience = settings.progress_timeout
        self.joined = JOINED_FRAMES
        self._settings = settings
        self._own = own
        self._agreed: dict[str | None, Settings] = {None: settings}  # made once: connections share them

    def agree(self, offered: Sequence[str], _request: WSUpgradeRequest) -> Agreed:
        """By the sub-protocol."""
        name = choose(offered, summed=self._settings.verify_always)
        if offered and name is None:
            raise Refused(HTTPStatus.BAD_REQUEST, f"speak one of {', '.join(SUBPROTOCOLS)}")
        if name is not None and name not in self._agreed:
            self._agreed[name] = replace(self._settings, checksums=SUBPROTOCOLS[name])
        return Agreed(partial(self._own, settings=self._agreed[name], greet=name is not None), name)


class OwnHub(Protocol):
    """Makes the owner of a WebSocket that speaks the hub's frames."""

    def __call__(self, link: WebSocketLink, *, version: int, user: int) -> LinkOwner:
        """``version`` is 1 or 2; ``user`` is 0 for somebody who has no token and needs none."""


class HubEntrance:
    """The hub (spec/hub.md, section 6)."""

    def __init__(
        self,
        own: OwnHub,
        *,
        max_bytes: int = HUB_MESSAGE_BYTES,
        max_sent: int = LARGEST_MESSAGE,
        patience: float = HUB_PATIENCE,
    ) -> None:
        self.max_bytes = max_bytes
        self.max_sent = max_sent
        self.patience = patience
        self.joined = HUB_JOINED
        self._own = own

    def agree(self, offered: Sequence[str], request: WSUpgradeRequest) -> Agreed:
        """By header or sub-protocol."""
        try:
            version, name = hub.choose(offered, request.headers.getall(hub.VERSION_HEADER, []))
        except hub.NoVersion as exc:
            raise Refused(HTTPStatus.BAD_REQUEST, str(exc)) from exc

        def own(link: WebSocketLink, user: int) -> LinkOwner:
            return self._own(link, version=version, user=user)

        return Agreed(own, name)
