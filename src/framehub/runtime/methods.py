"""The headers of a request before picows parses them: their method and their size.

picows takes only GET for a request, and ends a connection without a word when a request is too large. So the
first bytes of a connection are looked at where they lie, before picows is told of them. A HEAD becomes a GET
whose answer goes out without its body; what is neither is refused (405) when all of its headers have come,
and headers that are too large are refused (431) whoever reads them. Everything else, bytes that are no
request too, is picows' to read: it takes this one's place when all headers are there.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, Final

from picows import WSUpgradeResponse
from picows.picows import WSProtocol  # type: ignore[attr-defined]

from framehub.runtime.entrance import Refused

GET: Final = b"GET"
HEAD: Final = b"HEAD"
ALLOWED: Final = {"Allow": "GET, HEAD"}
LONGEST: Final = 16
"""Letters of a method; what has more is none."""
MOST_BYTES: Final = 16 << 10
"""Of a request, its empty line included; picows would take as many."""
MOST_DRAINED: Final = 1 << 20
"""Bytes that are thrown away after a refusal: who still writes would see a reset, and not the answer."""

_END: Final = b"\r\n\r\n"
_WRONG: Final = Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"want {ALLOWED['Allow']}", ALLOWED)
_LARGE: Final = Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"over {MOST_BYTES} bytes of headers")


class AnyMethod(asyncio.BufferedProtocol):
    """Stands before the parser of picows until the headers of the request are there."""

    def __init__(
        self,
        parser: WSProtocol,
        *,
        on_head: Callable[[], None],
        refuse: Callable[[Refused], WSUpgradeResponse],
    ) -> None:
        """``on_head`` is called before a HEAD is passed on; ``refuse`` makes the answer to the rest."""
        self.parser = parser
        self._on_head = on_head
        self._refuse = refuse
        self._held = 0
        """Bytes in the parser's room that it was not told of: they may become a method."""
        self._method: bytes | None = None
        """Empty if there is none."""
        self._size = 0
        """Bytes that came and were looked at."""
        self._last = b""
        """The last of them: the empty line may come in pieces."""
        self._drained: int | None = None
        """Bytes that came since it was answered."""

    def connection_made(self, transport: Any) -> None:
        """Begin, and so does the parser."""
        self._transport = transport
        self.parser.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The parser tells who waits."""
        self.parser.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Room of the parser: the bytes need not go elsewhere when it takes over."""
        return memoryview(self.parser.get_buffer(sizehint))[self._held :]

    def buffer_updated(self, nbytes: int) -> None:
        """Look at what has come."""
        if self._drained is not None:
            self._drained += nbytes
            if self._drained > MOST_DRAINED:
                self._transport.abort()
            return
        came = memoryview(self.parser.get_buffer(-1))[: self._held + nbytes]
        self._held = len(came) if self._method is None and not self._find_method(came) else 0
        if not self._held:
            self._read_on(came)

    def _find_method(self, came: memoryview) -> bool:
        """Whether it is known what this is, from its first bytes."""
        method, space, _ = bytes(came[: LONGEST + 1]).partition(b" ")
        if not space and len(came) <= LONGEST:
            return False
        self._method = method if space and method.isalpha() and method.isupper() else b""
        return True

    def _read_on(self, came: memoryview) -> None:
        """Pass on what came, unless it is refused: then nothing more is read."""
        data = self._last + bytes(came)
        headers, empty_line, _ = data.partition(_END)
        ours = len(headers) + len(empty_line) - len(self._last)
        size = self._size + ours
        if size > MOST_BYTES or (size == MOST_BYTES and not empty_line):
            self._answer(_LARGE)
        elif self._method in (GET, HEAD, b""):
            self._pass_on(came, ours, is_whole=bool(empty_line))
        elif empty_line:
            self._answer(_WRONG)
        self._size = size
        self._last = data[1 - len(_END) :]

    def _pass_on(self, came: memoryview, ours: int, *, is_whole: bool) -> None:
        """Tell the parser of ``ours``, and whoever reads after it of the rest."""
        rest = bytes(came[ours:])
        if self._method == HEAD and not self._size:
            self._on_head()
            ours -= len(HEAD) - len(GET)
            came[:ours] = GET + bytes(came[len(HEAD) : len(HEAD) + ours - len(GET)])
        if is_whole:
            self._transport.set_protocol(self.parser)
        self.parser.buffer_updated(ours)
        if rest and not self._transport.is_closing():
            reader = self._transport.get_protocol()
            memoryview(reader.get_buffer(-1))[: len(rest)] = rest
            reader.buffer_updated(len(rest))

    def _answer(self, refused: Refused) -> None:
        """Say so. Who still writes is read to its end, or until the acceptor's time for it is over."""
        self._drained = 0
        response = self._refuse(refused)
        response.headers["Connection"] = "close"
        self._transport.write(bytes(response.to_bytes()))
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            self._transport.close()


def without_body(response: WSUpgradeResponse) -> WSUpgradeResponse:
    """The answer to a HEAD: it tells how long the body would be."""
    if response.body:
        response.headers.setdefault("Content-Type", "text/plain")  # as picows has it
        response.headers["Content-Length"] = str(len(response.body))
        response.body = None
    return response
