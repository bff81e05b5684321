"""All tables of a journal in plain Python: slow, obvious, and written from the specifications alone.

tables(path)            every table of a journal, as the pipeline should write it
difference(want, got)   the first place in which tables differ, in words; None if they do not

Nothing of framehub is used here but the reader of the journal's rows.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.spark.oracle.audit import violations
from tests.spark.oracle.compare import difference
from tests.spark.oracle.exchanges import exchanges
from tests.spark.oracle.files import files
from tests.spark.oracle.frames import frames
from tests.spark.oracle.messages import messages
from tests.spark.oracle.metrics import metrics
from tests.spark.oracle.reading import Journal, Row, rows_of

__all__ = ["difference", "tables", "tables_of"]

Tables = dict[str, list[dict[str, Any]]]


def tables(path: Path | str) -> Tables:
    """Every table of the journal at ``path``."""
    return tables_of(rows_of(path))


def tables_of(rows: Iterable[Row]) -> Tables:
    """Every table of these rows."""
    journal = Journal(rows)
    of_exchanges = exchanges(journal)
    return {
        "frames": frames(journal),
        "messages": messages(journal),
        "exchanges": of_exchanges,
        "files": files(journal),
        "violations": violations(journal, of_exchanges),
        "metrics": metrics(of_exchanges),
    }
