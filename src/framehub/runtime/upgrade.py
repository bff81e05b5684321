"""From an accepted socket to a WebSocket: TLS, the HTTP upgrade, and who is refused (spec/mfp.md, 9.1)."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from http import HTTPStatus
from ssl import SSLContext
from typing import Final

import aiofastnet
from picows import WSUpgradeRequest, WSUpgradeResponse, WSUpgradeResponseWithListener

from framehub.runtime import bearer
from framehub.runtime.accept import OPENING_SECONDS, Acceptor, Arrival
from framehub.runtime.accounts import Accounts, Metered
from framehub.runtime.address import Address, is_loopback
from framehub.runtime.doorkeeper import Doorkeeper
from framehub.runtime.entrance import ANONYMOUS, Entrance, Refused
from framehub.runtime.hangups import watch
from framehub.runtime.link import LinkOwner
from framehub.runtime.methods import GET, AnyMethod, without_body
from framehub.runtime.pages import Answers, Page, as_response
from framehub.runtime.parser import make_parser
from framehub.runtime.quiet import QuietLog
from framehub.runtime.sockets import bind
from framehub.runtime.websocket import WebSocketLink

log = logging.getLogger("framehub.upgrade")

MOST_HEADERS: Final = 64
LEAST_BYTES: Final = 1_024
"""Of a message, where there is no path for WebSockets."""
MOST_TELLING: Final = 64 << 20
"""Bytes of pages on their way to those who read them slowly."""
_WORTH_KNOWING: Final = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS)
"""Somebody who may be honest is kept out by a setting; what these say has no token in it."""
VERSION: Final = "13"
"""Of WebSocket: the one that RFC 6455 made."""
_UPGRADE: Final = {"Sec-WebSocket-Version": VERSION, "Upgrade": "websocket"}


class WebSocketServer:
    """Listens for WebSockets; ``entrances`` are what is spoken at each path.

    picows reads the request, up to 16 KiB of it, and does the upgrade; what it is given to do, for how long
    and for how many at once is decided here.
    """

    def __init__(
        self,
        address: Address,
        entrances: Mapping[str, Entrance],
        *,
        doorkeeper: Doorkeeper | None = None,
        origins: Iterable[str] = (),
        ssl: SSLContext | None = None,
        pages: Answers | None = None,
        is_full: Callable[[], bool] = lambda: False,
        accounts: Accounts | None = None,
        own_pages: bool = False,
    ) -> None:
        """``pages`` answer what is no upgrade; while ``is_full``, nobody comes in.

        ``own_pages``: a page may come from whatever name this server was reached by. That is for a server
        whose every path wants a token: a page of some other name has none.
        """
        self.port = address.port
        self.refused: Counter[int] = Counter()
        """Requests that were refused, by the HTTP status."""
        self._pages = pages
        self._is_full = is_full
        self._accounts = accounts or Accounts()
        self._own_pages = own_pages
        self._address = address
        self._entrances = dict(entrances)
        self._doorkeeper = doorkeeper or Doorkeeper()
        self._max_bytes = max((entrance.max_bytes for entrance in entrances.values()), default=LEAST_BYTES)
        self._origins = frozenset(origins)
        self._ssl = ssl
        self._telling = 0
        """Bytes of pages that are on their way."""
        self._stopping = False
        self._acceptor: Acceptor | None = None
        self._quiet = QuietLog(log, address.place)

    async def start(self) -> None:
        """Begin to listen.

        Raises:
            ConfigError: the address cannot be had.
        """
        bound = await bind(self._address)
        self.port = bound.port
        self._quiet.where = replace(self._address, port=self.port).place
        self._acceptor = Acceptor(bound, self._welcome, self._quiet)
        self._doorkeeper.start()

    def stop(self) -> None:
        """Take no more connections; those that are opening are refused."""
        self._stopping = True
        if self._acceptor is not None:
            self._acceptor.stop()

    async def close(self) -> None:
        """Let go of everything but the connections that are open."""
        self.stop()
        if self._acceptor is not None:
            await self._acceptor.close()
        self._doorkeeper.stop()
        self._quiet.close()

    # --- inside ----------------------------------------------------------------------------------------

    async def _welcome(self, arrival: Arrival) -> None:
        loop = asyncio.get_running_loop()
        transport, protocol = await aiofastnet.connect_accepted_socket(
            loop,
            partial(self._protocol, arrival),
            arrival.socket,
            ssl=self._ssl,
            ssl_handshake_timeout=OPENING_SECONDS if self._ssl else None,
        )
        watch(transport)
        try:
            await protocol.parser.wait_until_handshake_complete()  # or until it is gone
        finally:
            self._telling -= arrival.page_bytes
        if not arrival.is_open and not arrival.is_refused:
            self._quiet.count("gone before it was open")

    def _protocol(self, arrival: Arrival) -> AnyMethod:
        """What ``picows.ws_create_server`` makes for each connection that it accepts itself."""
        # The acceptor's clock covers handshakes. The path is not known yet: a link knows its own size.
        parser = make_parser(partial(self._admit, arrival), max_bytes=self._max_bytes)
        return AnyMethod(
            parser,
            on_head=arrival.asks_for_head,
            refuse=partial(self._refuse_unread, arrival),
        )

    def _refuse_unread(self, arrival: Arrival, refused: Refused) -> WSUpgradeResponse:
        """The answer to what picows is not to read."""
        response = self._refuse(arrival, refused).response
        return without_body(response) if arrival.is_head else response

    def _admit(self, arrival: Arrival, request: WSUpgradeRequest) -> WSUpgradeResponseWithListener:
        """Decide on one request; to a HEAD go only the headers of the answer."""
        if not arrival.is_head:
            return self._decide(arrival, request)
        if "Upgrade" in request.headers:
            only = {"Allow": GET.decode()}
            told = self._refuse(arrival, Refused(HTTPStatus.METHOD_NOT_ALLOWED, "want GET", only))
        else:
            told = self._decide(arrival, request)
        if told.response.status == HTTPStatus.SWITCHING_PROTOCOLS:
            told = self._refuse(arrival, Refused(HTTPStatus.BAD_REQUEST, "want a WebSocket"))
        return WSUpgradeResponseWithListener(without_body(told.response), None)

    def _decide(self, arrival: Arrival, request: WSUpgradeRequest) -> WSUpgradeResponseWithListener:
        """Decide on one upgrade, before anything is made for it."""
        try:
            _check(request)
            if self._pages is not None and "Upgrade" not in request.headers:
                page = self._pages.answer(request, arrival.address)
                if page is not None:
                    return self._tell(arrival, page)
            entrance = self._entrance(request)
            token, offered = bearer.read(request)
            agreed = entrance.agree(offered, request)
            entry = self._doorkeeper.ask(token, arrival.address)
            user = entry.user if entry is not None else ANONYMOUS
            account = self._accounts.of(user, arrival.address)
        except Refused as refused:
            return self._refuse(arrival, refused)
        name = agreed.subprotocol
        headers = {"Sec-WebSocket-Protocol": name} if name else None

        def own(link: WebSocketLink) -> LinkOwner:
            arrival.opened()
            if entry is not None:
                self._doorkeeper.came_in(link, entry)
            owner = agreed.own(link, user)
            return owner if account is None else Metered(owner, link, account)

        link = WebSocketLink(
            own,
            max_bytes=entrance.max_bytes,
            max_sent=entrance.max_sent,
            listening=True,
            patience=entrance.patience,
            joined=entrance.joined,
        )
        return WSUpgradeResponseWithListener(WSUpgradeResponse.create_101_response(headers), link)

    def _tell(self, arrival: Arrival, page: Page) -> WSUpgradeResponseWithListener:
        """Answer with a page; its connection is never open, and ends when all of it is sent."""
        size = len(page.body)
        if self._telling + size > MOST_TELLING:
            wait = {"Retry-After": "1"}
            return self._refuse(
                arrival, Refused(HTTPStatus.SERVICE_UNAVAILABLE, "too many pages at once", wait)
            )
        arrival.is_refused = True
        arrival.page_bytes = size
        self._telling += size
        return WSUpgradeResponseWithListener(as_response(page), None)

    def _entrance(self, request: WSUpgradeRequest) -> Entrance:
        """Where this request wants to go, if it may go there at all."""
        path, _, query = request.path.decode("latin-1").partition("?")
        entrance = self._entrances.get(path)
        if entrance is None:
            raise Refused(HTTPStatus.NOT_FOUND, f"nothing at {path}; want {' or '.join(self._entrances)}")
        if request.headers.getall("Sec-WebSocket-Version", [VERSION]) != [VERSION]:
            raise Refused(HTTPStatus.UPGRADE_REQUIRED, f"want version {VERSION} of WebSocket", _UPGRADE)
        if query:
            raise Refused(HTTPStatus.BAD_REQUEST, "no query string is accepted")
        if self._stopping:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "stopping")
        if self._is_full():
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "too much is waiting", {"Retry-After": "1"})
        origin = request.headers.get("Origin")
        if origin is not None and not self._is_allowed(origin, request):
            raise Refused(HTTPStatus.FORBIDDEN, f"origin {origin} is not allowed")
        return entrance

    def _is_allowed(self, origin: str, request: WSUpgradeRequest) -> bool:
        if origin in self._origins | self._own_origins:
            return True
        return self._own_pages and origin.partition("://")[2] == request.headers.get("Host")

    @property
    def _own_origins(self) -> set[str]:
        """Pages that this address could have served. What a request calls its host proves nothing."""
        host = self._address.host
        names = {host, "localhost", "127.0.0.1", "[::1]"} if is_loopback(host) else {host}
        return {f"{scheme}://{name}:{self.port}" for scheme in ("http", "https") for name in names}

    def _refuse(self, arrival: Arrival, refused: Refused) -> WSUpgradeResponseWithListener:
        arrival.is_refused = True
        self.refused[refused.status.value] += 1
        kind = f"refused with HTTP {refused.status.value}"
        if refused.status in _WORTH_KNOWING:
            whence = f" (from {arrival.address})" if arrival.address else ""
            self._quiet.count(kind, logging.WARNING, detail=f"{refused.text}{whence}")
        else:
            self._quiet.count(kind)
        response = WSUpgradeResponse.create_error_response(
            refused.status, f"{refused.text}\n".encode(), refused.headers
        )
        return WSUpgradeResponseWithListener(response, None)


def _check(request: WSUpgradeRequest) -> None:
    """Look at what every request must be like, an upgrade or not.

    Raises:
        Refused: it is not.
    """
    if len(request.headers) > MOST_HEADERS:
        raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"over {MOST_HEADERS} headers")
    if len(request.headers.getall("Host", [])) != 1:
        raise Refused(HTTPStatus.BAD_REQUEST, "want one Host header")
