"""Every link that came, went or registered, from the journal's first row on: mapped, not read.

Each step adds a piece with the links of its rows. A piece that is less than twice as long as what comes
behind it is put together with that, so that there are few pieces after any number of steps, and a row is
written again only as often as all that there is doubles. Others pass to the next snapshot as they are.
"""

from pathlib import Path
from typing import Final

import pyarrow as pa

from framehub.pipeline import snapshots
from framehub.pipeline.census import LINK_SCHEMA
from framehub.private import make_directory, new_file

PLACE: Final = Path("state", "links")
_BATCH_ROWS: Final = 1 << 20


def known_links(snapshot: Path | None) -> pa.Table:
    """All that a snapshot knows (``census.LINK_SCHEMA``); its bytes stay on disk until they are looked at."""
    pieces = [_mapped(file) for file in _pieces(snapshot)]
    return pa.concat_tables(pieces) if pieces else LINK_SCHEMA.empty_table()


def add_links(before: Path | None, target: Path, commit: int, new: pa.Table) -> None:
    """Write the book of the next snapshot: that of the one before, and what is new."""
    make_directory(target / PLACE)
    kept = _pieces(before) if before is not None else []
    tail = [new] if new.num_rows else []
    rows = new.num_rows
    while kept and tail and (piece := _mapped(kept[-1])).num_rows < 2 * rows:
        tail.insert(0, piece)
        rows += piece.num_rows
        kept.pop()
    for file in kept:
        snapshots.keep(file, target / PLACE / file.name)
    if tail:
        whole = pa.concat_tables(tail)
        with (
            new_file(target / PLACE / f"{commit:09d}.arrow") as written,
            pa.ipc.new_file(written, LINK_SCHEMA) as book,
        ):
            book.write_table(whole, _BATCH_ROWS)


def _pieces(snapshot: Path | None) -> list[Path]:
    """Its files, the oldest links first."""
    return sorted((snapshot / PLACE).glob("*.arrow")) if snapshot is not None else []


def _mapped(file: Path) -> pa.Table:
    return pa.ipc.open_file(pa.memory_map(str(file))).read_all()
