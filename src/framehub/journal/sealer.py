"""Sealing in the background: one thread, one segment at a time (spec/journal.md, section 6)."""

import os
import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from framehub.errors import JournalError
from framehub.journal.seal import seal
from framehub.journal.segments import Node

_NICE: Final = 10


class Sealer:
    """Seals the segments it is given, in order. A segment it cannot seal stays, and the reason is kept."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._queue: SimpleQueue[Path | None] = SimpleQueue()
        self._stopping = False
        self._thread: threading.Thread | None = None
        self.sealed = 0
        self.errors: list[JournalError] = []

    def submit(self, segment: Path) -> None:
        """Seal this one when its turn comes."""
        self._queue.put(segment)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="framehub-sealer", daemon=True)
            self._thread.start()

    def close(self, *, finish: bool) -> None:
        """Seal what is left (``finish``) or only the one in work, then end."""
        self._stopping = not finish
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        with suppress(OSError):  # on Linux a thread has a priority of its own
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICE)
        while (segment := self._queue.get()) is not None and not self._stopping:
            try:
                seal(segment, node=self._node.name, salt=self._node.salt)
                self.sealed += 1
            except JournalError as exc:
                self.errors.append(exc)
