"""Which links are open, in case the gateway is killed (spec/journal.md, section 4.4).

A journal whose writer was killed, or failed, has links without an end. What was open is noted beside it, in
a file with a record for each link that opened or closed. The next writer ends in the journal what it finds
left open there.
The file is not synced: a kill loses nothing of it, a power cut may. Ends that were noted and are not durable
when the writer fails are taken back.
"""

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from framehub.errors import JournalError
from framehub.journal.record import FIXED, KIND_NUMBER, Row
from framehub.journal.segments import stand
from framehub.private import new_file, read_file

FILE: Final = "links"
LEFT: Final = "the gateway was ended before this link"
ABNORMAL: Final = 1006
_LINK, _KIND, _CODE = 2, 9, 14
_OPENED: Final = KIND_NUMBER["link_opened"]
_CLOSED: Final = KIND_NUMBER["link_closed"]
_LONG_FILE: Final = 1 << 20


class OpenLinks:
    """The links of one node; ``close`` when the journal is closed, with all links ended."""

    def __init__(self, directory: Path) -> None:
        """``directory`` is the node's, and its lock is held.

        Raises:
            JournalError: what the last writer left cannot be read.
        """
        self._path = directory / FILE
        self.left = _read(self._path)
        """What the last writer left open, by link: the rows of their opening."""
        self._open: dict[bytes, bytes] = {}
        self._ended: deque[tuple[int, bytes]] = deque()  # the number of an end, and its link's opening
        self._fd = -1
        self._begin()

    def note(self, row: Row, seq: int, durable: int) -> None:
        """A link has opened or closed: ``row`` is about to be appended as ``seq``, and is not durable yet."""
        fields = FIXED.unpack(row.fixed)
        while self._ended and self._ended[0][0] <= durable:
            self._ended.popleft()
        if fields[_KIND] == _OPENED:
            self._open[fields[_LINK]] = row.fixed
        elif opening := self._open.pop(fields[_LINK], None):
            self._ended.append((seq, opening))
        if self._fd < 0:
            return
        try:
            os.write(self._fd, row.fixed)
            if os.lseek(self._fd, 0, os.SEEK_CUR) > _LONG_FILE + 2 * FIXED.size * len(self._open):
                self._begin()
        except OSError:
            self._end()  # the journal beside it has the same trouble, and says so

    def end_left(self, append: Callable[[Row], object], at: tuple[int, int]) -> None:
        """Append an end for each link that was left open; ``at`` is when the last row was written."""
        for fixed in self.left.values():
            fields = list(FIXED.unpack(fixed))
            fields[:2] = at
            fields[_KIND], fields[_CODE] = _CLOSED, ABNORMAL
            append(Row(FIXED.pack(*fields), None, None, LEFT))
        self.left = {}
        self._begin()

    def close(self, durable: int | None = None) -> None:
        """No link is open any more; or only rows to ``durable`` are safe: the next writer ends the rest."""
        if durable is None:
            self._path.unlink(missing_ok=True)
        else:
            with suppress(OSError):  # nothing can be written, or the file is not ours any more
                stand(self._fd, self._path)
                os.write(self._fd, b"".join(opening for seq, opening in self._ended if seq > durable))
        self._end()

    def _begin(self) -> None:
        """Write the file anew, with what is open, or not yet ended of what was left."""
        self._end()
        new = self._path.with_suffix(".tmp")
        with suppress(OSError), new_file(new) as file:
            file.write(b"".join((self.left | self._open).values()))
            file.flush()
            new.rename(self._path)
            self._fd = os.dup(file.fileno())

    def _end(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _read(path: Path) -> dict[bytes, bytes]:
    """Links with an opening and no end; half a record at the end is none."""
    try:
        data = read_file(path)
    except FileNotFoundError:
        return {}
    except OSError as exc:
        raise JournalError(f"{path}: {exc.strerror}") from exc
    found: dict[bytes, bytes] = {}
    for at in range(0, len(data) - FIXED.size + 1, FIXED.size):
        fixed = data[at : at + FIXED.size]
        fields = FIXED.unpack(fixed)
        if fields[_KIND] == _OPENED:
            found[fields[_LINK]] = fixed
        else:
            found.pop(fields[_LINK], None)
    return found
