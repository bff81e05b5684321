"""HTTP methods other than GET, which picows takes for no request at all.

The first bytes of a connection are looked at where they lie, before picows is told of them. A HEAD becomes a
GET whose answer goes out without its body; what is neither is refused (405) when all of its headers have
come. Everything else, bytes that are no request too, is picows' to read: it takes this one's place then.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Final

from picows import WSUpgradeResponse
from picows.picows import WSProtocol  # type: ignore[attr-defined]

GET: Final = b"GET"
HEAD: Final = b"HEAD"
ALLOWED: Final = {"Allow": "GET, HEAD"}
LONGEST: Final = 16
"""Letters of a method; what has more is none."""
MOST_BYTES: Final = 16 << 10
"""Of the headers of a request that is refused; picows has the same limit for others."""

_END: Final = b"\r\n\r\n"


class AnyMethod(asyncio.BufferedProtocol):
    """Stands before the parser of picows until it is known what is wanted."""

    def __init__(
        self, parser: WSProtocol, *, on_head: Callable[[], None], refuse: Callable[[], WSUpgradeResponse]
    ) -> None:
        """``on_head`` is called before a HEAD is passed on; ``refuse`` makes the answer to other methods."""
        self.parser = parser
        self._on_head = on_head
        self._refuse = refuse
        self._came = 0
        """Bytes in the parser's room that it was not told of."""
        self._headers: bytes | None = None
        """Of a request that is refused, as far as they have come."""

    def connection_made(self, transport: Any) -> None:
        """Begin, and so does the parser."""
        self._transport = transport
        self.parser.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """The parser tells who waits."""
        self.parser.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Room of the parser: the bytes need not go elsewhere when it takes over."""
        return memoryview(self.parser.get_buffer(sizehint))[self._came :]

    def buffer_updated(self, nbytes: int) -> None:
        """Look at what has come."""
        came = memoryview(self.parser.get_buffer(-1))[: self._came + nbytes]
        if self._headers is not None:
            self._read_on(bytes(came))
            return
        method, space, _ = bytes(came[: LONGEST + 1]).partition(b" ")
        if not space and len(came) <= LONGEST:
            self._came = len(came)
        elif space and method not in (GET, HEAD) and method.isalpha() and method.isupper():
            self._came, self._headers = 0, b""
            self._read_on(bytes(came))
        else:
            self._pass_on(came, is_head=method == HEAD)

    def _pass_on(self, came: memoryview, *, is_head: bool) -> None:
        """From now on the parser reads by itself, as if nobody had stood before it."""
        size = len(came)
        if is_head:
            self._on_head()
            size -= len(HEAD) - len(GET)
            came[:size] = GET + bytes(came[len(HEAD) :])
        self._transport.set_protocol(self.parser)
        self.parser.buffer_updated(size)

    def _read_on(self, data: bytes) -> None:
        """Answer once the headers are there: who still writes would see the end, and not the answer."""
        assert self._headers is not None
        if self._transport.is_closing():
            return
        self._headers += data
        if _END in self._headers:
            response = self._refuse()
            response.headers["Connection"] = "close"
            self._transport.write(bytes(response.to_bytes()))
            self._transport.close()
        elif len(self._headers) >= MOST_BYTES:
            self._transport.close()


def without_body(response: WSUpgradeResponse) -> WSUpgradeResponse:
    """The answer to a HEAD: it tells how long the body would be."""
    if response.body:
        response.headers.setdefault("Content-Type", "text/plain")  # as picows has it
        response.headers["Content-Length"] = str(len(response.body))
        response.body = None
    return response
