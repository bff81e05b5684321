"""An axis of steps of time: labels at round times, and a mark where a pause was left out."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from framehub.report.units import duration

_LABELS: Final = 7
_NARROW_LABELS: Final = 4
_EVERY_S: Final = (
    *(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800),
    *(21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000, 7_776_000, 31_536_000, 315_360_000),
)
_DAY: Final = 86_400
_APART: Final = 0.42
"""How near labels may come to each other, as a share of what each has."""

Times = Sequence[str | None]


def axis(times: Times, step_ms: int) -> dict[str, Any]:
    """The axis for steps that begin at these times; step n reaches from n to n + 1."""
    wide, narrow = (_ticks(times, step_ms, labels) for labels in (_LABELS, _NARROW_LABELS))
    return {"range": [0, len(times)], "showgrid": False, "ticks": "outside", **wide, "narrow": narrow}


def pauses(times: Times, step_ms: int) -> dict[str, Any]:
    """Shapes and words for the pauses among these times."""
    shapes, words = [], []
    for place, time in enumerate(times):
        before, after = (times[place - 1], times[place + 1]) if time is None else (None, None)
        if before is None or after is None:
            continue
        gone = (
            datetime.fromisoformat(after) - datetime.fromisoformat(before) - timedelta(milliseconds=step_ms)
        )
        at = {"xref": "x", "yref": "paper", "x": place + 0.5}
        line = {"dash": "dot", "width": 1, "color": "faint"}
        shapes.append({"type": "line", "xref": "x", "yref": "paper", "x0": place + 0.5, "x1": place + 0.5}
                      | {"y0": 0, "y1": 1, "line": line})  # fmt: skip
        words.append(at | {"y": 1, "yanchor": "top", "showarrow": False, "font": {"color": "faint"}}
                     | {"text": f"{duration(gone.total_seconds() * 1e6)} pause"})  # fmt: skip
    return {"shapes": shapes, "annotations": words}


def _ticks(times: Times, step_ms: int, labels: int) -> dict[str, Any]:
    """Labels where time begins or goes on after a pause, and at round times; the day where it is new."""
    every = next((s for s in _EVERY_S if len(times) * step_ms / 1000 / s <= labels), _EVERY_S[-1])
    apart = _APART / labels * len(times)
    chosen: list[tuple[int, datetime]] = []
    for place, iso in enumerate(times):
        if iso is None:
            continue
        time = datetime.fromisoformat(iso)
        begins = place == 0 or times[place - 1] is None
        near = bool(chosen) and place - chosen[-1][0] < apart
        if begins and near:
            chosen.pop()
        if begins or (not near and (time.timestamp() + 1e-6) % every < step_ms / 1000):
            chosen.append((place, time))
    days = [None, *(time.date() for _, time in chosen)]
    texts = [
        _text(time, every, new_day=time.date() != day, first=day is None)
        for day, (_, time) in zip(days, chosen, strict=False)
    ]
    return {"tickvals": [place for place, _ in chosen], "ticktext": texts}


def _text(time: datetime, every: float, *, new_day: bool, first: bool) -> str:
    day = f"{time:%b} {time.day}"
    below = f"<br>{day}, {time.year}" if first else f"<br>{day}" if new_day else ""
    if every >= _DAY:
        return f"{day}<br>{time.year}" if first else day
    if every >= 60:
        return f"{time:%H:%M}{below}"
    return f"{time:%H:%M:%S}" + (f".{time.microsecond // 10_000:02d}" if every < 1 else "") + below
