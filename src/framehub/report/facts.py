"""Tables to the figures of a report, in one pass over each; also what ``report.json`` holds.

Only pyarrow: a report needs no Spark. Memory does not grow with the tables.
"""

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from framehub.errors import PipelineError
from framehub.report.histogram import Histogram

SHOWN: Final = 12
"""Rows of each list on the page."""
ENDPOINTS: Final = 15
"""Endpoints shown by name; the rest are one."""
OTHERS: Final = "(all others)"
RAW: Final = "(no endpoint)"
TEXT_LIMIT: Final = 400
_BUCKETS: Final = 120
_WIDTHS_MS: Final = (
    *(10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000),
    *(3_600_000, 21_600_000, 86_400_000, 604_800_000),
)
"""Steps of time that people are used to."""
_FAILED: Final = ("error", "timeout", "aborted", "unknown", "disconnected")

Facts = dict[str, Any]


def gather(out: Path) -> Facts:
    """Everything the report tells about the tables in ``out``.

    Raises:
        PipelineError: there are no tables, or they cannot be read.
    """
    # The snapshot is resolved once: a run may replace `current` while we read.
    snapshot = (out / "current").resolve()
    try:
        manifest = json.loads((snapshot / "manifest.json").read_bytes())
    except (OSError, ValueError) as exc:
        hint = f"make them with `framehub pipeline run JOURNAL {out}`"
        raise PipelineError(f"no tables in {out}: {hint}") from exc
    try:
        return {
            "made": datetime.now(UTC).isoformat(timespec="seconds"),
            "tables": str(out),
            **{name: manifest[name] for name in ("journal", "snapshot", "nodes", "rows", "damage")},
            **_traffic(snapshot / "frames"),
            **_exchanges(snapshot / "exchanges"),
            "messages": _sample(snapshot / "messages"),
        }
    except (OSError, pa.ArrowException, KeyError) as exc:
        raise PipelineError(f"the tables in {snapshot} cannot be read: {exc}") from exc


