"""Figures to one HTML page that needs nothing else: no network, no server.

All that comes from the tables is text that strangers sent. It reaches the page only through ``html.escape``
and ``_json``; and the page lets no script run but its own two, which it names by their sums.
"""

import base64
import hashlib
import json
import os
import shlex
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from framehub.errors import PipelineError
from framehub.report.facts import Facts, gather
from framehub.report.plots import plots

Row = list[tuple[str, str]]
"""Cells of a table's row: heading and HTML."""


def write_report(out: Path) -> Path:
    """Write ``out/report.html`` and ``out/report.json``; the page's path.

    Raises:
        PipelineError: there are no tables, plotly is missing, or ``out`` cannot be written.
    """
    facts = gather(out)
    page = render(facts)
    try:
        _replace(out / "report.json", json.dumps(facts, indent=1) + "\n")
        _replace(out / "report.html", page)
    except OSError as exc:
        raise PipelineError(f"cannot write the report to {out}: {exc.strerror}") from exc
    return out / "report.html"


def render(facts: Facts) -> str:
    """The page."""
    templates = files("framehub.report") / "templates"
    scripts = [_plotly(), (templates / "page.js").read_text()]
    sums = " ".join(f"'sha256-{_sum(script)}'" for script in scripts)
    return Template((templates / "page.html").read_text()).substitute(
        policy=escape(
            f"default-src 'none'; style-src 'unsafe-inline'; img-src data: blob:; script-src {sums}"
        ),
        style=(templates / "page.css").read_text(),
        title=escape(f"framehub: {Path(facts['journal']).name}"),
        basis=_basis(facts),
        damage=_damage(facts),
        tiles=_tiles(facts),
        waits=_table([_wait_row(row) for row in facts["waits"]], "No request has been answered.", "narrow"),
        slowest=_table(
            [_exchange_row(row, facts) for row in facts["slowest"]], "No request has been answered."
        ),
        failed=_table([_exchange_row(row, facts) for row in facts["failed"]], "Nothing has failed."),
        messages=_table([_message_row(row) for row in facts["messages"]], "No messages."),
        plots=_json(plots(facts)),
        plotly=scripts[0],
        script=scripts[1],
    )


def _plotly() -> str:
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as exc:
        raise PipelineError("the report needs plotly: `pip install framehub[spark]`") from exc
    script: str = get_plotlyjs()
    if "</script" in script.lower():
        raise PipelineError("this plotly cannot be put into a page")
    return script


def _sum(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _json(value: Any) -> str:
    """JSON that cannot end the script element it stands in, whatever it says."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _basis(facts: Facts) -> str:
    span = facts["span"]
    when = f"{_moment(span[0])} to {_moment(span[1])} UTC" if span else "no frames yet"
    nodes = ", ".join(f"{escape(node)} up to row {seq:,}" for node, seq in facts["nodes"].items()) or "none"
    rows = [
        ("journal", f"<code>{escape(facts['journal'])}</code>"),
        ("time", when),
        ("nodes", nodes),
        ("snapshot", f"<code>{escape(facts['snapshot'])}</code>"),
        ("made", f"{_moment(facts['made'])} UTC"),
    ]
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in rows)


def _damage(facts: Facts) -> str:
    if not facts["damage"]:
        return ""
    lines = "".join(f"<li>{escape(line)}</li>" for line in facts["damage"])
    return f'<section class="damage"><h2>The journal is damaged</h2><ul>{lines}</ul></section>'


def _tiles(facts: Facts) -> str:
    counts = {"ok": 0, "open": 0}
    for of_endpoint in facts["outcomes"].values():
        for outcome, number in of_endpoint.items():
            counts[outcome] = counts.get(outcome, 0) + number
    total = sum(counts.values())
    failed = total - counts["ok"] - counts["open"]
    tiles = [(f"{facts['rows'][name]:,}", name) for name in ("frames", "messages", "exchanges")]
    tiles += [(f"{failed:,}", f"failed, {failed / total:.1%}" if total else "failed")]
    return "".join(f"<div><strong>{number}</strong><span>{what}</span></div>" for number, what in tiles)


def _table(rows: list[Row], otherwise: str, kind: str = "wide") -> str:
    if not rows:
        return f'<p class="none">{otherwise}</p>'
    head = "".join(f"<th>{name}</th>" for name, _ in rows[0])
    body = "".join(
        "<tr>" + "".join(f'<td data-name="{name}">{cell}</td>' for name, cell in row) + "</tr>"
        for row in rows
    )
    return f'<table class="{kind}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _wait_row(row: Facts) -> Row:
    quantiles = [(name, _duration(row[name])) for name in ("p50", "p95", "p99", "max")]
    return [("endpoint or function", escape(row["endpoint"])), ("answered", f"{row['count']:,}"), *quantiles]


def _exchange_row(row: Facts, facts: Facts) -> Row:
    outcome = escape(row["outcome"])
    told = f'<span class="outcome {outcome}">{outcome}</span>'
    if row["code"]:
        told += f" {escape(row['code'])}"
    program = os.environ.get("FRAMEHUB_COMMAND", "framehub")
    where = f"--journal {shlex.quote(facts['journal'])} --tables {shlex.quote(facts['tables'])}"
    command = escape(f"{program} story {row['exchange']} {where}")
    return [
        ("opened", _moment(row["opened"])),
        ("what", escape(f"{row['kind'] or 'lost'} {row['direction'] or ''} {row['endpoint'] or ''}")),
        ("user", str(row["user"])),
        ("outcome", told),
        ("wait", _duration(row["wait_us"])),
        ("its story", f'<code class="command">{command}</code>'),
    ]


def _message_row(row: Facts) -> Row:
    if row["readable"]:
        said = row["json"] if row["error"] is None else f"error: {row['error']}"
    else:
        unread = f"(not read: {row['coder']})" if row["coder"] else "(not an envelope)"
        said = "(not recorded)" if row["readable"] is None else unread
    names = ", ".join(str(file["name"] or file["key"]) for file in row["files"] or [])
    return [
        ("time", _moment(row["time"])),
        ("what", escape(f"{row['kind']} {row['direction']} {row['endpoint'] or ''}")),
        ("user", str(row["user"])),
        ("data", f"<code>{escape(said or '')}</code>"),
        ("files", escape(names)),
    ]


def _moment(iso: str | None) -> str:
    return escape(iso[:19].replace("T", " ")) if iso else ""


def _duration(microseconds: float | None) -> str:
    if microseconds is None:
        return ""
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{microseconds / size:.3g} {unit}"
    return f"{microseconds:.3g} µs"


def _replace(file: Path, text: str) -> None:
    beside = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        beside.write_text(text)
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)
