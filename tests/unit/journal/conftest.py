"""Rows and journals to try things on."""

from collections.abc import Callable
from pathlib import Path

import pytest

from framehub.journal import segments
from framehub.journal.append import SegmentAppender
from framehub.journal.block import BLOCK_LIMIT, Opening, encode_rows
from framehub.journal.columns import to_batch
from framehub.journal.record import FIXED, KIND_NUMBER, NO_ID, VERSION, Row

SALT = 0x5EED5A17
LINK = b"linklink"


def make_row(number: int, *, raw: bytes | None = None, endpoint: str | None = "chat") -> Row:
    raw = raw if raw is not None else b"frame %d" % number
    exchange = LINK + number.to_bytes(8, "big") if number % 3 else NO_ID
    kind = KIND_NUMBER["request"]
    numbers = (kind, 0x61, number, -1, -1, -1, len(raw), 9, len(raw) - 9, 0)
    return Row(
        FIXED.pack(
            1_000 + number, 500 + number, LINK, 0, 1, number % 2, 7, -1, -1, *numbers, exchange, NO_ID, 0
        ),
        endpoint,
        None,
        None,
        None,
        raw,
    )


def write_segment(directory: Path, *, first_seq: int = 1, blocks: int = 4, rows: int = 3) -> Path:
    """A sound segment of ``blocks`` blocks of ``rows`` rows each."""
    opening = Opening("n1", VERSION, 1_000, SALT, BLOCK_LIMIT)
    appender = SegmentAppender(directory, opening, first_seq=first_seq)
    seq = first_seq
    for _ in range(blocks):
        batch = to_batch([make_row(number) for number in range(seq, seq + rows)])
        appender.write(encode_rows(batch, first_seq=seq, salt=SALT))
        seq += rows
    appender.finish()
    return appender.path


@pytest.fixture
def row() -> Callable[..., Row]:
    return make_row


@pytest.fixture
def segment() -> Callable[..., Path]:
    return write_segment


@pytest.fixture
def node(tmp_path: Path) -> segments.Node:
    """An empty journal of the node "n1"."""
    directory = tmp_path / "n1"
    directory.mkdir()
    return segments.create_node(directory, "n1", SALT)