def _batches(directory: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    source = ds.dataset(directory, format="parquet", partitioning="hive")
    for batch in source.to_batches(columns=columns):
        if batch.num_rows:
            yield batch


def _traffic(frames: Path) -> Facts:
    """Frames and bytes each way over time, in at most ``_BUCKETS`` steps."""
    first, last = None, None
    for batch in _batches(frames, ["time"]):
        low, high = pc.min_max(batch.column("time").cast(pa.int64())).values()
        first = low.as_py() if first is None else min(first, low.as_py())
        last = high.as_py() if last is None else max(last, high.as_py())
    if first is None or last is None:
        return {"span": None, "traffic": None}
    width = 1000 * next((ms for ms in _WIDTHS_MS if (last - first) / 1000 / ms < _BUCKETS), _WIDTHS_MS[-1])
    start = first // width * width
    steps = (last - start) // width + 1
    sums = {f"{what}_{way}": np.zeros(steps) for what in ("frames", "bytes") for way in ("in", "out")}
    for batch in _batches(frames, ["time", "direction", "bytes"]):
        step = (batch.column("time").cast(pa.int64()).to_numpy() - start) // width
        incoming = pc.equal(batch.column("direction"), "in").to_numpy(zero_copy_only=False)
        size = batch.column("bytes").to_numpy()
        for way, mask in (("in", incoming), ("out", ~incoming)):
            sums[f"frames_{way}"] += np.bincount(step[mask], minlength=steps)
            sums[f"bytes_{way}"] += np.bincount(step[mask], weights=size[mask], minlength=steps)
    times = [_iso(start + number * width) for number in range(steps)]
    return {
        "span": [_iso(first), _iso(last)],
        "traffic": {"step_ms": width // 1000, "time": times}
        | {name: [int(value) for value in values] for name, values in sums.items()},
    }


def _exchanges(exchanges: Path) -> Facts:
    """Outcomes and waits per endpoint; the slowest and the latest that failed."""
    outcomes: dict[str, Counter[str]] = defaultdict(Counter)
    waits: dict[str, Histogram] = defaultdict(Histogram)
    slowest: list[tuple[int, int, Facts]] = []
    failed: list[tuple[str, int, Facts]] = []
    order = count()
    columns = ["exchange", "kind", "direction", "endpoint", "user", "opened", "wait_us", "outcome", "code"]
    for batch in _batches(exchanges, columns):
        names = _names(batch)
        for (name, outcome), number in Counter(
            zip(names, batch.column("outcome").to_pylist(), strict=True)
        ).items():
            outcomes[name][outcome] += number
        asking = pc.is_in(batch.column("kind"), pa.array(["request", "query"]))
        answered = pc.and_(pc.is_valid(batch.column("wait_us")), asking)
        asked = batch.append_column("name", pa.array(names)).filter(answered)
        for name in asked.column("name").unique().to_pylist():
            of_it = asked.filter(pc.equal(asked.column("name"), name))
            waits[name].add(of_it.column("wait_us").to_numpy())
        for row in _top(asked, "wait_us"):
            _keep(slowest, (row["wait_us"], next(order), _plain(row)))
        wrong = batch.filter(pc.is_in(batch.column("outcome"), pa.array(_FAILED)))
        for row in _top(wrong, "opened"):
            plain = _plain(row)
            _keep(failed, (plain["opened"] or "", next(order), plain))
    top = [name for name, _ in Counter({n: c.total() for n, c in outcomes.items()}).most_common(ENDPOINTS)]
    return {
        "outcomes": _merged(outcomes, top),
        "waits": [
            _distribution(name, waits[name])
            for name, _ in sorted(waits.items(), key=lambda item: -item[1].total)[:ENDPOINTS]
        ],
        "slowest": [row for _, _, row in sorted(slowest, reverse=True)],
        "failed": [row for _, _, row in sorted(failed, reverse=True)],
    }


def _names(batch: pa.RecordBatch) -> list[str]:
    """What stands for each exchange on the page; a function often has the name of an endpoint too."""
    kind, name = pc.fill_null(batch.column("kind"), ""), batch.column("endpoint")
    called = pc.binary_join_element_wise(name, "()", "")
    cases = pc.make_struct(pc.equal(kind, "ping"), pc.equal(kind, "query"))
    names: list[str] = pc.fill_null(pc.case_when(cases, "(ping)", called, name), RAW).to_pylist()
    return names


def _top(batch: pa.RecordBatch, column: str) -> list[Facts]:
    chosen = pc.select_k_unstable(batch, k=SHOWN, sort_keys=[(column, "descending")])
    rows: list[Facts] = batch.take(chosen).to_pylist()
    return rows


def _keep(heap: list[Any], entry: Any) -> None:
    heapq.heappush(heap, entry)
    if len(heap) > SHOWN:
        heapq.heappop(heap)


def _plain(row: Facts) -> Facts:
    moments = {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in row.items()
    }
    return {name: value for name, value in moments.items() if name != "name"}


def _merged(outcomes: dict[str, Counter[str]], top: list[str]) -> dict[str, dict[str, int]]:
    merged = {name: dict(outcomes[name]) for name in top}
    rest: Counter[str] = Counter()
    for name, counts in outcomes.items():
        if name not in merged:
            rest.update(counts)
    return merged | ({OTHERS: dict(rest)} if rest else {})


def _distribution(name: str, waits: Histogram) -> Facts:
    shares = {"p5": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}
    quantiles = {key: waits.quantile(share) for key, share in shares.items()}
    return {"endpoint": name, "count": waits.total, **quantiles, "max": waits.longest}


def _sample(messages: Path) -> list[Facts]:
    """The latest messages, with their data cut short."""
    latest: list[tuple[str, int, Facts]] = []
    order = count()
    columns = [
        "time",
        "user",
        "kind",
        "direction",
        "endpoint",
        "coder",
        "json",
        "error",
        "files",
        "exchange",
        "readable",
    ]
    for batch in _batches(messages, columns):
        for row in _top(batch, "time"):
            plain = _plain(row) | {"json": _short(row["json"]), "error": _short(row["error"])}
            _keep(latest, (plain["time"], next(order), plain))
    return [row for _, _, row in sorted(latest, reverse=True)]


def _short(text: str | None) -> str | None:
    return text if text is None or len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT] + "…"


def _iso(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds / 1e6, UTC).isoformat()
