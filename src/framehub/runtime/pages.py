"""Plain HTTP beside WebSockets: a GET is answered with a page made in memory, and the connection ends.

The request was read by the same parser as upgrades are, within the same limits; a HEAD gets the headers that
a GET would. There is no keep-alive and no body of a request is read. A page with an ``ETag`` is not sent to
who has it.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Final, Protocol

from picows import WSUpgradeRequest, WSUpgradeResponse

from framehub.runtime import bearer
from framehub.runtime.address import is_loopback
from framehub.runtime.doorkeeper import Doorkeeper
from framehub.runtime.entrance import Refused

TEXT: Final = "text/plain; charset=utf-8"
JSON: Final = "application/json"
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Connection": "close",
}
"""Of every page, unless it has its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a GET is answered with."""

    body: bytes
    type: str = TEXT
    status: HTTPStatus = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)


def asked_again(body: bytes) -> dict[str, str]:
    """Headers of a page that may be kept, but not used without asking whether it is still the same."""
    return {"Cache-Control": "no-cache", "ETag": f'"{hashlib.sha256(body).hexdigest()[:32]}"'}


class Answers(Protocol):
    """What answers a request that is no upgrade."""

    def answer(self, request: WSUpgradeRequest, address: str) -> Page | None:
        """The page to answer with; None: there is none, and it is refused like an upgrade."""


class Pages:
    """Pages by path; what is none of them is not there."""

    def __init__(
        self,
        pages: Mapping[str, Callable[[], Page]],
        *,
        doorkeeper: Doorkeeper | None = None,
        public: Collection[str] = (),
        host: str = "",
    ) -> None:
        """``public`` are paths that need no token. ``host`` is where we listen."""
        self._pages = dict(pages)
        self._doorkeeper = doorkeeper or Doorkeeper()
        self._public = frozenset(public)
        self._host = Host(host)

    def answer(self, request: WSUpgradeRequest, address: str) -> Page:
        """The page that was asked for, or one that says why not."""
        try:
            return _unless_known(self._find(request, address)(), request)
        except Refused as refused:
            return saying(refused)

    def _find(self, request: WSUpgradeRequest, address: str) -> Callable[[], Page]:
        self._host.check(request)
        path = _path(request)
        if path not in self._public:
            self._doorkeeper.ask(bearer.read(request)[0], address)
        page = self._pages.get(path)
        if page is None:
            raise Refused(HTTPStatus.NOT_FOUND, f"there are {' '.join(self._pages)}")
        return page


class OpenPages:
    """Pages for anybody, beside paths that are others' to answer for; and files, where a folder has some."""

    def __init__(
        self,
        pages: Mapping[str, Callable[[], Page]],
        *,
        files: Callable[[str], Page | None] | None = None,
        host: str = "",
        names: Collection[str] = (),
    ) -> None:
        """``pages`` may be asked for by any name of this machine, ``files`` by those that it has."""
        self._pages = dict(pages)
        self._files = files
        self._host = Host(host, names)

    def answer(self, request: WSUpgradeRequest, _address: str) -> Page | None:
        """The page that was asked for, or one that says why not; None: it is none of ours."""
        path = _path(request)
        try:
            page = self._pages[path]() if path in self._pages else self._file(path, request)
        except Refused as refused:
            return saying(refused)
        return page and _unless_known(page, request)

    def _file(self, path: str, request: WSUpgradeRequest) -> Page | None:
        if self._files is None:
            return None
        self._host.check(request)
        return self._files(path)


class Host:
    """By which names a listener may be asked for.

    A page of some web site can have its name lead to this machine: its requests name that site.
    """

    def __init__(self, host: str, names: Collection[str] = ()) -> None:
        """``host`` is where it listens: if others can reach that, any name will do."""
        self._is_local = is_loopback(host)
        self._names = frozenset(names)

    def check(self, request: WSUpgradeRequest) -> None:
        """Look at what a request calls us.

        Raises:
            Refused: nobody honest would call us that.
        """
        if self._is_local:
            named = request.headers["Host"]
            host = named.rpartition(":")[0] if not named.endswith("]") else named
            host = (host or named).strip("[]")
            if not is_loopback(host) and host not in self._names:
                raise Refused(HTTPStatus.FORBIDDEN, "this port is for its own machine: ask for 127.0.0.1")


def saying(refused: Refused) -> Page:
    """A page that says why there is none."""
    return Page(body=f"{refused.text}\n".encode(), status=refused.status, headers=refused.headers)


def _path(request: WSUpgradeRequest) -> str:
    return request.path.decode("latin-1").partition("?")[0]


def _unless_known(page: Page, request: WSUpgradeRequest) -> Page:
    """Nothing but its headers, for who has that very page."""
    tag = page.headers.get("ETag")
    known = (one.strip() for one in request.headers.get("If-None-Match", "").split(","))
    if tag is None or not any(one.removeprefix("W/") == tag for one in known):
        return page
    return replace(page, body=b"", status=HTTPStatus.NOT_MODIFIED)


def as_response(page: Page) -> WSUpgradeResponse:
    """The page as picows sends it."""
    made: WSUpgradeResponse = WSUpgradeResponse.create_ok_response(
        None, {**HEADERS, "Content-Type": page.type, **page.headers}
    )
    made.status = page.status
    made.body = page.body
    return made
