"""Brief rows are noted, one after the other, on the hot path (spec/journal.md, section 7).

There are two of these that do the same. ``_notes`` is compiled, where there was a C compiler when the package
was installed: a row is one call that nothing interrupts. ``Notes`` needs none: rows are loose at first,
entries of a list, and go to the page some at a time, for what is done for many costs a fraction.
"""

from collections.abc import Callable, Sequence
from io import BytesIO
from struct import Struct
from threading import Lock
from time import monotonic
from typing import Any, Final, TypeAlias

from msgspec import UNSET

from framehub.journal.brief import LOOSE_ROWS, MFP_BRIEF, PACKS
from framehub.journal.labels import MOST, Labels, Side
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
Loose: TypeAlias = tuple[Side, float, bytes, int, str]
"""A brief row: where it went, when, its frame, the number of its exchange on the link, its endpoint."""
_pack = PACKS[1]
_HALVES: Final = Struct(">QQ")


class Notes:
    """Where brief rows of a journal go, in pure Python."""

    def __init__(self, light: int, full_at: tuple[int, int], turning: Lock) -> None:
        """``light`` is the largest frame that may be brief; ``turning`` is held while the page is changed.

        A page is full with so many bytes of brief rows, or so many of frames (``full_at``).
        """
        self.light = light
        self._full_at = full_at
        self.look_at = 1
        """With so many loose rows ``attend`` is called: the writer's thread may sleep."""
        self.attend: Callable[[], object] = _nothing
        self.loose: list[Loose] = []
        """Rows that are on no page yet, at the end the last one."""
        self._turning = turning
        self._page = Page(Labels())

    @property
    def waiting(self) -> int:
        """How many rows are on no page yet."""
        return len(self.loose)

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
        with self._turning:
            self.settle()
            page = self._page
            label = page.labels.number(constant, *texts)
            page.briefs.write(_pack(now, *exchange, len(raw), label))
            page.frames.write(raw)
            is_due = self.look_at <= 1 or page.is_full(*self._full_at)
        if is_due:
            self.attend()

    def link(self, link: int, constants: tuple[bytes, bytes], light: int) -> tuple[Took, Gave]:
        """What notes the frames of one MFP connection, those that came and those that went.

        Frames over ``light`` bytes are not brief. These two are what a request costs more with a journal than
        without, so they do no more than they must, by local names.
        """
        came, went = (Side(link, constant) for constant in constants)
        loose = self.loose
        add = loose.append

        def took(
            raw: bytes | memoryview, exchange: int, opened: Envelope | BadEnvelope | None, now: float
        ) -> bool:
            if (
                len(raw) > light
                or type(opened) is not Envelope
                or opened.error is not UNSET
                or MFP_BRIEF[raw[0]] != 2
            ):
                return False
            add((came, now, raw, exchange, opened.endpoint))  # type: ignore[arg-type]  # no view is so small
            if len(loose) >= self.look_at:
                self.attend()
            return True

        def gave(raw: bytes, exchange: int, endpoint: str) -> bool:
            if len(raw) > light or MFP_BRIEF[raw[0]] != 2:
                return False
            add((went, monotonic(), raw, exchange, endpoint))
            if len(loose) >= self.look_at:
                self.attend()
            return True

        return took, gave

    def shapes(self, label: Callable[[Shape], Label]) -> "Shapes":
        """What notes rows by their shapes; ``label`` is asked once for each, or a few times."""
        return Shapes(self, label)

    def settle(self) -> None:
        """Put loose rows on the page at hand; ``turning`` is held."""
        loose, page = self.loose, self._page
        labels = page.labels
        while batch := loose[:LOOSE_ROWS]:
            numbers: list[Any] = []
            for side, now, raw, exchange, endpoint in batch:
                label = side.known.get(endpoint) if side.labels is labels else None
                if label is None:
                    label = side.number(labels, endpoint)
                numbers += (now, side.link if exchange else 0, exchange, len(raw), label)
            page.briefs.write(PACKS[len(batch)](*numbers))
            page.frames.writelines([raw for _, _, raw, _, _ in batch])
            del loose[: len(batch)]


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
