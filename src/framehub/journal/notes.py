"""Brief rows are noted, one after the other, on the hot path (spec/journal.md, section 7).

There are two of these that do the same. ``_notes`` is compiled, where there was a C compiler when the package
was installed: a row is one call that nothing interrupts. ``Notes`` needs none, and takes a lock for each row:
about 1.1 us of the event loop for a brief one.
"""

from collections.abc import Callable, Sequence
from io import BytesIO
from struct import Struct
from threading import Lock
from time import monotonic
from typing import Any, Final, TypeAlias

from msgspec import UNSET

from framehub.journal.brief import MFP_BRIEF, pack
from framehub.journal.labels import MOST, Labels
from framehub.journal.page import Memory, Page
from framehub.journal.rpc_rows import joined
from framehub.mfp.envelope import BadEnvelope, Envelope

Took: TypeAlias = Callable[[bytes | memoryview, int, Envelope | BadEnvelope | None, float], bool]
"""Note a frame that came: its bytes, the number of its exchange on the link, what its payload says, when.

False: it cannot be brief, and was not noted.
"""
Gave: TypeAlias = Callable[[bytes, int, str], bool]
"""Note a frame that went: its bytes, the number of its exchange on the link, its endpoint. False as above."""
Shape: TypeAlias = tuple[Any, ...]
"""What rows have in common that have one label: whoever notes them says what that is."""
Label: TypeAlias = tuple[bytes, str | None, str | None, str | None]
"""What a label says: the constant of its rows (``brief.CONSTANT``), their endpoint, error and coder."""
_HALVES: Final = Struct(">QQ")


class Notes:
    """Where brief rows of a journal go, in pure Python."""

    def __init__(self, light: int, full_at: tuple[int, int], turning: Lock) -> None:
        """``light`` is the largest frame that may be brief; ``turning`` is held while the page is changed.

        A page is full with so many bytes of brief rows, or so many of frames (``full_at``).
        """
        self.light = light
        self._full_at = full_at
        self.every_row = True
        """``attend`` is called for every row, not only when a page is full: the writer's thread may sleep."""
        self.behind = False
        """Rows are not taken, but counted."""
        self.dropped = 0
        """Those that were not taken."""
        self.attend: Callable[[], object] = _nothing
        self._turning = turning
        self._page = Page(Labels())

    def memory(self) -> tuple[Memory, Memory]:
        """For brief rows and for frames of a page."""
        return BytesIO(), BytesIO()

    def lay(self, page: Page) -> None:
        """Rows go to this page from now on."""
        self._page = page

    def note(
        self,
        now: float,
        exchange: tuple[int, int],
        constant: bytes,
        texts: Sequence[str | None],
        raw: bytes | memoryview,
    ) -> None:
        """Add a brief row: its exchange in two halves, its endpoint, error and coder."""
        if self.behind:
            self.dropped += 1
            return
        with self._turning:
            page = self._page
            label = page.labels.number(constant, *texts)
            page.briefs.write(pack(now, *exchange, len(raw), label))
            page.frames.write(raw)
            is_due = self.every_row or page.is_full(*self._full_at)
        if is_due:
            self.attend()

    def link(self, link: int, constants: tuple[bytes, bytes], light: int) -> tuple[Took, Gave]:
        """What notes the frames of one MFP connection, those that came and those that went.

        Frames over ``light`` bytes are not brief.
        """
        came, went = constants
        note = self.note

        def is_brief(raw: bytes | memoryview) -> bool:
            return type(raw) is bytes and 0 < len(raw) <= light and MFP_BRIEF[raw[0]] == 2

        def took(
            raw: bytes | memoryview, exchange: int, opened: Envelope | BadEnvelope | None, now: float
        ) -> bool:
            if not is_brief(raw) or type(opened) is not Envelope or opened.error is not UNSET:
                return False
            note(now, (link if exchange else 0, exchange), came, (opened.endpoint, None, None), raw)
            return True

        def gave(raw: bytes, exchange: int, endpoint: str) -> bool:
            if not is_brief(raw):
                return False
            note(monotonic(), (link if exchange else 0, exchange), went, (endpoint, None, None), raw)
            return True

        return took, gave

    def shapes(self, label: Callable[[Shape], Label]) -> "Shapes":
        """What notes rows by their shapes; ``label`` is asked once for each, or a few times."""
        return Shapes(self, label)


class Shapes:
    """Notes brief rows of which many have one shape, in pure Python."""

    def __init__(self, notes: Notes, label: Callable[[Shape], Label]) -> None:
        self._notes = notes
        self._label = label
        self._known: dict[Shape, Label] = {}

    def message(self, shape: Shape, exchange: bytes, identity: bytes, parts: Sequence[bytes]) -> bool:
        """Note a message of functions, now: every part after its length. False: it is too long for that."""
        raw = joined(identity, parts)
        if len(raw) > self._notes.light:
            return False
        self._note(shape, _HALVES.unpack(exchange), raw)
        return True

    def frame(self, shape: Shape, link: bytes, number: int, raw: bytes | memoryview) -> None:
        """Note a frame, now; its exchange is the link's 8 bytes and a number."""
        self._note(shape, (int.from_bytes(link, "big"), number), raw)

    def _note(self, shape: Shape, exchange: tuple[int, int], raw: bytes | memoryview) -> None:
        label = self._known.get(shape)
        if label is None:
            if len(self._known) >= MOST:
                self._known.clear()
            label = self._known[shape] = self._label(shape)
        constant, *texts = label
        self._notes.note(monotonic(), exchange, constant, texts, raw)


def _nothing() -> None:
    """There is nobody to wake yet."""


try:
    from framehub.journal import _notes
except ImportError:  # there was no compiler
    QUICKEST: type[Notes] = Notes
    """What a journal uses."""
else:
    QUICKEST = _notes.Notes
