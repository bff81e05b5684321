"""Files of remote functions: ``framehub.File`` values beside the bytes of a block."""

from pathlib import Path
from typing import Final

from framehub.errors import EncodingError
from framehub.runtime.files import File

LARGEST: Final = 16 << 20


def read_whole(file: File, largest: int = LARGEST) -> bytes:
    """All bytes of a file, wherever they are; it may block.

    Raises:
        EncodingError: there are more than a message can carry.
    """
    source = file.source
    if isinstance(source, bytes):
        return source
    if isinstance(source, Path):
        with source.open("rb") as opened:
            data = opened.read(largest + 1)
    else:
        pieces = []
        size = 0
        while size <= largest and (piece := source.read(largest + 1 - size)):
            pieces.append(piece)
            size += len(piece)
        data = b"".join(pieces)
    if len(data) > largest:
        raise EncodingError("", f"file {file.name!r} has over {largest} bytes: send it as a stream instead")
    return data
