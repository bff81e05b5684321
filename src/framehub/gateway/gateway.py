"""The gateway: the listener, the app and the journal as one running thing."""

import asyncio
import logging
from collections.abc import Callable
from types import TracebackType

from framehub.errors import FramehubError, JournalError
from framehub.gateway.app import load_app
from framehub.gateway.settings import GatewaySettings, split_address
from framehub.journal.settings import WriterSettings
from framehub.journal.writer import JournalWriter
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.listen import Listener
from framehub.runtime.tap import Tap

log = logging.getLogger("framehub.gateway")


class Gateway:
    """Start it, wait for it, stop it; or ``async with`` it."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self.failure: FramehubError | None = None
        """Why it stopped by itself, if it did."""
        self._stopping = asyncio.Event()
        self._writer: JournalWriter | None = None
        self._listener: Listener | None = None

    async def start(self) -> None:
        """Open the journal, then the listener.

        Raises:
            FramehubError: what cannot be had; nothing is left behind.
        """
        settings = self.settings
        endpoints = load_app(settings.app) if settings.app else Endpoints()
        loop = asyncio.get_running_loop()

        def soon(call: Callable[..., None], *args: object) -> None:
            loop.call_soon_threadsafe(call, *args)

        tap = None
        if settings.journal is not None:
            self._writer = JournalWriter(
                settings.journal,
                node=settings.node,
                settings=WriterSettings(frame_limit=settings.mfp.max_frame_bytes),
                on_room=lambda: soon(self._resume),
                on_failure=lambda error: soon(self._fail, error),
            )
            tap = Tap(self._writer, on_full=self._pause)
            for damage in (*self._writer.recovery.cut, *self._writer.recovery.damages):
                log.warning("journal: %s", damage)
        try:
            self._listener = self._listen(endpoints, tap)
            await self._listener.start()
        except BaseException:
            if self._writer:
                self._writer.close(seal=False)
            raise

    def _listen(self, endpoints: Endpoints, tap: Tap | None) -> Listener:
        settings = self.settings
        host, port = split_address(settings.listen)
        bracketed = f"[{host}]" if ":" in host else host
        url = f"ws://{bracketed}:{port}/mfp"
        return Listener(url, endpoints, settings=settings.mfp, tap=tap, origins=settings.origins)

    @property
    def ready_line(self) -> str:
        """What ``framehub serve`` prints when it can be used."""
        assert self._listener is not None
        recording = f"journal={self.settings.journal} node={self._writer.node.name}" if self._writer else ""
        return f"ready mfp={self._listener.url} {recording or 'journal=off'}"

    @property
    def url(self) -> str:
        """Where MFP clients connect."""
        assert self._listener is not None
        return self._listener.url

    @property
    def pending(self) -> int:
        """How much is under way with all clients."""
        return self._listener.pending if self._listener else 0

    def stop(self) -> None:
        """Ask it to end; ``wait`` returns."""
        self._stopping.set()

    async def wait(self) -> None:
        """Until somebody calls ``stop``, or something fails for good."""
        await self._stopping.wait()

    async def close(self) -> None:
        """Let what runs finish, say goodbye, make the journal durable and seal it."""
        if self._listener:
            await self._listener.close(drain=0 if self.failure else self.settings.drain)
        if self._writer:
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

    def _resume(self) -> None:
        if self._listener:
            self._listener.resume()

    def _fail(self, error: JournalError) -> None:
        """The journal cannot be written: nothing may go on unrecorded."""
        log.critical("%s; stopping", error)
        self.failure = error
        self.stop()
