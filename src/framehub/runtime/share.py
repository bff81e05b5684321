"""What one connection may have of a pass of the event loop: then others have their turn."""

from typing import Final

FRAMES: Final = 512
"""Frames of one connection after which it is not read until all others have had their turn."""
LEAST_PIECE: Final = 4 * 1024
"""Bytes that are read at a time of who sends small frames: what was read is parsed in one go."""
MOST_PIECE: Final = 64 * 1024
"""Those of who sends large ones."""
_FEW: Final = 64
"""Frames of a piece after which the next one may be larger; after twice as many it is small again."""


class Share:
    """Counts the frames of one connection; ``frames`` is for its link to add to."""

    __slots__ = ("_before", "frames", "piece")

    def __init__(self) -> None:
        self.frames = 0
        """Since others had their turn."""
        self.piece = LEAST_PIECE
        """Bytes to be read at a time."""
        self._before = 0

    def read(self, size: int) -> bool:
        """So many bytes were read, the frames in them were counted; whether others have their turn."""
        came = self.frames - self._before
        if came > 2 * _FEW:
            self.piece = LEAST_PIECE
        elif came <= _FEW and size >= self.piece:
            self.piece = min(2 * self.piece, MOST_PIECE)
        is_over = self.is_over()
        self._before = self.frames
        return is_over

    def is_over(self) -> bool:
        """Whether it has had its turn; if so, the next one begins."""
        if self.frames < FRAMES:
            return False
        self.frames = 0
        return True
