"""``framehub pipeline``: a journal to tables, and tables to answers."""

import json
import os
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.table import Table

from framehub.cli.audit import audit
from framehub.cli.explore import explore
from framehub.cli.pipeline_files import files
from framehub.cli.reach import Seconds
from framehub.cli.spark_options import CONF, MASTER
from framehub.cli.steps import Steps
from framehub.cli.tables import show

if TYPE_CHECKING:
    from framehub.pipeline.run import Result

_JOURNAL = click.argument("journal", type=click.Path(path_type=Path))
_OUT = click.argument("out", type=click.Path(path_type=Path))
_STEP_ROWS = click.option(
    "--step-rows",
    type=click.IntRange(min=1),
    default=2_000_000,
    show_default=True,
    metavar="N",
    help="Rows of the journal taken in at a time, at most: fewer need less memory and disk.",
)
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object, or one per line.")


@click.group()
def pipeline() -> None:
    """Turn a journal into tables, an audit and a report (needs Spark)."""


@pipeline.command()
@_JOURNAL
@_OUT
@MASTER
@CONF
@_STEP_ROWS
@click.option("--fresh", is_flag=True, help="Make all tables anew, from the journal's first row.")
@_JSON
def run(
    journal: Path,
    out: Path,
    master: str | None,
    conf: dict[str, str],
    step_rows: int,
    fresh: bool,
    as_json: bool,
) -> None:
    """Take in what JOURNAL has now; OUT/current has the tables, whole at any time.

    They are replaced after every --step-rows. What was taken in earlier is not read again: a run that was
    ended goes on where the last whole tables came to. With --fresh the old ones stay until the end.
    """
    from framehub.journal.reader import nodes

    nodes(journal)  # a wrong path needs no Spark to be told
    from framehub.pipeline.run import run as make_tables

    with Steps(Console(stderr=True, highlight=False)) as steps:
        result = make_tables(
            journal,
            out,
            master=master,
            conf=conf,
            fresh=fresh,
            step_rows=step_rows,
            progress=steps.tell,
        )
    _warn(result.damage)
    if as_json:
        click.echo(json.dumps(_plain(result)))
        return
    _print(result)
    program = os.environ.get("FRAMEHUB_COMMAND", "framehub")
    click.echo(f"next: {program} pipeline report {shlex.quote(str(out))}", err=True)


@pipeline.command()
@_JOURNAL
@_OUT
@MASTER
@CONF
@_STEP_ROWS
@click.option("--every", type=Seconds(min=0), default=1.0, show_default=True, metavar="SECONDS",
              help="Time between two sets of tables, at least.")  # fmt: skip
@click.option("--idle", type=Seconds(min=0), metavar="SECONDS",
              help="End when nothing has come for so long.")  # fmt: skip
@_JSON
def follow(
    journal: Path,
    out: Path,
    master: str | None,
    conf: dict[str, str],
    step_rows: int,
    every: float,
    idle: float | None,
    as_json: bool,
) -> None:
    """Take in what JOURNAL has, then what comes, until Ctrl-C.

    The tables are those that `run` makes, at every moment.
    """
    from framehub.journal.reader import nodes

    nodes(journal)
    from framehub.pipeline.run import follow as keep_up

    told: set[str] = set()

    def committed(result: "Result") -> None:
        _warn([line for line in result.damage if line not in told])
        told.update(result.damage)
        click.echo(json.dumps(_plain(result)) if as_json else _commit_line(result))

    console = Console(stderr=True, highlight=False)
    try:
        keep_up(
            journal,
            out,
            master=master,
            conf=conf,
            every=every,
            idle=idle,
            step_rows=step_rows,
            committed=committed,
            progress=lambda what, _done, total: None if total else console.print(what),
        )
    except KeyboardInterrupt:
        console.print("stopped; the tables are those of the last line")


@pipeline.command()
@_OUT
def report(out: Path) -> None:
    """Make OUT/report.html, one page that needs nothing else, and OUT/report.json."""
    from framehub.report.page import write_report

    click.echo(str(write_report(out)))


pipeline.add_command(audit)
pipeline.add_command(explore)
pipeline.add_command(files)


def _warn(damage: list[str]) -> None:
    for line in damage:
        click.echo(f"warning: the journal is damaged: {line}", err=True)


def _plain(result: "Result") -> dict[str, object]:
    return {
        "journal": result.journal,
        "snapshot": str(result.snapshot),
        "nodes": result.nodes,
        "rows": result.rows,
        "new": result.new,
        "damage": result.damage,
        "seconds": result.seconds,
    }


def _print(result: "Result") -> None:
    table = Table()
    table.add_column("table")
    table.add_column("rows", justify="right")
    for name, rows in result.rows.items():
        table.add_row(name, f"{rows:,}")
    show(table)
    click.echo(f"in {result.snapshot.parent.parent / 'current'}")
    read = ", ".join(f"{node} up to row {seq:,}" for node, seq in result.nodes.items()) or "no rows"
    new = f"{result.new:,} new" if result.new else "nothing new"
    click.echo(f"from {result.journal}: {read}; {new}, {result.seconds:.1f} s")


def _commit_line(result: "Result") -> str:
    now = datetime.fromtimestamp(time.time(), UTC)
    counts = ", ".join(f"{rows:,} {name}" for name, rows in result.rows.items())
    return f"{now:%H:%M:%S} UTC  {result.new:,} new rows in {result.seconds:.1f} s: {counts}"
