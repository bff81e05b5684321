"""Pieces of HTML that every part of the page is made of.

A ``Cell`` is HTML already: whoever makes one has escaped what strangers wrote.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from framehub.report.units import number


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table: its column's heading, and HTML."""

    name: str
    html: str
    kind: str = ""
    """``n`` for numbers, ``t`` for times."""


def text(name: str, value: object) -> Cell:
    """A cell of text that may be anybody's."""
    return Cell(name, escape(str(value)) if value is not None else "")


def count(name: str, value: int | None) -> Cell:
    """A cell with a number; nothing for none."""
    return Cell(name, number(value) if value else "", "n")


def figure(name: str, html: str) -> Cell:
    """A cell with a number that has been written already."""
    return Cell(name, html, "n")


def table(rows: Sequence[Sequence[Cell]], otherwise: str, kind: str = "wide") -> str:
    """A table; where there are no rows, the words that say so.

    ``wide`` ones become lists on small screens, ``narrow`` ones stay.
    """
    if not rows:
        return none(otherwise)
    head = "".join(f"<th{_class(cell)}>{cell.name}</th>" for cell in rows[0])
    body = "".join(
        "<tr>"
        + "".join(f'<td{_class(cell)} data-name="{cell.name}">{cell.html}</td>' for cell in row)
        + "</tr>"
        for row in rows
    )
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def none(words: str) -> str:
    """What stands where there is nothing to show."""
    return f'<p class="none">{words}</p>'


def command(line: str | None) -> str:
    """A command to copy: one click selects all of it."""
    return f'<code class="command">{escape(line)}</code>' if line else ""


def outcome(row: dict[str, Any]) -> str:
    """An exchange's outcome in its colour, with its code."""
    told = escape(row["outcome"])
    code = f' <span class="code">{escape(row["code"])}</span>' if row["code"] else ""
    return f'<span class="outcome {told}">{told}</span>{code}'


def called(row: dict[str, Any]) -> str:
    """The name of an endpoint, function or service, and its protocol."""
    protocol = f' <span class="protocol">{escape(row["protocol"])}</span>' if row["protocol"] else ""
    return f'<span class="called">{escape(row["name"])}</span>{protocol}'


def _class(cell: Cell) -> str:
    return f' class="{cell.kind}"' if cell.kind else ""
