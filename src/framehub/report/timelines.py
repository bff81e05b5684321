"""One exchange and those around it as lanes over a common time.

Each lane is cut at what is known of its exchange: when it was given to a worker or service, when that
answered, when the first answer was there, when it ended.
"""

from collections.abc import Sequence
from datetime import datetime
from html import escape
from typing import Any, Final

from framehub.report import markup, units

MARKS: Final = {
    "opened": "opened",
    "given": "given",
    "worker_answered": "answered by it",
    "first_answer": "first answer",
    "closed": "closed",
}
PHASES: Final = {
    "opened": ("here", "here"),
    "given": ("there", "with a worker or service"),
    "worker_answered": ("back", "on its way back"),
    "first_answer": ("rest", "after the first answer"),
}
"""What a lane shows from each mark to the next: its class, and in words."""
_LEAST_PERCENT: Final = 0.25
_UNFOLDED: Final = 4

Row = dict[str, Any]


def legend() -> str:
    """What the colours of lanes mean."""
    words = "".join(f'<span><i class="{name}"></i>{text}</span>' for name, text in PHASES.values())
    return f'<p class="legend">{words}</p>'


def cards(rows: Sequence[Row]) -> str:
    """Exchanges with their timelines, most of them folded away."""
    drawn = [card(row) for row in rows]
    folded = drawn[_UNFOLDED:]
    more = f"<details class=fold><summary>{len(folded)} more</summary>{''.join(folded)}</details>"
    return legend() + "".join(drawn[:_UNFOLDED]) + (more if folded else "")


def card(row: Row) -> str:
    """One exchange: what it was, its timeline, and how to see its frames."""
    facts = [
        f"{escape(row['kind'] or 'lost')} {escape(row['direction'] or '')}".strip(),
        f"user {row['user']}" if row["user"] is not None else "",
        f"node {escape(row['node'])}",
        f"{units.moment(row['opened'], fine=True)} UTC" if row["opened"] else "opening lost",
    ]
    waited = f"waited {units.duration(row['wait_us'])}" if row["wait_us"] is not None else "no answer"
    return (
        f'<article><div class="top">{markup.called(row)} {markup.outcome(row)}'
        f'<span class="waited">{waited}</span></div>'
        f'<p class="facts">{" · ".join(filter(None, facts))}</p>'
        f"{timeline(row)}{markup.command(row['story'])}</article>"
    )


def timeline(row: Row) -> str:
    """The lanes of a family."""
    lanes = [(lane, _marks(lane)) for lane in row["family"]]
    moments = [at for lane, marks in lanes for at in (*marks.values(), *_last(lane))]
    if not moments:
        return markup.none("Its rows have no times.")
    start, end = min(moments), max(moments)
    span = max(1, end - start)
    drawn = "".join(_lane(lane, marks, start, span, alone=len(lanes) == 1) for lane, marks in lanes)
    more = f'<p class="more">and {units.number(row["family_more"])} more</p>' if row["family_more"] else ""
    return f'<div class="timeline">{drawn}{more}</div>'


def _lane(lane: Row, marks: dict[str, int], start: int, span: int, *, alone: bool) -> str:
    bars, order = "", list(marks.items())
    ends = [at for _, at in order[1:]]
    if order and lane["closed"] is None:
        ends.append(max([*_last(lane), order[-1][1]]))
    for (mark, at), until in zip(order, ends, strict=False):
        phase = PHASES[mark][0] if mark in PHASES else "rest"
        bars += _bar(phase, at - start, until - at, span)
    if order and lane["closed"] is not None:
        bars += (
            f'<b class="{escape(lane["outcome"])}" style="left:{_percent(order[-1][1] - start, span)}%"></b>'
        )
    who = "" if alone else _who(lane)
    kind = "lane shown" if lane["shown"] and not alone else "lane"
    return (
        f'<div class="{kind}" style="--depth:{min(lane["depth"], 6)}">'
        f'{who}<div class="track">{bars}</div><p class="marks">{_words(lane, marks, start)}</p></div>'
    )


def _who(lane: Row) -> str:
    kind = f"{escape(lane['kind'] or 'lost')} {escape(lane['direction'] or '')}"
    return f'<p class="who">{markup.called(lane)} <span class="kind">{kind}</span> {markup.outcome(lane)}</p>'


def _words(lane: Row, marks: dict[str, int], start: int) -> str:
    """The marks with their times, those at one moment together."""
    told: list[tuple[list[str], int]] = []
    for mark, at in marks.items():
        words = MARKS[mark]
        if mark == "given" and lane["given_to"]:
            words += f" to <code>{escape(lane['given_to'][:8])}</code>"
            if (lane["dispatches"] or 0) > 1:
                words += f", {lane['dispatches']} times"
        if told and told[-1][1] == at:
            told[-1][0].append(words)
        else:
            told.append(([words], at))
    parts = [f"<span>{', '.join(words)} <em>+{units.duration(at - start)}</em></span>" for words, at in told]
    if lane["closed"] is None:
        parts.append("<span>never closed</span>")
    return " ".join(parts)


def _bar(phase: str, at: int, width: int, span: int) -> str:
    size = max(_LEAST_PERCENT, 100 * width / span)
    left = min(_percent(at, span), 100 - size)
    return f'<i class="{phase}" style="left:{left:.2f}%;width:{size:.2f}%"></i>'


def _percent(at: int, span: int) -> float:
    return round(100 * at / span, 2)


def _marks(lane: Row) -> dict[str, int]:
    """When each thing happened, in microseconds, in the order of time."""
    known = {mark: _microseconds(lane[mark]) for mark in MARKS if lane[mark]}
    return dict(sorted(known.items(), key=lambda item: item[1]))


def _last(lane: Row) -> tuple[int, ...]:
    return (_microseconds(lane["last"]),) if lane["closed"] is None and lane["last"] else ()


def _microseconds(iso: str) -> int:
    at = datetime.fromisoformat(iso)
    return int(at.timestamp()) * 1_000_000 + at.microsecond
