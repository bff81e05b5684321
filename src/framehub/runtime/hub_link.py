"""One client of the hub on its WebSocket."""

from typing import TYPE_CHECKING, Protocol

from framehub.hub.parties import Client

if TYPE_CHECKING:
    from framehub.runtime.accounts import Account
    from framehub.runtime.hub import Hub
    from framehub.runtime.link import Link


class Outlet(Protocol):
    """Where what is for a client goes: a ``Link``, or something inside this process."""

    def send(self, data: bytes, /) -> bool:
        """Send one frame; false if none is taken any more."""

    def pause(self, why: str) -> None:
        """Take no frames of the client's until ``resume`` was called for every reason."""

    def resume(self, why: str) -> None:
        """This reason is gone."""

    def close(self, code: int, reason: str) -> None:
        """Send it away; ``Hub.left`` is to be called when it has gone."""


class HubLink:
    """Owns a WebSocket; all it knows it tells the hub."""

    __slots__ = ("_hub", "_link", "client")

    def __init__(self, hub: "Hub", link: "Link", client: Client) -> None:
        self.client = client
        self._hub = hub
        self._link = link

    def frame_received(self, data: bytes | memoryview) -> None:
        """The client says something."""
        self._hub.says(self.client, data)

    def keep_to(self, account: "Account") -> None:
        """Open only what this account allows."""
        self.client.refusal = account.refusal
        account.joined(self, lambda: len(self.client.streams))

    def link_full(self) -> None:
        """The client is behind with reading: what its streams say waits."""
        self.client.is_full = True

    def link_ready(self) -> None:
        """It has caught up."""
        self.client.is_full = False
        self._hub.caught_up(self.client)

    def link_lost(self, code: int, reason: str) -> None:
        """It has gone."""
        self._hub.left(self.client, code, reason)
