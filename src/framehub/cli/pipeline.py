"""``framehub pipeline``: a journal to tables, and tables to a report."""

import json
import os
import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

if TYPE_CHECKING:
    from framehub.pipeline.run import Result


@click.group()
def pipeline() -> None:
    """Turn a journal into tables and a report (needs Spark)."""


@pipeline.command()
@click.argument("journal", type=click.Path(path_type=Path))
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--master", metavar="MASTER", help="Where Spark runs; by default on all cores of this machine.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def run(journal: Path, out: Path, master: str | None, as_json: bool) -> None:
    """Make the tables of JOURNAL; OUT/current has them when all are whole."""
    from framehub.journal.reader import nodes

    nodes(journal)  # a wrong path needs no Spark to be told
    from framehub.pipeline.run import run as make_tables

    steps = _Steps(Console(stderr=True, highlight=False))
    with steps:
        result = make_tables(journal, out, master=master, progress=steps.begin)
    for line in result.damage:
        click.echo(f"warning: the journal is damaged: {line}", err=True)
    if as_json:
        click.echo(json.dumps(_plain(result)))
        return
    _print(result)
    program = os.environ.get("FRAMEHUB_COMMAND", "framehub")
    click.echo(f"next: {program} pipeline report {shlex.quote(str(out))}", err=True)


@pipeline.command()
@click.argument("out", type=click.Path(path_type=Path))
def report(out: Path) -> None:
    """Make OUT/report.html, one page that needs nothing else, and OUT/report.json."""
    from framehub.report.page import write_report

    click.echo(str(write_report(out)))


def _plain(result: "Result") -> dict[str, object]:
    return {
        "journal": result.journal,
        "snapshot": str(result.snapshot),
        "nodes": result.nodes,
        "rows": result.rows,
        "damage": result.damage,
        "seconds": result.seconds,
    }


def _print(result: "Result") -> None:
    table = Table()
    table.add_column("table")
    table.add_column("rows", justify="right")
    table.add_column("where")
    current = result.snapshot.parent.parent / "current"
    for name, rows in result.rows.items():
        table.add_row(name, f"{rows:,}", str(current / name))
    Console(highlight=False).print(table)
    read = ", ".join(f"{node} up to row {seq:,}" for node, seq in result.nodes.items()) or "no rows"
    click.echo(f"from {result.journal}: {read}; {result.seconds:.1f} s")


class _Steps:
    """Steps on stderr: a spinner on a terminal, a line per step elsewhere."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._began = time.monotonic()
        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        self._live = Progress(*columns, console=console, transient=True) if console.is_terminal else None
        self._task = self._live.add_task("starting", total=None) if self._live else None

    def __enter__(self) -> None:
        if self._live:
            self._live.start()

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def begin(self, step: str) -> None:
        """Say what is being done now."""
        if self._live and self._task is not None:
            self._live.update(self._task, description=step)
        else:
            self._console.print(f"{time.monotonic() - self._began:6.1f} s  {step}")
