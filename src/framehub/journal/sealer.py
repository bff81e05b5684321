"""Sealing in the background, one segment at a time (spec/journal.md, section 6)."""

import threading
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from framehub.errors import JournalError
from framehub.journal.seal import seal
from framehub.journal.seal_apart import Apart, Pace, seal_apart
from framehub.journal.segments import Node

APART_BYTES: Final = 16 << 20
"""Segments of this size are worth the half second that another process takes to start."""
MANY: Final = 4
"""With so many that wait, sealing does not wait for an idle core."""
TRIES: Final = 2
"""Processes that may end before they are done; then we do it ourselves, for old rows are removed in turn."""


class Sealer:
    """Seals the segments it is given, in order. A segment it cannot seal stays, and the reason is kept."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._queue: SimpleQueue[Path | None] = SimpleQueue()
        self._stopping = False
        self._closing = False
        self._thread: threading.Thread | None = None
        self.sealed = 0
        self.errors: list[JournalError] = []
        self.left: set[str] = set()
        """Names of segments that could not be sealed."""

    def submit(self, segment: Path) -> None:
        """Seal this one when its turn comes."""
        self._queue.put(segment)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="framehub-sealer", daemon=True)
            self._thread.start()

    def close(self, *, finish: bool) -> None:
        """Seal what is left (``finish``), or leave it, then end."""
        self._stopping = not finish
        self._closing = True
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (segment := self._queue.get()) is not None and not self._stopping:
            try:
                self.sealed += self._seal(segment)
            except Exception as exc:  # others wait for their turn
                why = (
                    exc if isinstance(exc, JournalError) else JournalError(f"{segment}: not sealed: {exc!r}")
                )
                self.errors.append(why)
                self.left.add(segment.name)

    def _seal(self, segment: Path) -> bool:
        for _ in range(TRIES if self._is_large(segment) else 0):
            with suppress(Apart):
                return seal_apart(segment, self._pace)
        seal(segment, node=self._node.name, salt=self._node.salt)
        return True

    def _is_large(self, segment: Path) -> bool:
        try:
            return segment.stat().st_size >= APART_BYTES
        except OSError:
            return False  # ``seal`` says why

    def _pace(self) -> Pace:
        if self._stopping:
            return "stop"
        return "hurry" if self._closing or self._queue.qsize() >= MANY else "idle"
