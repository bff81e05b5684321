"""The gateway: the listener, the app, remote functions and the journal as one running thing."""

import asyncio
import logging
from collections.abc import Callable
from types import TracebackType

from framehub.errors import FramehubError, JournalError
from framehub.gateway.app import load_app
from framehub.gateway.functions import FunctionEndpoints
from framehub.gateway.settings import GatewaySettings, split_address
from framehub.journal.open_links import OpenLinks
from framehub.journal.settings import WriterSettings
from framehub.journal.writer import JournalWriter
from framehub.runtime.curve import CurveServer, read_public, read_secret
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import Listener
from framehub.runtime.rpc_proxy import RpcProxy
from framehub.runtime.rpc_state import ProxyState
from framehub.runtime.rpc_tap import RpcTap
from framehub.runtime.tap import Tap
from framehub.runtime.zmq_setup import Options, for_dealer

log = logging.getLogger("framehub.gateway")

LARGEST_RECORDED = for_dealer(None).max_message_bytes + 4 * Options().max_parts
"""A message of a remote function as the journal holds it: its parts, and a length before each."""


class Gateway:
    """Start it, wait for it, stop it; or ``async with`` it."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self.failure: FramehubError | None = None
        """Why it stopped by itself, if it did."""
        self._stopping = asyncio.Event()
        self._writer: JournalWriter | None = None
        self._links: OpenLinks | None = None
        self._listener: Listener | None = None
        self._functions: RpcProxy | None = None

    async def start(self) -> None:
        """Open the journal, then the sockets of remote functions, then the listener.

        Raises:
            FramehubError: what cannot be had; nothing is left behind.
        """
        settings = self.settings
        endpoints = load_app(settings.app) if settings.app else Endpoints()
        loop = asyncio.get_running_loop()

        def soon(call: Callable[..., None], *args: object) -> None:
            loop.call_soon_threadsafe(call, *args)

        tap: Tap | None = None
        if settings.journal is not None:
            self._writer = JournalWriter(
                settings.journal,
                node=settings.node,
                settings=WriterSettings(frame_limit=max(settings.mfp.max_frame_bytes, LARGEST_RECORDED)),
                on_room=lambda: soon(self._resume),
                on_failure=lambda error: soon(self._fail, error),
            )
            self._links = OpenLinks(self._writer.node.directory)
            tap = Tap(self._writer, on_full=self._pause, links=self._links)
            for damage in (*self._writer.recovery.cut, *self._writer.recovery.damages):
                log.warning("journal: %s", damage)
        try:
            if settings.clients is not None and settings.workers is not None:
                self._functions = self._proxy(settings.clients, settings.workers, tap)
                await self._functions.start()
                endpoints = FunctionEndpoints(endpoints, self._functions)
            self._listener = self._listen(endpoints, tap)
            await self._listener.start()
        except BaseException:
            if self._functions and self._functions.is_up:
                self._functions.close()
            if self._writer:
                self._writer.close(seal=False)
            raise

    def _proxy(self, clients: str, workers: str, tap: Tap | None) -> RpcProxy:
        settings = self.settings
        keys: list[CurveServer | None] = [None, None]
        if settings.curve_key and settings.client_keys and settings.worker_keys:
            secret = read_secret(settings.curve_key)
            keys = [CurveServer(secret, read_public(f)) for f in (settings.client_keys, settings.worker_keys)]
        return RpcProxy(
            clients=f"tcp://{clients}",
            workers=f"tcp://{workers}",
            settings=settings.rpc,
            state=ProxyState(settings.journal / "rpc" if settings.journal is not None else None),
            tap=RpcTap(tap) if tap else None,
            client_keys=keys[0],
            worker_keys=keys[1],
            on_failure=self._fail,
        )

    def _listen(self, endpoints: Endpoints, tap: Tap | None) -> Listener:
        settings = self.settings
        host, port = split_address(settings.listen)
        bracketed = f"[{host}]" if ":" in host else host
        url = f"ws://{bracketed}:{port}/mfp"
        return Listener(
            url,
            endpoints,
            settings=settings.mfp,
            tap=tap,
            origins=settings.origins,
            tokens=settings.tokens,
            allow_anonymous=settings.allow_anonymous,
        )

    @property
    def ready_line(self) -> str:
        """What ``framehub serve`` prints when it can be used."""
        assert self._listener is not None
        recording = f"journal={self.settings.journal} node={self._writer.node.name}" if self._writer else ""
        functions = ""
        if self._functions:
            proxy = self._functions
            functions = f" clients={proxy.clients_address} workers={proxy.workers_address}"
        return f"ready mfp={self._listener.url}{functions} {recording or 'journal=off'}"

    @property
    def url(self) -> str:
        """Where MFP clients connect."""
        assert self._listener is not None
        return self._listener.url

    @property
    def pending(self) -> int:
        """How much is under way with all clients."""
        under_way = self._listener.pending if self._listener else 0
        return under_way + (self._functions.pending if self._functions else 0)

    @property
    def functions(self) -> RpcProxy | None:
        """The proxy of remote functions, where there is one."""
        return self._functions

    def stop(self) -> None:
        """Ask it to end; ``wait`` returns."""
        self._stopping.set()

    async def wait(self) -> None:
        """Until somebody calls ``stop``, or something fails for good."""
        await self._stopping.wait()

    async def close(self) -> None:
        """Let what runs finish, say goodbye, make the journal durable and seal it."""
        drain = 0 if self.failure else self.settings.drain
        until = asyncio.get_running_loop().time() + drain
        if self._functions:
            self._functions.drain()
        if self._listener:
            await self._listener.close(drain=drain)
        if self._functions:
            # Only while stopping, and what is pending changes in many places: look, do not wire.
            while self._functions.pending and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            self._functions.close()
        if self._writer:
            if self._links:
                self._links.close()
            try:
                await asyncio.to_thread(self._writer.close)
            except JournalError as exc:
                self.failure = self.failure or exc
            for unsealed in self._writer.sealer.errors:
                log.warning("journal: not sealed, still readable as blocks: %s", unsealed)

    async def __aenter__(self) -> "Gateway":
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _pause(self) -> None:
        if self._listener:
            self._listener.pause()
        if self._functions:
            self._functions.pause()

    def _resume(self) -> None:
        if self._listener:
            self._listener.resume()
        if self._functions:
            self._functions.resume()

    def _fail(self, error: JournalError) -> None:
        """The journal cannot be written: nothing may go on unrecorded."""
        log.critical("%s; stopping", error)
        self.failure = error
        self.stop()
