"""Endpoints that are functions of hub services: a request is a stream of one question, a stream a stream."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any, Final, NamedTuple

from framehub.codes import ErrorCode, HubState
from framehub.errors import ConnectionClosed, EndpointError, FramehubError, LimitExceeded, StreamAborted
from framehub.gateway.arguments import refusal
from framehub.gateway.bodies import answer_of, body_of, error_of, json_body
from framehub.gateway.guest import Conversation, Guest
from framehub.runtime.calls import Call
from framehub.runtime.hub import Hub
from framehub.runtime.peer import Peer
from framehub.runtime.streams import InStream
from framehub.runtime.zmq_setup import LARGEST_MESSAGE

LONGEST_NAME: Final = 512
"""Characters of ``service.function``; what is longer is not looked up."""
LARGEST_ANSWER: Final = LARGEST_MESSAGE
"""Bytes of all that a service says to one request."""

LEAVING: Final = 1.0
"""Seconds that a client has to end its stream after the service has; what it says then is dropped."""


class Target(NamedTuple):
    """A function of a service, by numbers."""

    service: int
    function: int


class ServiceCalls:
    """Streams of MFP clients, each connection a client of the hub."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._guests: dict[Peer, Guest] = {}

    @property
    def names(self) -> list[str]:
        """Functions with a name, of services with a name."""
        instances = self._hub.switch.instances.values()
        return sorted(
            {f"{one.name}.{function}" for one in instances if one.name for function in one.functions}
        )

    def find(self, endpoint: str) -> Target | None:
        """What ``service.function`` means; a function may be given by its number."""
        at = len(endpoint) if len(endpoint) <= LONGEST_NAME else 0
        while (at := endpoint.rfind(".", 0, at)) > 0:
            instance = self._hub.switch.service_named(endpoint[:at])
            if instance is not None:
                number = instance.functions.get(endpoint[at + 1 :], _number(endpoint[at + 1 :]))
                if number is not None:
                    return Target(instance.number, number)
        return None

    def call(self, call: Call) -> Awaitable[Any]:
        """Ask the service; give what it says, or raise what the caller is to be told."""
        return self._call(call)

    async def stream(self, stream: InStream) -> None:
        """Have a stream with the service; what it says goes back as a stream to the same endpoint."""
        with suppress(StreamAborted, ConnectionClosed):  # whoever did that knows
            await self._stream(stream)

    # --- inside ----------------------------------------------------------------------------------------

    async def _call(self, call: Call) -> Any:
        guest = self._guest(call.peer)
        await guest.speaking()
        target = self._target(call.endpoint)
        parent = call.peer.exchange_name(call.number)
        conversation = guest.open(target.service, target.function, body_of(call), parent=parent)
        try:
            await conversation.say(b"", last=True)
            return await _answer(call.endpoint, conversation)
        finally:
            conversation.close()

    async def _stream(self, stream: InStream) -> None:
        guest = self._guest(stream.peer)
        await guest.speaking()
        target = self._target(stream.endpoint)
        parent = bytes.fromhex(stream.exchange)
        conversation = guest.open(target.service, target.function, json_body(stream.data), parent=parent)
        upward = asyncio.get_running_loop().create_task(_pass_up(stream, conversation))
        try:
            await _pass_down(stream, conversation)
            await asyncio.wait([upward], timeout=LEAVING)
        finally:
            upward.cancel()
            conversation.close()
            await asyncio.wait([upward])

    def _guest(self, peer: Peer) -> Guest:
        guest = self._guests.get(peer)
        if guest is None:
            guest = self._guests[peer] = Guest(self._hub, peer)
            peer.closed.add_done_callback(lambda _closed: self._guests.pop(peer))
        return guest

    def _target(self, endpoint: str) -> Target:
        target = self.find(endpoint)
        if target is None:  # it has just gone
            raise refusal(ErrorCode.UNKNOWN_ENDPOINT, f"no endpoint {endpoint!r} here")
        return target


async def _answer(endpoint: str, conversation: Conversation) -> Any:
    messages: list[bytes] = []
    size = 0
    while True:
        frame = await conversation.hear()
        size += len(frame.body)
        if size > LARGEST_ANSWER:
            text = f"{endpoint}: an answer of more than {LARGEST_ANSWER} bytes: ask with a stream"
            raise refusal(ErrorCode.LIMIT, text)
        if frame.state is HubState.LAST:
            return answer_of(messages, frame.body)
        if frame.state is not HubState.MESSAGE:
            raise error_of(frame)
        messages.append(frame.body)


async def _pass_up(stream: InStream, conversation: Conversation) -> None:
    """Each frame of the client's is a message, its last frame the last."""
    try:
        async for chunk in stream:
            await conversation.say(chunk.data, last=chunk.is_last)
            if chunk.is_last:
                return
        await conversation.say(b"", last=True)
    except FramehubError as exc:
        conversation.give_up(exc)


async def _pass_down(stream: InStream, conversation: Conversation) -> None:
    """Each body of the service's is a frame; an error is the last one."""
    frame: Any = None
    error: EndpointError | None = None
    try:
        frame = await conversation.hear()
    except EndpointError as exc:
        error = exc
    async with stream.peer.stream(stream.endpoint, {"stream": stream.id}) as out:
        out.on_refused(conversation.give_up)
        while error is None:
            try:
                if frame.state not in (HubState.MESSAGE, HubState.LAST):
                    error = error_of(frame)
                    break
                if frame.body or frame.state is HubState.MESSAGE:
                    await out.write_data(frame.body)
                if frame.state is HubState.LAST:
                    return
                frame = await conversation.hear()
            except EndpointError as exc:
                error = exc
            except LimitExceeded as exc:
                error = refusal(ErrorCode.LIMIT, f"what the service says is too big: {exc}")
        await out.finish(json_body(error.value))


def _number(text: str) -> int | None:
    """A function's number, written as one."""
    if len(text) > 3 or not (text.isascii() and text.isdigit()):
        return None
    number = int(text)
    return number if number <= 255 and text == str(number) else None
