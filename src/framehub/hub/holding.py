"""Frames for those who are behind with reading (spec/hub.md, section 11). Pure.

What waits for a client waits by stream and goes out in turns, so that one stream does not hold up others.
What waits for a service waits in one row. Both are bounded: a stream with more than that is killed.
"""

from collections import deque
from typing import Final

from framehub.codes import HubError, HubState
from framehub.hub.board import Board, cost
from framehub.hub.headers import HubFrame, Way, encode, stream_and_state
from framehub.hub.parties import Client, Instance, Stream

MOST_NOTICES: Final = 64
"""Frames about a service's link itself that wait for it; PINGs and the like can be done without."""
_FIRST: Final = HubState.FIRST
_ENDINGS: Final = (HubState.STREAM_ERROR, HubState.COMMAND)
"""What the hub itself says of a stream that is over."""


class Holding:
    """Keeps what cannot be sent now."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._settings = board.settings

    # --- for clients -----------------------------------------------------------------------------------

    def hold(self, client: Client, data: bytes, stream: Stream, now: float) -> None:
        """The client's link takes nothing now: let this wait, or kill the stream if it is too much."""
        if client.is_gone or stream.is_cut:
            return
        settings, board = self._settings, self._board
        size = 0 if stream.is_over else cost(data)  # the last frame of a stream goes over the mark
        too_much = (
            stream.held_bytes + size > settings.held_bytes
            or client.held_bytes + size > settings.held_bytes_client
            or board.held_bytes + size > settings.held_bytes_in_all
        )
        if too_much and stream_and_state(data, client.version)[1] not in _ENDINGS:
            self._cut(stream, now)
        else:
            self._put(client, data, stream)

    def next_held(self, client: Client) -> tuple[bytes, Stream] | None:
        """What is to be sent next of what waits for a client; streams take turns."""
        if not client.held:
            return None
        number = next(iter(client.held))
        waiting = client.held.pop(number)
        data, stream = waiting.popleft()
        if waiting:
            client.held[number] = waiting
        self._take_off(client, data, stream)
        return data, stream

    def forget(self, client: Client) -> None:
        """It has gone: nothing waits for it."""
        self._board.held_bytes -= client.held_bytes
        client.held.clear()
        client.held_bytes = 0

    def _put(self, client: Client, data: bytes, stream: Stream) -> None:
        client.held.setdefault(stream.id, deque()).append((data, stream))
        size = cost(data)
        stream.held_bytes += size
        client.held_bytes += size
        self._board.held_bytes += size

    def _take_off(self, client: Client, data: bytes, stream: Stream) -> None:
        size = cost(data)
        stream.held_bytes -= size
        client.held_bytes -= size
        self._board.held_bytes -= size

    def _cut(self, stream: Stream, now: float) -> None:
        """What waits is lost; the client learns that when it reads on, the service now."""
        client, text = stream.client, "the client is too far behind"
        for data, _ in client.held.pop(stream.id, ()):
            self._take_off(client, data, stream)
        stream.is_cut = True
        if not stream.is_over:
            self._board.kill(stream, HubError.LIMIT, text, now, client=False)
        error = HubFrame(stream.id, HubState.STREAM_ERROR, HubError.LIMIT, text.encode())
        self._put(client, encode(error, client.version, Way.HUB_TO_CLIENT), stream)

    # --- for services ----------------------------------------------------------------------------------

    def hold_for_service(self, instance: Instance, data: bytes, stream: Stream | None, now: float) -> None:
        """The service takes nothing now: let this wait, or kill the stream if it is too much."""
        board = self._board
        if instance.is_gone:
            return
        if not instance.is_stuck:
            instance.stuck_since = now
            board.stuck[instance.identity] = instance
        if stream is None:
            if len(instance.held) < MOST_NOTICES:
                self._append(instance, data, None, now)
            else:
                board.counts["not said to services that do not read"] += 1
            return
        state = stream_and_state(data, instance.version)[1]
        if stream.is_over:
            if state in _ENDINGS:  # what else there is came before the end, and is too late
                self._append(instance, data, stream, now)
        elif state == _FIRST:
            board.kill(stream, HubError.BUSY, "the service takes nothing now", now, service=False)
        else:
            self._wait(instance, data, stream, now)
        self._check_empty(instance)

    def _wait(self, instance: Instance, data: bytes, stream: Stream, now: float) -> None:
        settings, client, size = self._settings, stream.client, cost(data)
        over = self._board.held_bytes + size > settings.held_bytes_in_all
        if over or stream.waiting_bytes + size > settings.held_bytes:
            self._board.kill(stream, HubError.BUSY, "the service does not keep up", now)
            return
        stream.waiting_bytes += size
        client.waiting_bytes += size
        self._append(instance, data, stream, now)
        if client.waiting_bytes > settings.pause_bytes and not client.is_paused and not client.is_gone:
            client.is_paused = True
            self._board.to_pause.append(client)

    def sent(self, instance: Instance) -> None:
        """The oldest of what waited for a service was sent."""
        data, stream, _ = instance.held.popleft()
        size = cost(data)
        self._board.held_bytes -= size
        if stream is not None and stream.waiting_bytes:
            stream.waiting_bytes -= size
            self._board.waits_less(stream.client, size)
        self._check_empty(instance)

    def drop(self, instance: Instance) -> None:
        """It has gone: nothing waits for it."""
        while instance.held:
            self.sent(instance)
        self._board.unstuck(instance)

    def tick(self, now: float) -> None:
        """Kill the streams whose frames have waited for a service for too long."""
        since = now - self._settings.busy_after
        for instance in list(self._board.stuck.values()):
            late = {stream for _, stream, at in instance.held if stream is not None and at <= since}
            for stream in sorted((stream for stream in late if not stream.is_over), key=lambda s: s.hub_id):
                self._board.kill(stream, HubError.BUSY, "the service takes nothing", now)

    def _append(self, instance: Instance, data: bytes, stream: Stream | None, now: float) -> None:
        instance.held.append((data, stream, now))
        self._board.held_bytes += cost(data)

    def _check_empty(self, instance: Instance) -> None:
        if not instance.held:
            self._board.unstuck(instance)
