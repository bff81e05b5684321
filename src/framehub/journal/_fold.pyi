"""What the compiled module offers."""

from typing import TypeAlias

from framehub.journal.message import Head
from framehub.journal.page import WholeRow

_Column: TypeAlias = tuple[int, tuple[bytes, ...]]

def fold(
    briefs: memoryview,
    frames: memoryview,
    labels: bytes,
    texts: list[bytes],
    ahead: int,
    whole: list[WholeRow],
) -> list[_Column] | None: ...
def join(columns: list[_Column], rows: int, frames_bytes: int, head: Head) -> bytes: ...
