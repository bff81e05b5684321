"""Rows of the journal whose bytes do not bear out what it says of them (spec/audit.md, section 6).

Only rows that break a rule come out, so that what moves is next to nothing however long the journal is.
"""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from framehub.journal.record import KINDS
from framehub.pipeline import decode
from framehub.pipeline.decode import Columns, Group
from framehub.pipeline.decoded import LAWFUL, NONE, UNLAWFUL
from framehub.pipeline.spans import NULL, Flags, Spans

UNLAWFUL_RULE: Final = "raw-unlawful"
SUM_RULE: Final = "raw-checksum"
DIFFERS_RULE: Final = "raw-differs"
RULES: Final = (UNLAWFUL_RULE, SUM_RULE, DIFFERS_RULE)

FINDINGS: Final = pa.schema(
    [
        pa.field("node", pa.string()),
        pa.field("seq", pa.int64()),
        pa.field("time_ns", pa.int64()),
        pa.field("protocol", pa.string()),
        pa.field("link", pa.binary()),
        pa.field("exchange", pa.binary()),
        pa.field("endpoint", pa.string()),
        pa.field("rule", pa.string()),
        pa.field("detail", pa.string()),
    ]
)
"""Columns of ``findings``."""

_PLACE: Final = ("node", "seq", "time_ns", "protocol", "link", "exchange", "endpoint")
_COMPARED: Final = ("bytes", "head", "id", "ref", "key", "code", "payload_at", "payload_bytes", "files")
COMPARED_COLUMNS: Final = tuple(dict.fromkeys((*decode.COLUMNS, *_COMPARED, "query", "endpoint")))
"""What ``is_sound`` needs of the rows."""
COLUMNS: Final = tuple(dict.fromkeys((*_PLACE, *COMPARED_COLUMNS)))
"""What ``findings`` needs of them."""
_WHERE_SAID: Final = ("code", "endpoint")
"""Compared only where the bytes have it; these columns mean other things elsewhere."""


def findings(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The rows of a batch that break a rule, each with the first rule that it breaks (``FINDINGS``)."""
    columns = Columns(batch)
    found = [one for group in decode.decode(columns) for one in _broken(columns, group)]
    if not found:
        return decode.empty(FINDINGS)
    found.sort()
    rows, rules, details = zip(*found, strict=True)
    places = pa.array(rows)
    made = [batch.column(name).take(places).cast(FINDINGS.field(name).type) for name in _PLACE]
    made += [pa.array(rules), pa.array(details)]
    return pa.RecordBatch.from_arrays(made, schema=FINDINGS)


def is_sound(batch: pa.RecordBatch) -> bool:
    """Whether ``findings`` has nothing to say."""
    columns = Columns(batch)
    for group in decode.decode(columns):
        if group.decoded.verdict.any():  # all but ``LAWFUL``
            return False
        if any(differs.any() for _, differs, _, _ in _comparisons(columns, group)):
            return False
    return True


def _broken(columns: Columns, group: Group) -> list[tuple[int, str, str]]:
    """Row, rule and detail of each broken one."""
    verdict = group.decoded.verdict
    found = []
    for place in np.flatnonzero(verdict != LAWFUL).tolist():
        rule = UNLAWFUL_RULE if verdict[place] == UNLAWFUL else SUM_RULE
        found.append((int(group.rows[place]), rule, decode.reason(columns, group, place)))
    differences: dict[int, list[str]] = {}
    for name, differs, recorded, said in _comparisons(columns, group):
        for place in np.flatnonzero(differs & (verdict == LAWFUL)).tolist():
            text = f"{name}: {_text(name, recorded, place)} recorded, {_text(name, said, place)} in the bytes"
            differences.setdefault(place, []).append(text)
    found += [(int(group.rows[at]), DIFFERS_RULE, "; ".join(texts)) for at, texts in differences.items()]
    return found


def _comparisons(columns: Columns, group: Group) -> list[tuple[str, Flags, Any, Any]]:
    """For each column that the bytes speak of: its name, where it differs, what it says and they say."""
    rows = group.rows
    compared: list[tuple[str, Flags, Any, Any]] = []
    for name, said in {**group.decoded.numbers, "bytes": group.raw.size}.items():
        recorded = columns[name][rows]
        differs = recorded != said
        if name in _WHERE_SAID:
            differs &= said != NONE
        compared.append((name, differs, recorded, said))
    for name, texts in group.decoded.texts.items():
        known = Spans.of(columns.batch.column(name)).take(rows)
        differs = ~known.equals(texts)
        if name in _WHERE_SAID:
            differs &= texts.size != NULL
        compared.append((name, differs, known, texts))
    return compared


def _text(name: str, values: Any, place: int) -> str:
    if isinstance(values, Spans):
        if values.size[place] == NULL:
            return "none"
        data = values.bytes(place)
        return data.hex() if name == "query" else data.decode(errors="replace")
    number = int(values[place])
    if number == NONE:
        return "none"
    return KINDS[number] if name == "kind" else str(number)
