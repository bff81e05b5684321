"""Frames for those who are behind with reading (spec/hub.md, section 12). Pure.

What waits for a client waits by stream and goes out in turns, so that one stream does not hold up others.
What waits for a service waits in one row. Both are bounded: a stream with more than that is killed.
"""

from collections import deque
from typing import Final

from framehub.codes import HubError, HubState
from framehub.hub.board import ENDINGS, Board, cost
from framehub.hub.headers import HubFrame, stream_and_state
from framehub.hub.parties import Client, Instance, Stream

MOST_NOTICES: Final = 64
"""Frames about a service's link itself that wait for it; PINGs and the like can be done without."""
FAR_BEHIND: Final = "the client is too far behind"
_FIRST: Final = HubState.FIRST


class Holding:
    """Keeps what cannot be sent now."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._settings = board.settings

    # --- for clients -----------------------------------------------------------------------------------

    def hold(self, client: Client, data: bytes, stream: Stream, now: float) -> None:
        """The client's link takes nothing now: let this wait, or kill the stream if it is too much."""
        if client.is_leaving:
            return
        is_ending = stream_and_state(data, client.version)[1] in ENDINGS
        if stream.is_cut and not is_ending:
            return
        waiting = client.held.get(stream.id)
        if is_ending and waiting and waiting[-1][0] == data:
            return  # the same error once more: one will do
        if is_ending:
            self._put(client, data, stream)
            return
        size = cost(data)
        if self._board.held_bytes + size > self._settings.held_bytes_in_all:
            self._make_room(client.held_bytes + size, now)
        if self._is_too_much(client, stream, size):
            self._cut(stream, now)
        else:
            self._put(client, data, stream)

    def _make_room(self, least: int, now: float) -> None:
        """Too much waits for all: if somebody is further behind than this, that one loses what waits."""
        furthest = max(self._board.clients, key=_how_far)
        if furthest.held_bytes > least:
            streams = [waiting[0][1] for waiting in furthest.held.values()]
            for stream in streams:
                if not stream.is_cut:  # or else what waits says only that it was
                    self._cut(stream, now)

    def _cut(self, stream: Stream, now: float) -> None:
        if stream.is_over:
            self._board.drop_held(stream)
            error = HubFrame(stream.id, HubState.STREAM_ERROR, HubError.LIMIT, FAR_BEHIND.encode())
            self._board.say(stream.client, error, stream)
        else:
            self._board.kill(stream, HubError.LIMIT, FAR_BEHIND, now)

    def next_held(self, client: Client) -> tuple[bytes, Stream] | None:
        """What is to be sent next of what waits for a client; streams take turns."""
        if not client.held:
            return None
        number = next(iter(client.held))
        waiting = client.held.pop(number)
        data, stream = waiting.popleft()
        if waiting:
            client.held[number] = waiting
        self._board.held_less(stream, data)
        return data, stream

    def forget(self, client: Client) -> None:
        """It has gone: nothing waits for it."""
        self._board.held_bytes -= client.held_bytes
        client.held.clear()
        client.held_bytes = 0

    def _is_too_much(self, client: Client, stream: Stream, size: int) -> bool:
        """Whether this may not wait as well; a frame that nothing waits before may, however large it is."""
        settings = self._settings
        return (
            stream.held_bytes + size > max(settings.held_bytes, size)
            or client.held_bytes + size > max(settings.held_bytes_client, size)
            or self._board.held_bytes + size > settings.held_bytes_in_all
        )

    def _put(self, client: Client, data: bytes, stream: Stream) -> None:
        client.held.setdefault(stream.id, deque()).append((data, stream))
        size = cost(data)
        stream.held_bytes += size
        client.held_bytes += size
        self._board.held_bytes += size
        self._board.mind(client)

    # --- for services ----------------------------------------------------------------------------------

    def hold_for_service(self, instance: Instance, data: bytes, stream: Stream | None, now: float) -> None:
        """The service takes nothing now: let this wait, or kill the stream if it is too much."""
        board = self._board
        if board.instances.get(instance.identity) is not instance:
            return  # it has gone, or never was registered
        if stream is None:
            if len(instance.held) < MOST_NOTICES:
                self._append(instance, data, None, now)
            else:
                board.counts["not said to services that do not read"] += 1
            return
        state = stream_and_state(data, instance.version)[1]
        if stream.is_over:
            if state in ENDINGS:  # what else there is came before the end, and is too late
                self._append(instance, data, stream, now)
        elif state == _FIRST:
            board.kill(stream, HubError.BUSY, "the service takes nothing now", now, service=False)
        else:
            self._wait(instance, data, stream, now)

    def _wait(self, instance: Instance, data: bytes, stream: Stream, now: float) -> None:
        settings, client, size = self._settings, stream.client, cost(data)
        waits = stream.waiting_bytes + size
        over = self._board.held_bytes + size > settings.held_bytes_in_all
        if over or waits > max(settings.held_bytes, size):
            self._board.kill(stream, HubError.BUSY, "the service does not keep up", now)
            return
        stream.waiting_bytes = waits
        client.waiting_bytes += size
        self._append(instance, data, stream, now)
        self._board.mind(client)

    def sent(self, instance: Instance) -> None:
        """The oldest of what waited for a service was sent."""
        data, stream, _ = instance.held.popleft()
        size = cost(data)
        self._board.held_bytes -= size
        if stream is not None and not stream.is_over:
            stream.waiting_bytes -= size
            self._board.waits_less(stream.client, size)
        self._board.drop_husks(instance)

    def drop(self, instance: Instance) -> None:
        """It has gone: nothing waits for it."""
        for data, stream, _ in instance.held:
            self._board.held_bytes -= cost(data)
            if stream is not None and stream.waiting_bytes:
                self._board.waits_less(stream.client, stream.waiting_bytes)
                stream.waiting_bytes = 0
        instance.held.clear()
        self._board.unstuck(instance)

    def tick(self, now: float, *, lenient: bool) -> None:
        """Kill the streams whose frames have waited for a service for too long."""
        since = now - self._settings.busy_after
        for instance in list(self._board.stuck.values()):
            late: dict[Stream, None] = {}
            for _, stream, at in instance.held:
                if at > since or lenient:
                    break
                if stream is not None and not stream.is_over:
                    late[stream] = None
            for stream in late:
                self._board.kill(stream, HubError.BUSY, "the service takes nothing", now)
            if instance.has_husks:
                self._board.drop_all_husks(instance)

    def _append(self, instance: Instance, data: bytes, stream: Stream | None, now: float) -> None:
        if not instance.is_stuck:
            instance.stuck_since = now
            self._board.stuck[instance.identity] = instance
        instance.held.append((data, stream, now))
        self._board.held_bytes += cost(data)


def _how_far(client: Client) -> tuple[int, bytes]:
    return client.held_bytes, client.link
