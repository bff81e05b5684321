"""``framehub pipeline files``: which files went through, and their bytes out of the journal."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Table
from rich.text import Text

from framehub.cli.progress import sized
from framehub.cli.rows import printable
from framehub.cli.tables import show
from framehub.journal.scan import Damage
from framehub.report.extract import extract, listed

_ROWS = 200
"""Shown to people who do not say how many."""
_SHOWN = ("time", "direction", "endpoint", "how", "key", "bytes", "complete", "name", "type", "exchange")


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--write", "target", type=click.Path(path_type=Path), metavar="DIR",
              help="Write the bytes of complete files to DIR, under names of our own.")  # fmt: skip
@click.option("--journal", type=click.Path(path_type=Path), metavar="JOURNAL",
              help="Where the bytes are; by default the journal that the tables were made of.")  # fmt: skip
@click.option("--endpoint", metavar="NAME", help="Only files of this endpoint or function.")
@click.option("--exchange", metavar="HEX", help="Only of this exchange (a beginning of its id will do).")
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most so many files.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per file.")
def files(
    out: Path,
    target: Path | None,
    journal: Path | None,
    endpoint: str | None,
    exchange: str | None,
    limit: int | None,
    as_json: bool,
) -> None:
    """List the files in the tables of OUT; with --write, get their bytes out of the journal.

    What a file is called and its type are a stranger's words: they go into DIR/files.jsonl and into no path.
    Nothing is overwritten. What was written is compared with the sum in the tables; exits with 1 if a file
    is not as it should be.
    """
    found = listed(out, endpoint=endpoint, exchange=exchange, limit=limit)
    most = _ROWS if limit is None else limit
    if target is None:
        _show(found.rows(), len(found.table), most, as_json=as_json)
        return
    count = Counter[str]()
    with _bar() as bar:
        task = bar.add_task("writing", total=found.bytes)

        def told() -> Iterator[dict[str, Any]]:
            made = extract(
                found, target, journal=journal, on_damage=_warn, progress=partial(bar.advance, task)
            )
            for row, file, error in made:
                if error is not None:
                    click.echo(f"Error: {error}", err=True)
                count["wrong" if error else "left" if file is None else "written"] += 1
                count["bytes"] += row["bytes"] if file is not None else 0
                yield {"file": file, **row}

        _show(told(), len(found.table), most, as_json=as_json)
    left = f"; {count['left']:,} are not complete or were not recorded" if count["left"] else ""
    click.echo(f"{count['written']:,} files, {sized(count['bytes'])}, in {target}{left}", err=True)
    if count["wrong"]:
        raise click.exceptions.Exit(1)


def _warn(damage: Damage) -> None:
    if not damage.torn:
        click.echo(f"Warning: {damage}", err=True)


def _bar() -> Progress:
    """How far it has come, on a terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(binary_units=True),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _show(rows: Iterable[dict[str, Any]], count: int, most: int, *, as_json: bool) -> None:
    """All of them for programs; for people a table, and no more of it than they would read."""
    table = Table()
    for number, row in enumerate(rows):
        if as_json:
            click.echo(json.dumps(row, default=_text))
            continue
        names = [name for name in ("file", *_SHOWN) if name in row]
        if not number:
            for name in names:
                table.add_column(
                    name, overflow="fold", justify="right" if name in ("key", "bytes") else "left"
                )
        if number < most:
            table.add_row(*[_cell(row[name]) for name in names])
    if as_json:
        return
    if table.columns:
        show(table)
    else:
        click.echo("no files")
    if count > most:
        click.echo(f"and {count - most:,} more: --limit {count} or --json shows them", err=True)


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _cell(value: Any) -> Text:
    if value is None:
        return Text("-")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    return Text(f"{value:,}" if isinstance(value, int) else printable(str(value)))
