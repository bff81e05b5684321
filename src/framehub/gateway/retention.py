"""A gateway removes what its journal need not keep any longer."""

import asyncio
import logging
import time
from contextlib import suppress
from typing import Final

from framehub.errors import JournalError
from framehub.gateway.recording import RecordingSettings
from framehub.journal.retention import remove_old
from framehub.journal.writer import JournalWriter

log = logging.getLogger("framehub.journal")

LOOK_SECONDS: Final = 60.0
_DAY: Final = 86_400.0


class Retention:
    """Looks once in a while, off the event loop; ``start`` it, ``close`` it."""

    def __init__(
        self, writer: JournalWriter, settings: RecordingSettings, *, look_seconds: float = LOOK_SECONDS
    ) -> None:
        self.removed = 0
        """Segments removed so far."""
        self.removed_bytes = 0
        self._writer = writer
        self._keep_seconds = None if settings.keep_days is None else settings.keep_days * _DAY
        self._keep_bytes = settings.keep_bytes
        self._look_seconds = look_seconds
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Look now and from time to time, if anything is ever to be removed."""
        if self._keep_seconds is not None or self._keep_bytes is not None:
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        """Look no more."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def look(self) -> None:
        """Remove what is too old or too much, and say so in the log; not from a journal that has failed."""
        writer = self._writer
        if writer.failed is not None:
            return  # who knows whose directory it is now
        try:
            gone = await asyncio.to_thread(
                remove_old,
                writer.node.directory,
                now=time.time(),
                keep_seconds=self._keep_seconds,
                keep_bytes=self._keep_bytes,
                spoilt={damage.segment for damage in writer.recovery.damages} | writer.sealer.left,
            )
        except JournalError as exc:
            log.error("%s", exc)
            return
        for one in gone:
            self.removed += one.is_segment
            self.removed_bytes += one.bytes
            log.info("removed %s, %d bytes: %s", one.name, one.bytes, one.reason)

    async def _run(self) -> None:
        while True:
            await self.look()
            await asyncio.sleep(self._look_seconds)
