"""Throws away what is left of a message that has too many parts.

A ROUTER hands over one message after another, so until the last part is received all other peers of the
socket wait. There may be a million of them before ``Watchdog`` notices: by pyzmq, which makes an object of
each, that takes a second. So it is done by libzmq's own functions, in compiled code, where there was a
compiler when the package was installed and the functions can be found; else by pyzmq.
"""

import ctypes
from collections.abc import Callable
from typing import Any, Final, TypeAlias

import zmq
from zmq.backend import Socket as Backend

NOBLOCK: Final = int(zmq.NOBLOCK)
QUICKER: Final = 16
"""So many parts are thrown away in less time than one is taken in, by compiled code."""

Drop: TypeAlias = Callable[[int], tuple[int, bool]]
"""Throw away parts of the message that the socket is in, as many as there is time for to take so many in; for
how many that counts, and whether others follow. ``zmq.Again``: there are none."""


def plain(socket: zmq.Socket[bytes]) -> Drop:
    """By pyzmq, which receives without looking at what it is."""
    receive: Callable[..., Any] = Backend.recv.__get__(socket)

    def drop(most: int) -> tuple[int, bool]:
        for done in range(1, most + 1):
            if not receive(NOBLOCK, False).more:
                return done, False
        return most, True

    return drop


def compiled(socket: zmq.Socket[bytes]) -> Drop:
    """By libzmq.

    Raises:
        ImportError: nothing was compiled, or pyzmq is another than is known.
        OSError: its library cannot be opened.
        AttributeError: it does not offer these functions.
    """
    from zmq.backend.cython import _zmq

    from framehub.runtime import _dropping

    library = ctypes.CDLL(_zmq.__file__)
    names = ("zmq_msg_init", "zmq_msg_recv", "zmq_msg_more", "zmq_msg_close")
    init, receive, more, close = (_address(getattr(library, name)) for name in names)

    by_pyzmq = plain(socket)

    def drop(most: int) -> tuple[int, bool]:
        done, follows = _dropping.drop(init, receive, more, close, socket.underlying, most * QUICKER)
        if follows and done < most * QUICKER:
            return by_pyzmq(1)  # which knows what a failure means
        return -(-done // QUICKER), follows

    return drop


def quickest(socket: zmq.Socket[bytes]) -> Drop:
    """Whichever can be had."""
    try:
        return compiled(socket)
    except (ImportError, OSError, AttributeError):
        return plain(socket)


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0
