"""An MFP client as a client of the hub, without a WebSocket of its own there."""

import asyncio
from collections import deque
from typing import Final

from framehub.codes import ErrorCode, HubCommand, HubState
from framehub.errors import ConnectionClosed
from framehub.gateway.arguments import refusal
from framehub.hub.headers import LAST_STREAM, HubFrame, Way, decode, encode
from framehub.hub.parties import Stream
from framehub.hub.switch import About
from framehub.journal.record import NO_ID
from framehub.runtime.hub import Hub
from framehub.runtime.link import SOFT_BYTES
from framehub.runtime.peer import Peer

VERSION: Final = 2
FRAME_COST: Final = 128
"""What a waiting frame takes beside its body."""
_COMMAND: Final = HubState.COMMAND


class Guest:
    """One MFP client at the hub; made when it first asks for a service, gone when its connection is."""

    def __init__(self, hub: Hub, peer: Peer) -> None:
        self._hub = hub
        self._peer = peer
        self._open: dict[int, Conversation] = {}
        self._next = 1
        self._pauses: set[str] = set()
        self._may_speak = asyncio.Event()
        self._may_speak.set()
        self._waiting_bytes = 0
        self._leaving: asyncio.Task[None] | None = None
        self._client = hub.join(self, version=VERSION, user=peer.user)
        peer.closed.add_done_callback(self._left)

    def open(self, service: int, function: int, body: bytes, *, parent: bytes) -> "Conversation":
        """Begin a stream.

        Raises:
            EndpointError: ``limit``: the body is too large for one frame, or there are no numbers left.
            ConnectionClosed: the client has gone.
        """
        self.check(body)
        if self._peer.closed.done():
            raise self._peer.closed.result().again()
        if self._next > LAST_STREAM[VERSION]:
            raise refusal(ErrorCode.LIMIT, "this connection has opened too many streams: connect again")
        number, self._next = self._next, self._next + 1
        conversation = self._open[number] = Conversation(self, number)
        about = self.say(HubFrame(number, HubState.FIRST, function, body, service), parent)
        # Refused, or answered by the hub itself: that is on its way, and the stream is over.
        conversation.is_over = not isinstance(about, Stream) or about.is_over
        return conversation

    def check(self, body: bytes) -> None:
        """Refuse what is too large.

        Raises:
            EndpointError: ``limit``.
        """
        most = self._hub.settings.max_frame_bytes
        if len(body) + 8 > most:
            text = f"{len(body)} bytes for a service, the limit is {most - 8}: send them as a stream of parts"
            raise refusal(ErrorCode.LIMIT, text)

    async def speaking(self) -> None:
        """Wait until the hub takes frames of this client."""
        await self._may_speak.wait()

    def say(self, frame: HubFrame, parent: bytes = NO_ID) -> About:
        """Say something to the hub; what it answers comes by ``send``."""
        if self._client.is_gone:
            return None
        return self._hub.says(self._client, encode(frame, VERSION, Way.CLIENT_TO_HUB), parent=parent)

    def forget(self, number: int) -> None:
        """Nothing more is wanted of this stream."""
        self._open.pop(number, None)

    def took(self, frame: HubFrame) -> None:
        """A frame was read."""
        self._waiting_bytes -= len(frame.body) + FRAME_COST
        if self._client.is_full and self._waiting_bytes <= SOFT_BYTES // 2:
            self._client.is_full = False
            self._hub.caught_up(self._client)

    # --- for the hub -----------------------------------------------------------------------------------

    def send(self, data: bytes) -> bool:
        """Take a frame of the hub's."""
        frame = decode(data, VERSION, Way.HUB_TO_CLIENT)
        if frame.stream == 0:
            if frame.state is _COMMAND and frame.parameter == HubCommand.PING:
                pong = HubFrame(0, _COMMAND, HubCommand.PONG, frame.body)
                asyncio.get_running_loop().call_soon(self.say, pong)
            return True
        conversation = self._open.get(frame.stream)
        if conversation is not None:  # else it was closed, and this is late
            self._waiting_bytes += len(frame.body) + FRAME_COST
            self._client.is_full = self._client.is_full or self._waiting_bytes > SOFT_BYTES
            if frame.state is not HubState.MESSAGE:
                del self._open[frame.stream]
            conversation.push(frame)
        return True

    def pause(self, why: str) -> None:
        """Say nothing more for now."""
        self._pauses.add(why)
        self._may_speak.clear()

    def resume(self, why: str) -> None:
        """This reason is gone."""
        self._pauses.discard(why)
        if not self._pauses:
            self._may_speak.set()

    def close(self, code: int, reason: str) -> None:
        """The hub sends it away, for what it did or because all is over: from the whole connection."""
        if self._leaving is None:
            self._leaving = asyncio.get_running_loop().create_task(self._peer.close(code, reason))

    # --- inside ----------------------------------------------------------------------------------------

    def _left(self, closed: asyncio.Future[ConnectionClosed]) -> None:
        error = closed.result()
        self._hub.left(self._client, error.code, error.reason)
        self._may_speak.set()
        for conversation in list(self._open.values()):
            conversation.fail(error)
        self._open.clear()


class Conversation:
    """One stream of a guest's."""

    def __init__(self, guest: Guest, number: int) -> None:
        self._guest = guest
        self._number = number
        self._heard: deque[HubFrame] = deque()
        self._news = asyncio.Event()
        self._error: BaseException | None = None
        self.is_over = False
        """Whether nothing more can be said."""

    async def say(self, body: bytes, *, last: bool = False) -> None:
        """Send a message, or the last frame; waits while the service is behind.

        Raises:
            EndpointError: ``limit``: the body is too large.
        """
        await self._guest.speaking()
        if not self.is_over:
            self._guest.check(body)
            self._guest.say(HubFrame(self._number, HubState.LAST if last else HubState.MESSAGE, 0, body))

    async def hear(self) -> HubFrame:
        """The next frame; what is no message ends the stream.

        Raises:
            BaseException: what ``fail`` was given.
        """
        while not self._heard:
            if self._error is not None:
                raise self._error.with_traceback(None)
            self._news.clear()
            await self._news.wait()
        frame = self._heard.popleft()
        self._guest.took(frame)
        return frame

    def close(self) -> None:
        """Want no more of it: if it is not over, the service is told."""
        self._guest.forget(self._number)
        if not self.is_over:
            self.is_over = True
            self._guest.say(HubFrame(self._number, _COMMAND, HubCommand.CLOSE))
        while self._heard:
            self._guest.took(self._heard.popleft())

    def push(self, frame: HubFrame) -> None:
        """A frame came."""
        self.is_over = frame.state is not HubState.MESSAGE
        self._heard.append(frame)
        self._news.set()

    def give_up(self, error: BaseException | None) -> None:
        """Close it; whoever hears, hears this error."""
        self.close()
        self.fail(error)

    def fail(self, error: BaseException | None) -> None:
        """It is over, and not by the service's doing; what came can still be heard."""
        self.is_over = True
        self._error = error
        self._news.set()
