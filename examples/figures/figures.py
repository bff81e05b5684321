"""Live figures: a worker that answers SQL over the pipeline's tables, for pages and programs.

    framehub serve --static web                                    a gateway, its journal, and the page
    framehub pipeline follow journal tables                        the journal's tables, ever anew
    FIGURES_TABLES=tables framehub worker figures:worker           this

``figures`` answers the questions below: anybody who may call functions may ask them. With ``FIGURES_SQL=1``
``sql`` answers any statement. Spark reads whatever files this process may read, so let only those ask whom
you would let read them.
"""

import os
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import framehub
from framehub.pipeline import session, snapshots
from framehub.pipeline.explore import Explorer, explorer

QUESTIONS = {
    "calls": """
        SELECT endpoint, kind, count(*) AS calls, count_if(outcome = 'ok') AS ok,
               round(percentile_approx(wait_us, 0.5) / 1000, 1) AS p50_ms,
               round(percentile_approx(wait_us, 0.95) / 1000, 1) AS p95_ms
        FROM exchanges WHERE endpoint IS NOT NULL
        GROUP BY endpoint, kind ORDER BY calls DESC, endpoint, kind LIMIT 20""",
    "minutes": """
        SELECT date_trunc('minute', opened) AS minute, count(*) AS exchanges,
               sum(bytes_in + bytes_out) AS bytes
        FROM exchanges GROUP BY minute ORDER BY minute DESC LIMIT 60""",
    "troubles": """
        SELECT outcome, code, count(*) AS times, max(opened) AS last
        FROM exchanges WHERE outcome <> 'ok' AND outcome <> 'open'
        GROUP BY outcome, code ORDER BY times DESC LIMIT 20""",
}
MOST = 1_000
"""Rows of an answer."""


@dataclass
class Figures:
    """An answer: its columns, its rows, whether there are more, and when its tables were made."""

    columns: list[str]
    rows: list[list[Any]]
    more: bool
    made: datetime


class Tables:
    """The newest tables of a directory; others take their place as soon as they are there."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._open = ExitStack()
        self._snapshot: Path | None = None
        self._explorer: Explorer | None = None

    def ask(self, statement: str, limit: int) -> Figures:
        with self._lock:
            found = snapshots.load(self._place)
            if self._explorer is None or found is None or found[0] != self._snapshot:
                self._open.close()
                self._explorer = self._open.enter_context(explorer(self._place, spark=session("local[1]")))
                self._snapshot = found[0] if found is not None else None
            assert self._snapshot is not None
            made = datetime.fromtimestamp(self._snapshot.stat().st_mtime, UTC)
            answer = self._explorer.ask(statement, min(limit, MOST))
        rows = [[_plain(value) for value in row] for row in answer.rows]
        return Figures(answer.names, rows, answer.more, made)


def _plain(value: Any) -> Any:
    """What JSON can carry: of anything else its text."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


tables = Tables(Path(os.environ.get("FIGURES_TABLES", "tables")))
worker = framehub.Worker(threads=1)  # Spark stays in this process, and is started by the first question


@worker.function
def figures(question: str) -> Figures:
    """Answer one of the questions this worker knows: calls, minutes, troubles."""
    if question not in QUESTIONS:
        raise ValueError(f"no question {question!r}; there are {', '.join(QUESTIONS)}")
    return tables.ask(QUESTIONS[question], MOST)


if os.environ.get("FIGURES_SQL") == "1":

    @worker.function
    def sql(statement: str, limit: int = 100) -> Figures:
        """Answer a statement over messages, frames, exchanges, files, violations and metrics."""
        return tables.ask(statement, limit)


if __name__ == "__main__":
    worker.run()
