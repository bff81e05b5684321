"""The gateway: the listener, the app, the hub, remote functions and the journal as one running thing."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from framehub.console import client
from framehub.errors import ConfigError, FramehubError, JournalError
from framehub.gateway.admin import Admin
from framehub.gateway.app import load_app
from framehub.gateway.endpoints import GatewayEndpoints
from framehub.gateway.functions import FunctionCalls
from framehub.gateway.retention import Retention
from framehub.gateway.services import ServiceCalls
from framehub.gateway.settings import AdminSettings, GatewaySettings, split_address
from framehub.journal.open_links import OpenLinks
from framehub.journal.reduced import Reducer
from framehub.journal.writer import JournalWriter
from framehub.runtime.curve import CurveServer, read_public, read_secret
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.folder import Folder
from framehub.runtime.hub import Hub
from framehub.runtime.hub_tap import HubTap
from framehub.runtime.listen import Listener
from framehub.runtime.pages import OpenPages
from framehub.runtime.promises import Promises
from framehub.runtime.read_buffers import ReadBuffers, buffers_of
from framehub.runtime.rpc_proxy import RpcProxy
from framehub.runtime.rpc_state import ProxyState
from framehub.runtime.rpc_tap import RpcTap
from framehub.runtime.tap import ReducedTap, Tap
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
        self._read_buffers: ReadBuffers | None = None
        self._writer: JournalWriter | None = None
        self._listener: Listener | None = None
        self._endpoints: GatewayEndpoints | None = None
        self._functions: RpcProxy | None = None
        self._hub: Hub | None = None
        self._retention: Retention | None = None
        self._keeps: Callable[[str], bool] | None = None
        self._admin: Admin | None = None
        self.is_up = False
        """Whether everything has started."""

    async def start(self) -> None:
        """Open the journal, then the sockets of remote functions and of the hub, then the listener.

        Raises:
            FramehubError: what cannot be had; nothing is left behind.
        """
        settings = self.settings
        self._read_buffers = buffers_of(asyncio.get_running_loop())
        endpoints = load_app(settings.app) if settings.app else Endpoints()
        try:
            tap = self._open_journal(settings.journal) if settings.journal is not None else None
            if settings.clients is not None and settings.workers is not None:
                self._functions = self._proxy(settings.clients, settings.workers, tap)
                await self._functions.start()
            if settings.services is not None:
                self._hub = self._make_hub(settings.services, tap)
                await self._hub.start()
            functions = FunctionCalls(self._functions) if self._functions else None
            services = ServiceCalls(self._hub) if self._hub else None
            self._endpoints = GatewayEndpoints(endpoints, functions, services)
            self._listener = self._listen(self._endpoints, tap)
            await self._listener.start()
            if self._retention:
                self._retention.start()
            await self._start_admin()
            self.is_up = True
        except BaseException:
            await self._give_up()
            raise

    def _open_journal(self, directory: Path) -> Tap:
        settings = self.settings
        loop = asyncio.get_running_loop()

        def soon(call: Callable[..., None], *args: object) -> None:
            loop.call_soon_threadsafe(call, *args)

        writer = self._writer = JournalWriter(
            directory,
            node=settings.node,
            settings=settings.recording.writer(max(settings.mfp.max_frame_bytes, LARGEST_RECORDED)),
            on_room=lambda: soon(self._resume),
            on_failure=lambda error: soon(self._fail, error),
        )
        links = OpenLinks(writer.node.directory)
        writer.held.callback(lambda: links.close(None if writer.failed is None else writer.durable))
        self._retention = Retention(writer, settings.recording)
        for damage in (*writer.recovery.cut, *writer.recovery.damages):
            log.warning("journal: %s", damage)
        if writer.recovery.missing is not None:
            log.error("journal: %s; numbers go on with %d", writer.recovery.missing, writer.recovery.next_seq)
        promises = Promises(writer) if settings.recording.ack_after_durable else None
        if settings.recording.record or settings.recording.redact:
            reducer = Reducer(
                settings.recording.record,
                settings.recording.redact,
                is_known=lambda name: self._endpoints is not None and self._endpoints.offers(name),
            )
            self._keeps = reducer.keeps
            return ReducedTap(writer, reducer, on_full=self._pause, links=links, promises=promises)
        return Tap(writer, on_full=self._pause, links=links, promises=promises)

    async def _give_up(self) -> None:
        """Let go of what had started."""
        if self._listener:
            await self._listener.close(drain=0)
        if self._retention:
            await self._retention.close()
        if self._functions and self._functions.is_up:
            self._functions.close()
        if self._hub:
            await self._hub.close()
        if self._writer:
            self._writer.close(seal=False)

    async def _start_admin(self) -> None:
        told = self.settings.admin
        if told.listen is None:
            return
        admin = Admin(self, told)
        try:
            await admin.start()
        except ConfigError as exc:
            # A second gateway on this machine should not fail for a port that nobody asked for.
            if told != AdminSettings():
                raise ConfigError(f"[admin] listen (--admin): {exc}") from exc
            log.warning("%s: there is no admin port; choose one with --admin, or --admin off", exc)
        else:
            self._admin = admin

    def _proxy(self, clients: str, workers: str, tap: Tap | None) -> RpcProxy:
        settings = self.settings
        return RpcProxy(
            clients=f"tcp://{clients}",
            workers=f"tcp://{workers}",
            settings=settings.rpc,
            state=ProxyState(
                settings.journal.absolute() / "rpc" if settings.journal is not None else None, self._keeps
            ),
            tap=RpcTap(tap) if tap else None,
            client_keys=self._keys(settings.client_keys),
            worker_keys=self._keys(settings.worker_keys),
            on_failure=lambda error: self._fail(
                error, "the next one will not know workers and queries of now"
            ),
        )

    def _make_hub(self, services: str, tap: Tap | None) -> Hub:
        return Hub(
            services=f"tcp://{services}",
            settings=self.settings.hub,
            tap=HubTap(tap) if tap else None,
            keys=self._keys(self.settings.service_keys),
        )

    def _keys(self, allowed: Path | None) -> CurveServer | None:
        if self.settings.curve_key is None or allowed is None:
            return None
        return CurveServer(read_secret(self.settings.curve_key), read_public(allowed))

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
            hub=self._hub.entrance if self._hub else None,
            pages=self._pages(host),
            is_full=lambda: self.buffered_bytes > settings.max_buffered_bytes,
            limits=settings.limits,
        )

    def _pages(self, host: str) -> OpenPages:
        """What browsers get by plain GETs: our client, and the files of a folder if there is one."""
        told = self.settings.static
        files = Folder(told).find if told else None
        names = {urlsplit(origin).hostname or "" for origin in self.settings.origins}
        return OpenPages({client.PATH: client.module}, files=files, host=host, names=names)

    @property
    def ready_line(self) -> str:
        """What ``framehub serve`` prints when it can be used."""
        assert self._listener is not None
        recording = f"journal={self.settings.journal} node={self._writer.node.name}" if self._writer else ""
        hub = functions = ""
        if self._hub:
            hub = f" hub={self._listener.hub_url} services={self._hub.address}"
        if self._functions:
            proxy = self._functions
            functions = f" clients={proxy.clients_address} workers={proxy.workers_address}"
        admin = f" admin={self._admin.url}" if self._admin else ""
        return f"ready mfp={self._listener.url}{hub}{functions}{admin} {recording or 'journal=off'}"

    @property
    def url(self) -> str:
        """Where MFP clients connect."""
        assert self._listener is not None
        return self._listener.url

    @property
    def pending(self) -> int:
        """How much is under way with all clients."""
        return sum(part.pending for part in (self._listener, self._hub, self._functions) if part)

    @property
    def buffered_bytes(self) -> int:
        """What waits in the hub, the proxy and the journal, and what connections read into; cheap to ask."""
        read = self._read_buffers.bytes if self._read_buffers else 0
        hub = self._hub.switch.held_bytes if self._hub and self._hub.is_up else 0
        functions = self._functions.machine.held_bytes if self._functions and self._functions.is_up else 0
        return read + hub + functions + (self._writer.backlog if self._writer else 0)

    @property
    def is_stopping(self) -> bool:
        """Whether it was asked to end."""
        return self._stopping.is_set()

    @property
    def listener(self) -> Listener | None:
        """The WebSocket listener, once it is there."""
        return self._listener

    @property
    def endpoints(self) -> GatewayEndpoints | None:
        """What clients can ask for, once it is known."""
        return self._endpoints

    @property
    def writer(self) -> JournalWriter | None:
        """The journal's, where there is one."""
        return self._writer

    @property
    def retention(self) -> Retention | None:
        """What removes old rows, where there is a journal."""
        return self._retention

    @property
    def admin_url(self) -> str | None:
        """Where the admin port is, where there is one."""
        return self._admin.url if self._admin else None

    @property
    def functions(self) -> RpcProxy | None:
        """The proxy of remote functions, where there is one."""
        return self._functions

    @property
    def hub(self) -> Hub | None:
        """The hub, where there is one."""
        return self._hub

    def stop(self) -> None:
        """Ask it to end; ``wait`` returns."""
        self._stopping.set()

    async def wait(self) -> None:
        """Until somebody calls ``stop``, or something fails for good."""
        await self._stopping.wait()

    async def close(self) -> None:
        """Let what runs finish, say goodbye, make the journal durable and seal it."""
        self._stopping.set()
        drain = 0 if self.failure else self.settings.drain
        until = asyncio.get_running_loop().time() + drain
        behind = [part for part in (self._hub, self._functions) if part]
        for part in behind:
            part.drain()
        if self._listener:
            await self._listener.close(drain=drain)
        # Only while stopping, and what is pending changes in many places: look, do not wire.
        while any(part.pending for part in behind) and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        if self._hub:
            await self._hub.close()
        if self._functions:
            self._functions.close()
        if self._retention:
            await self._retention.close()
        if self._writer:
            try:
                await asyncio.to_thread(self._writer.close)
            except JournalError as exc:
                self.failure = self.failure or exc
            for unsealed in self._writer.sealer.errors:
                log.warning("journal: not sealed, still readable as blocks: %s", unsealed)
        if self._admin:
            await self._admin.close()

    async def __aenter__(self) -> "Gateway":
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _pause(self) -> None:
        for part in (self._listener, self._hub, self._functions):
            if part:
                part.pause()

    def _resume(self) -> None:
        for part in (self._listener, self._hub, self._functions):
            if part:
                part.resume()

    def _fail(self, error: JournalError, lost: str = "NOTHING is recorded from here on") -> None:
        """What is to be written down cannot be: nothing may go on without it, unless that was said."""
        if self.failure is not None:
            log.warning("%s", error)  # it stops already, for the first of its reasons
            return
        if self.settings.recording.on_failure == "continue":
            log.critical("%s; going on, and %s", error, lost)
            self._resume()
            return
        log.critical("%s; stopping", error)
        self.failure = error
        self.stop()
