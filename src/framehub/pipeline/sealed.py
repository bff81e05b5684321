"""Findings in parts of a journal; what is sealed and sound is not read whole.

Nearly every row group is sound. A first look reads only the columns that are compared, words as numbers; a
group in which something is wrong, or that cannot be read, is read again as any other part.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from framehub.journal.reader import Part, read_part
from framehub.journal.seal import GROUP_ROWS
from framehub.pipeline.findings import COLUMNS, COMPARED_COLUMNS, findings, is_sound

_BATCH_ROWS: Final = GROUP_ROWS
"""All of a row group, which is never more than about 32 MiB; each batch costs about a millisecond."""
_WORDS: Final = ["protocol", "direction", "kind", "recorded", "refused", "endpoint"]


def findings_in(part: Part) -> Iterator[pa.RecordBatch]:
    """The findings in a part (``findings.FINDINGS``); batches without any are left out."""
    for piece in _suspects(part):
        for batch in read_part(piece, columns=COLUMNS):
            found = findings(batch)
            if found.num_rows:
                yield found


def _suspects(part: Part) -> Iterator[Part]:
    """What of the part must be read whole."""
    if part.kind != "parquet":
        yield part
        return
    try:
        source = pq.ParquetFile(part.file, page_checksum_verification=True, read_dictionary=_WORDS)
    except (OSError, pa.ArrowException):
        yield part
        return
    with source:
        first = int(Path(part.file).stem)
        for group in range(source.num_row_groups):
            following = first + source.metadata.row_group(group).num_rows
            low, high = max(first, part.first_seq), min(following - 1, part.last_seq)
            if low <= high and not _group_is_sound(source, group):
                yield replace(part, first_seq=low, last_seq=high)
            first = following


def _group_is_sound(source: pq.ParquetFile, group: int) -> bool:
    batches = source.iter_batches(_BATCH_ROWS, [group], list(COMPARED_COLUMNS), use_threads=False)
    try:
        return all(is_sound(batch) for batch in batches)
    except (OSError, pa.ArrowException):
        return False
