"""``framehub journal``: look inside journals, check them, seal them, make one up."""

import json
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from framehub.cli import rows as shown
from framehub.cli.tables import show
from framehub.errors import JournalError
from framehub.journal import generate as generating
from framehub.journal import reader, recovery, seal, segments
from framehub.journal import stats as counting
from framehub.journal.faults import catalogue
from framehub.journal.scan import Damage
from framehub.journal.traffic import SECOND, START_NS

_DIR = click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON, for other programs.")


def warn(damage: Damage) -> None:
    """Say what of a journal cannot be read; a torn tail is as a crash leaves it, and nothing to say."""
    if not damage.torn:
        click.echo(f"Warning: {damage}", err=True)


def _warn_missing(parts: Iterable[reader.Part]) -> None:
    for gap in reader.missing(parts):
        click.echo(f"Warning: {gap}", err=True)


def _print(rows: Iterable[dict[str, Any]], *, as_json: bool) -> None:
    for row in rows:
        click.echo(shown.as_json(row) if as_json else shown.as_line(row))


@click.group()
def journal() -> None:
    """Look inside a journal, check it, seal it, or make one up.

    DIR is a node's directory, or a directory of several: they are read as one.
    """


@journal.command()
@_DIR
@_JSON
def check(directory: Path, as_json: bool) -> None:
    """Read every row and say what is missing.

    Exits with 1 if anything is damaged or missing. A torn tail, as a crash leaves it, is only a warning: the
    next writer cuts it off, and nothing that was durable is in it.
    """
    report = reader.check(directory)
    if as_json:
        click.echo(json.dumps(report.to_json()))
    else:
        _show_report(report)
    for node in report.nodes:
        whose = f"{shown.printable(node.node)}: " if len(report.nodes) > 1 else ""
        for torn in node.torn:
            click.echo(f"Warning: {whose}{torn}", err=True)
        for gap in node.gaps:
            click.echo(f"Error: {gap}", err=True)
        for damage in node.damages:
            click.echo(f"Error: {whose}{damage}", err=True)
    if not report.clean:
        raise click.exceptions.Exit(1)


def _show_report(report: reader.CheckReport) -> None:
    table = Table("")
    for node in report.nodes:
        table.add_column(Text(shown.printable(node.node)), justify="right")
    for fact in ("segments", "sealed", "rows", "first_seq", "last_seq", "bytes"):
        values = [getattr(node, fact) for node in report.nodes]
        table.add_row(fact.replace("_", " "), *("-" if value is None else f"{value:,}" for value in values))
    for fact in ("gaps", "damages", "torn"):
        table.add_row(fact, *(str(len(getattr(node, fact))) for node in report.nodes))
    show(table)
    torn = " but for a torn tail" if report.torn else ""
    click.echo(f"clean{torn}" if report.clean else "NOT clean")


@journal.command()
@_DIR
@_JSON
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="At most so many rows.")
@click.option("--exchange", metavar="HEX", help="Only this conversation (a prefix of its id will do).")
@click.option("--node", metavar="NAME", help="Only rows of this node.")
@click.option("--seq", "numbers", metavar="N,N,...", help="Only rows with these numbers: evidence, say.")
def cat(
    directory: Path,
    as_json: bool,
    limit: int | None,
    exchange: str | None,
    node: str | None,
    numbers: str | None,
) -> None:
    """Print every row, oldest first.

    With --json, one object per row; binary columns in hex, and a message of remote functions once more as
    `message`, its parts by name.
    """
    names = [known.name for known in segments.nodes(directory)]
    if node is not None and node not in names:
        raise click.BadParameter(f"no node {node!r} here; there are: {', '.join(names)}", param_hint="--node")
    upto = None if node is None else {node: sys.maxsize}
    if numbers is None:
        parts = reader.snapshot(directory, upto=upto)
        _warn_missing(parts)
    else:
        parts = [
            part
            for seq in _numbers(numbers)
            for part in reader.snapshot(
                directory, after=seq - 1, upto={name: seq for name in names if node in (None, name)}
            )
        ]
    read = (batch for part in parts for batch in reader.read_part(part, on_damage=warn))
    found = (row for batch in read for row in batch.to_pylist())
    if exchange is not None:
        wanted = hex_prefix(exchange)
        found = (row for row in found if row["exchange"] and row["exchange"].hex().startswith(wanted))
    _print(islice(found, limit), as_json=as_json)


def _numbers(text: str) -> list[int]:
    try:
        found = sorted({int(number) for number in text.split(",")})
    except ValueError:
        found = []
    if not found or found[0] < 1:
        raise click.BadParameter(f"{text!r} is not a list of row numbers such as 12,15", param_hint="--seq")
    return found


def hex_prefix(text: str) -> str:
    """The beginning of an exchange's id, as ``--exchange`` gives it."""
    prefix = text.lower()
    if not prefix or prefix.strip("0123456789abcdef"):
        raise click.BadParameter(f"{text!r} is not hexadecimal", param_hint="--exchange")
    return prefix


