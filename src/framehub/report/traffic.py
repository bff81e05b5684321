"""Frames and bytes over time, by protocol and direction."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from framehub.report.tables import batches

PROTOCOLS: Final = ("mfp", "rpc", "hub")
SERIES: Final = ("frames_in", "frames_out", "bytes_in", "bytes_out")
MOST_STEPS: Final = 120
_WIDTHS_MS: Final = (
    *(10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000, 300_000, 600_000, 1_800_000),
    *(3_600_000, 21_600_000, 86_400_000, 604_800_000),
)
"""Steps of time that people are used to."""


_MINUTE: Final = 60_000_000
_PAUSE: Final = 0.25
"""A time without frames is left out if it is so much of all time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """The time that the report is about, cut into equal steps; microseconds.

    Long pauses are left out: one empty step stands for each.
    """

    first: int
    last: int
    width: int
    stretches: tuple[tuple[int, int], ...]
    """Between pauses: when the first step begins, at a round time, and how many steps there are."""

    @property
    def count(self) -> int:
        """How many steps there are, those that stand for pauses included."""
        return sum(count for _, count in self.stretches) + len(self.stretches) - 1

    def times(self) -> list[str | None]:
        """When each step begins; None stands for a pause."""
        told: list[str | None] = []
        for start, count in self.stretches:
            told += [None] if told else []
            told += [iso(start + number * self.width) for number in range(count)]
        return told

    def of(self, times: pa.ChunkedArray) -> Any:
        """The step of each time."""
        moments = times.cast(pa.int64()).to_numpy()
        starts, counts = (np.array(column) for column in zip(*self.stretches, strict=True))
        stretch = np.clip(np.searchsorted(starts, moments, side="right") - 1, 0, None)
        before = np.concatenate([[0], np.cumsum(counts[:-1] + 1)])
        inside = (moments - starts[stretch]) // self.width
        return before[stretch] + np.clip(inside, 0, counts[stretch] - 1)


def find_steps(frames: Path) -> Steps | None:
    """As many steps as suit the frames' times; None if there are no frames."""
    first, last = None, None
    minutes = np.array([], dtype=np.int64)
    for table in batches(frames, ["time"]):
        times = table["time"].cast(pa.int64()).to_numpy()
        first = int(times.min()) if first is None else min(first, int(times.min()))
        last = int(times.max()) if last is None else max(last, int(times.max()))
        minutes = np.union1d(minutes, times // _MINUTE)
    if first is None or last is None:
        return None
    busy = _stretches(first, last, minutes)
    span = sum(end - begin for begin, end in busy) / 1000
    width = 1000 * next((ms for ms in _WIDTHS_MS if span / ms < MOST_STEPS), int(span / MOST_STEPS) + 1)
    starts = [begin // width * width for begin, _ in busy]
    counts = [(end - start) // width + 1 for start, (_, end) in zip(starts, busy, strict=True)]
    return Steps(first=first, last=last, width=width, stretches=tuple(zip(starts, counts, strict=True)))


def _stretches(first: int, last: int, minutes: Any) -> list[tuple[int, int]]:
    """Beginnings and ends of the times between long pauses."""
    long = np.flatnonzero(np.diff(minutes) * _MINUTE > max(_PAUSE * (last - first), 5 * _MINUTE))
    ends = [*((minutes[long] + 1) * _MINUTE - 1).tolist(), last]
    begins = [first, *(minutes[long + 1] * _MINUTE).tolist()]
    return list(zip(begins, ends, strict=True))


def traffic(frames: Path, steps: Steps) -> dict[str, Any]:
    """Frames and bytes of each step: ``{"step_ms", "time", "protocols": {name: {series: [...]}}}``."""
    cells = len(PROTOCOLS) * 2 * steps.count
    counts, octets = np.zeros(cells), np.zeros(cells)
    for table in batches(frames, ["time", "protocol", "direction", "bytes"]):
        protocol = pc.index_in(table["protocol"], pa.array(PROTOCOLS))
        known = pc.is_valid(protocol)
        out = pc.equal(table["direction"], "out").filter(known).to_numpy()
        step = steps.of(table["time"].filter(known))
        cell = (protocol.filter(known).to_numpy() * 2 + out) * steps.count + step
        counts += np.bincount(cell, minlength=cells)
        octets += np.bincount(cell, weights=table["bytes"].filter(known).to_numpy(), minlength=cells)
    shape = (len(PROTOCOLS), 2, steps.count)
    counts, octets = counts.reshape(shape), octets.reshape(shape)
    by_protocol = {
        name: dict(zip(SERIES, [_whole(part) for part in (*counts[at], *octets[at])], strict=True))
        for at, name in enumerate(PROTOCOLS)
        if counts[at].any()
    }
    return {"step_ms": steps.width // 1000, "time": steps.times(), "protocols": by_protocol}


def iso(microseconds: int) -> str:
    """A time in microseconds since 1970 as text."""
    return (
        datetime.fromtimestamp(microseconds // 1_000_000, UTC)
        .replace(microsecond=microseconds % 1_000_000)
        .isoformat()
    )


def _whole(values: Any) -> list[int]:
    return [int(value) for value in values]
