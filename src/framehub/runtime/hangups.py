"""Connections that end in a reset are noticed, also where the event loop does not say so.

When a socket has an error, uvloop calls its reader once and then never again. If there were still bytes to
read, the reader got those and not the error: the connection stays for ever, with its file descriptor and all
that is pending on it. So the sockets are watched a second time, for errors only: that costs a system call for
each connection and nothing for its bytes. Whoever is reported there is read on until the error comes out.
"""

import asyncio
import select
from typing import Final
from weakref import WeakKeyDictionary, WeakValueDictionary

AGAIN_SECONDS: Final = 0.05
MOST_TURNS: Final = 20
"""A transport that reads and does not find the error in so many turns is cut off."""


class Hangups:
    """Watches the sockets of one event loop, which must be the running one."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._watched: WeakValueDictionary[int, asyncio.Transport] = WeakValueDictionary()
        self._broken: list[tuple[asyncio.Transport, int]] = []
        asyncio.get_running_loop().add_reader(self._epoll.fileno(), self._look)

    def watch(self, transport: asyncio.Transport) -> None:
        """From now on; a transport that closes its socket is forgotten."""
        number = transport.get_extra_info("socket").fileno()
        if transport.is_closing() or number < 0:
            return
        self._watched[number] = transport
        try:
            self._epoll.register(number, 0)  # errors and hang-ups are told unasked
        except FileExistsError:
            self._epoll.modify(number, 0)

    def _look(self) -> None:
        for number, _ in self._epoll.poll(0):
            self._epoll.unregister(number)
            transport = self._watched.pop(number, None)
            if transport is not None:
                if not self._broken:
                    self._again()
                self._broken.append((transport, 0))

    def _again(self) -> None:
        asyncio.get_running_loop().call_later(AGAIN_SECONDS, self._read_on)

    def _read_on(self) -> None:
        broken, self._broken = self._broken, []
        for transport, turns in broken:
            if transport.is_closing():
                continue
            if turns > MOST_TURNS:
                transport.abort()
                continue
            if transport.is_reading():  # else its owner has a reason not to, and reads on later
                transport.pause_reading()
                transport.resume_reading()
                turns += 1  # noqa: PLW2901
            self._broken.append((transport, turns))
        if self._broken:
            self._again()


_all: WeakKeyDictionary[asyncio.AbstractEventLoop, Hangups] = WeakKeyDictionary()


def watch(transport: asyncio.Transport) -> None:
    """Notice the end of this connection, whatever the event loop makes of it."""
    loop = asyncio.get_running_loop()
    if not type(loop).__module__.startswith("uvloop") or not hasattr(select, "epoll"):
        return  # others call a reader until the error came out
    if loop not in _all:
        _all[loop] = Hangups()
    _all[loop].watch(transport)
