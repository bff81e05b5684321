"""The admin port: is it alive, is it ready, what does it do (docs/guides/operate.md)."""

import json
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from framehub.console.static import STATIC
from framehub.gateway import state
from framehub.gateway.console import Console
from framehub.gateway.settings import AdminSettings, split_address
from framehub.mfp.settings import Settings
from framehub.runtime.address import Address
from framehub.runtime.alarm import Alarm
from framehub.runtime.doorkeeper import Doorkeeper
from framehub.runtime.entrance import MFP_PATH, Entrance
from framehub.runtime.listen import Listener
from framehub.runtime.pages import JSON, Page, Pages
from framehub.runtime.upgrade import WebSocketServer

if TYPE_CHECKING:
    from framehub.gateway.gateway import Gateway

PUBLIC: Final = ("/healthz", "/readyz", *STATIC)
"""Paths that need no token: probes have none, nor has a page before it has asked for one."""
CALL_PATH: Final = "/call"
"""Where the page makes calls, as a client of the gateway's."""
SAMPLE_SECONDS: Final = 1.0
RATE_SECONDS: Final = 10
"""Rates are averages over about so many seconds."""


class Admin:
    """``start`` it, ``close`` it; it stays up while the gateway drains."""

    def __init__(self, gateway: "Gateway", settings: AdminSettings) -> None:
        """Read the tokens, if there are any.

        Raises:
            ConfigError: they cannot be read.
        """
        from framehub.gateway.metrics import Metrics  # here: a gateway without this port does without them

        assert settings.listen is not None
        host, port = split_address(settings.listen)
        self._gateway = gateway
        self._metrics = Metrics(gateway)
        self._host = f"[{host}]" if ":" in host else host
        doorkeeper = Doorkeeper(settings.tokens)
        # Whoever needs a token to call gets no way around it here, nor a look at what others call with.
        inside = settings.tokens is not None or gateway.settings.tokens is None
        self._console = Console(gateway, inside=inside)
        self._pages_peers = Listener("ws://127.0.0.1/mfp", self._console.endpoints)
        pages: dict[str, Callable[[], Page]] = {
            **STATIC,
            "/healthz": lambda: Page(body=b"alive\n"),
            "/readyz": self._ready,
            "/metrics": self._measured,
            "/api": self._index,
            "/api/state": self._state,
            "/api/figures": lambda: _json(self._console.live.now()),
        }
        for part in (state.connections, state.services, state.functions, state.journal):
            pages[f"/api/{part.__name__}"] = self._told(part)
        self._paths = list(pages)
        entrances: dict[str, Entrance] = {MFP_PATH: self._pages_peers.entrance(Settings())}
        if inside and gateway.listener is not None:
            entrances[CALL_PATH] = gateway.listener.entrance(gateway.settings.mfp)
        self._server = WebSocketServer(
            Address(scheme="http", host=host, port=port),
            entrances,
            doorkeeper=doorkeeper,
            pages=Pages(pages, doorkeeper=doorkeeper, public=PUBLIC, host=host),
            own_pages=settings.tokens is not None,
        )
        self._samples: deque[tuple[float, int, int]] = deque(maxlen=RATE_SECONDS + 1)
        self._clock = Alarm(self._sample)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://{self._host}:{self._server.port}"

    async def start(self) -> None:
        """Begin to listen.

        Raises:
            ConfigError: the address cannot be had.
        """
        await self._server.start()
        self._console.live.start()
        self._sample()

    async def close(self) -> None:
        """Answer nobody any more."""
        self._clock.cancel()
        self._console.live.close()
        await self._server.close()
        await self._pages_peers.close(drain=0)

    # --- pages -----------------------------------------------------------------------------------------

    def _index(self) -> Page:
        return Page(body=("\n".join(self._paths) + "\n").encode())

    def _ready(self) -> Page:
        found = state.readiness(self._gateway)
        if found.ready:
            return Page(body=b"ready\n")
        return Page(body=f"{found.reason}\n".encode(), status=HTTPStatus.SERVICE_UNAVAILABLE)

    def _measured(self) -> Page:
        return Page(body=self._metrics.text(), type="text/plain; version=0.0.4; charset=utf-8")

    def _state(self) -> Page:
        return _json({**state.everything(self._gateway), "rates": self._rates()})

    def _told(self, part: Callable[["Gateway"], dict[str, Any]]) -> Callable[[], Page]:
        return lambda: _json(part(self._gateway))

    # --- rates -----------------------------------------------------------------------------------------

    def _sample(self) -> None:
        writer, listener = self._gateway.writer, self._gateway.listener
        rows, opened = writer.appended if writer else 0, listener.opened if listener else 0
        self._samples.append((monotonic(), rows, opened))
        self._clock.set(monotonic() + SAMPLE_SECONDS)

    def _rates(self) -> dict[str, float]:
        """Per second, over the last while."""
        first, last = self._samples[0], self._samples[-1]
        seconds = max(last[0] - first[0], SAMPLE_SECONDS)
        rows, opened = ((last[at] - first[at]) / seconds for at in (1, 2))
        return {"journal_rows": round(rows, 3), "mfp_opened": round(opened, 3)}


def _json(value: dict[str, Any]) -> Page:
    return Page(body=json.dumps(value).encode() + b"\n", type=JSON)