@journal.command()
@_DIR
@click.option("-n", "count", type=click.IntRange(min=0), default=10, show_default=True, help="Rows to show.")
@click.option("--follow", "-f", is_flag=True, help="Go on with new rows as they are written, until Ctrl-C.")
@_JSON
def tail(directory: Path, count: int, follow: bool, as_json: bool) -> None:
    """Print the last rows."""
    seen = reader.positions(reader.snapshot(directory))
    after = {node: max(0, last - count) for node, last in seen.items()}
    parts = reader.snapshot(directory, after=after, upto=seen)
    _warn_missing(parts)
    recent = [
        row for part in parts for batch in reader.read_part(part, on_damage=warn) for row in batch.to_pylist()
    ]
    if len(seen) > 1:  # several nodes share nothing but the clock
        recent.sort(key=lambda row: int(row["time_ns"]))
    _print(recent[max(0, len(recent) - count) :], as_json=as_json)
    if not follow:
        return
    try:
        for batch in reader.follow(directory, after=seen, on_damage=warn):
            _print(batch.to_pylist(), as_json=as_json)
    except KeyboardInterrupt:
        return


@journal.command()
@_DIR
@_JSON
def stats(directory: Path, as_json: bool) -> None:
    """Count rows, bytes, links, and rows by kind, endpoint and error."""
    found = counting.stats(directory, on_damage=warn)
    for gap in found.gaps:
        click.echo(f"Warning: {gap}", err=True)
    if as_json:
        click.echo(json.dumps(found.to_json()))
        return
    table = Table(show_header=False)
    table.add_column(justify="left")
    table.add_column(justify="right")
    table.add_row("rows", f"{found.rows:,}")
    table.add_row("bytes of frames", f"{found.frame_bytes:,}")
    table.add_row("bytes on disk", f"{found.disk_bytes:,}")
    table.add_row("links", f"{found.links:,}")
    if found.first_ns is not None:
        began = datetime.fromtimestamp(found.first_ns // 1_000_000_000, UTC)
        table.add_row("first row", f"{began:%Y-%m-%d %H:%M:%S} UTC")
        table.add_row("seconds", f"{found.seconds:,.1f}")
    for name, counter in found.counts.items():
        if counter:
            table.add_section()
            for value, count in counter.most_common(20):
                table.add_row(Text(f"{name} {shown.printable(value)}"), f"{count:,}")
    show(table)


@journal.command()
@_DIR
def compact(directory: Path) -> None:
    """Seal segments that no gateway writes any more, into Parquet.

    Exits with 3 if a gateway is writing this journal. Segments with damage in them stay as they are.
    """
    refused = 0
    for node in segments.nodes(directory):
        with segments.locked(node.directory):
            found = recovery.recover(node)
            for torn in found.cut:
                click.echo(f"Cut off and set aside: {torn}", err=True)
            for damage in found.damages:
                click.echo(f"Error: not sealed: {damage}", err=True)
            if found.missing is not None:
                click.echo(f"Error: {found.missing}", err=True)
            refused += len(found.damages) + (found.missing is not None)
            for file in found.unsealed:
                click.echo(str(seal.seal(file, node=node.name, salt=node.salt)))
    if refused:
        raise click.exceptions.Exit(1)


def _rules(_context: click.Context, _parameter: click.Parameter, text: str) -> tuple[str, ...]:
    try:
        return catalogue.chosen(text)
    except JournalError as exc:
        raise click.BadParameter(str(exc)) from exc


@journal.command()
@_DIR
@click.option("--frames", type=click.IntRange(min=1), default=100_000, show_default=True, help="How many.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed gives the same journal.")
@click.option(
    "--faults",
    metavar="RULES",
    default="",
    callback=_rules,
    help="Break these rules of the audit on purpose: all, or their names between commas.",
)
@click.option("--each", type=click.IntRange(min=1), default=1, show_default=True, help="How often each.")
@click.option("--start", type=click.DateTime(["%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"]),
              metavar="TIME", help="When it begins, in UTC; 2026-01-05T08:00 by default.")  # fmt: skip
def generate(
    directory: Path, frames: int, seed: int, faults: tuple[str, ...], each: int, start: datetime | None
) -> None:
    """Make up a journal of realistic traffic.

    With --faults, what an audit must find in it is in truth.json beside it.
    """
    if each > 1 and not faults:
        raise click.UsageError("--each says how often to break each rule: name them with --faults")
    start_ns = START_NS if start is None else round(start.replace(tzinfo=UTC).timestamp()) * SECOND
    began = time.monotonic()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("frames", total=frames)
        generating.generate(
            directory,
            frames=frames,
            seed=seed,
            faults=faults,
            each=each,
            start_ns=start_ns,
            progress=lambda done: bar.update(task, completed=done),
        )
    took = time.monotonic() - began
    click.echo(f"{frames:,} frames in {took:.1f} s ({frames / took:,.0f} per second)", err=True)
    if faults:
        click.echo(f"{len(faults) * each} faults, listed in {catalogue.TRUTH_FILE}", err=True)
    click.echo(str(directory))
