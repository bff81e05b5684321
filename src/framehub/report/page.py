"""Figures to one HTML page that needs nothing else: no network, no server.

All that comes from the tables is text that strangers sent. It reaches the page only through ``html.escape``
and ``_json``; and the page lets no script run but its own two, which it names by their sums.
"""

import base64
import hashlib
import json
import os
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Final

from framehub.errors import PipelineError
from framehub.private import new_file
from framehub.report import sections
from framehub.report.facts import Facts, gather
from framehub.report.plots import plots
from framehub.report.units import number

PARTS: Final = {
    "violations": ("Violations", sections.violations),
    "failures": ("Failures", sections.failures),
    "outcomes": ("Outcomes", sections.outcomes),
    "latency": ("Latency", sections.latency),
    "slowest": ("Slowest", sections.slowest),
    "traffic": ("Traffic", sections.traffic),
    "files": ("Files", sections.files),
    "messages": ("Messages", sections.messages),
}
"""What the page has, in its order: by id, the word in the table of contents, and what makes it."""
_TITLES: Final = {"slowest": "Slowest answers", "messages": "Latest messages"}


def write_report(out: Path) -> Path:
    """Write ``out/report.html`` and ``out/report.json``; the page's path.

    Raises:
        PipelineError: there are no tables, plotly is missing, or ``out`` cannot be written.
    """
    facts = gather(out)
    page = render(facts)
    try:
        _replace(out / "report.json", json.dumps(facts, indent=1, allow_nan=False) + "\n")
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
            "default-src 'none'; base-uri 'none'; form-action 'none'; "
            f"style-src 'unsafe-inline'; img-src data: blob:; script-src {sums}"
        ),
        style=(templates / "page.css").read_text(),
        title=escape(f"framehub: {Path(facts['journal']).name}"),
        name=escape(Path(facts["journal"]).name),
        basis=sections.basis(facts),
        contents=_contents(facts),
        damage=sections.damage(facts),
        tiles=sections.tiles(facts),
        parts="\n".join(
            f'<section id="{place}"><h2>{_TITLES.get(place, word)}</h2>{make(facts)}</section>'
            for place, (word, make) in PARTS.items()
        ),
        plots=_json(plots(facts)),
        plotly=scripts[0],
        script=scripts[1],
    )


def _contents(facts: Facts) -> str:
    """Links to the parts, with how much went wrong."""
    wrong = {"violations": facts["audit"]["violations"], "failures": facts["totals"]["failed"]}
    links = ['<a href="#damage" class="bad">Damage</a>'] if facts["damage"] else []
    for place, (word, _) in PARTS.items():
        badge = f" <b>{number(wrong[place])}</b>" if wrong.get(place) else ""
        links.append(f'<a href="#{place}">{word}{badge}</a>')
    return "".join(links)


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
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _replace(file: Path, text: str) -> None:
    beside = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        with new_file(beside) as written:
            written.write(text.encode())
        beside.replace(file)
    finally:
        beside.unlink(missing_ok=True)
