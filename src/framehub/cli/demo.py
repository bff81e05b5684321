"""``framehub demo``: a gateway, some traffic, the pipeline, and what came of it."""

import asyncio
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import click
import pyarrow.dataset as ds
from rich.console import Console
from rich.table import Table

from framehub.errors import FramehubError
from framehub.gateway.traffic import drive

MARKER = ".framehub-demo"
PORT = 7400


@click.command()
@click.option("--keep", is_flag=True, help="Leave the gateway up until Ctrl-C.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out/demo"),
              show_default=True, metavar="DIR", help="Where the journal, tables and report go.")  # fmt: skip
def demo(keep: bool, out: Path) -> None:
    """Start a gateway, send it traffic, turn its journal into tables and a report."""
    say = Console(stderr=True, highlight=False)
    _clear(out)
    journal, tables = out / "journal", out / "tables"
    say.print("[bold]1[/] gateway: ", end="")
    gateway, url = _start(journal)
    try:
        say.print(f"{url}, journal in {journal}")
        say.print("[bold]2[/] traffic: ", end="")
        seen, link = asyncio.run(drive(url))
        say.print(", ".join(f"{count} {what}" for what, count in sorted(seen.items())))
        if not keep:
            _stop(gateway)
        report = _pipeline(journal, tables, say)
        _print_results(journal, tables, report, link)
        if keep:
            _wait(gateway, url, report, say)
    finally:
        if gateway.poll() is None:
            _stop(gateway)


def _clear(out: Path) -> None:
    """Begin afresh, but only where an earlier demo was."""
    if out.exists() and any(out.iterdir()):
        if not (out / MARKER).exists():
            raise FramehubError(f"{out} is not empty and not an earlier demo's; choose another with --out")
        shutil.rmtree(out)
    out.mkdir(parents=True, exist_ok=True)
    (out / MARKER).touch()


def _start(journal: Path) -> tuple["subprocess.Popen[str]", str]:
    """A gateway in a process of its own, and where it listens."""
    command = [sys.executable, "-m", "framehub", "serve", "--app", "framehub.gateway.sample:endpoints"]
    command += ["--listen", f"127.0.0.1:{_free_port()}", "--journal", str(journal), "--node", "demo"]
    # Its log goes to a file: the sample has a handler that fails on purpose.
    with (journal.parent / "gateway.log").open("w") as log:
        gateway = subprocess.Popen(  # noqa: S603
            command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True
        )
    assert gateway.stdout is not None
    line = gateway.stdout.readline()
    if not line.startswith("ready"):
        gateway.wait()
        raise FramehubError(
            f"the gateway did not start: {(journal.parent / 'gateway.log').read_text().strip()}"
        )
    return gateway, next(word.removeprefix("mfp=") for word in line.split() if word.startswith("mfp="))


def _free_port() -> int:
    """The usual port where it is free, else any."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", PORT))
        except OSError:
            return 0
    return PORT


def _stop(gateway: "subprocess.Popen[str]") -> None:
    gateway.send_signal(signal.SIGTERM)
    if gateway.wait(timeout=30) != 0:
        raise FramehubError(f"the gateway ended with exit code {gateway.returncode}")


def _pipeline(journal: Path, tables: Path, say: Console) -> Path:
    """Run Spark over the journal; the report's path."""
    from framehub.pipeline.run import run
    from framehub.report.page import write_report

    with say.status("starting") as status:
        result = run(journal, tables, progress=lambda step: status.update(f"3 pipeline: {step}"))
    counts = ", ".join(f"{rows} {name}" for name, rows in result.rows.items())
    say.print(f"[bold]3[/] pipeline: {counts}, in {result.seconds:.0f} s")
    report = write_report(tables)
    say.print(f"[bold]4[/] report: {report}\n")
    return report


def _print_results(journal: Path, tables: Path, report: Path, link: str) -> None:
    """What happened, as a table, and what to try next."""
    rows = ds.dataset(tables / "current" / "exchanges", format="parquet", partitioning="hive").to_table()
    exchanges: list[dict[str, Any]] = rows.to_pylist()
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in exchanges:
        counts[row["endpoint"] or "-", row["kind"], row["outcome"]] += 1
    outcomes = sorted({outcome for _, _, outcome in counts})
    table = Table(title="exchanges, by endpoint and outcome", title_justify="left")
    table.add_column("endpoint")
    table.add_column("kind")
    for outcome in outcomes:
        table.add_column(outcome, justify="right")
    for endpoint, kind in sorted({(endpoint, kind) for endpoint, kind, _ in counts}):
        cells = [str(counts[endpoint, kind, outcome] or "") for outcome in outcomes]
        table.add_row(endpoint, kind, *cells)
    Console().print(table)
    timed_out = next(row["exchange"] for row in exchanges if row["outcome"] == "timeout")
    program = os.environ.get("FRAMEHUB_COMMAND", "framehub")
    where = f"--journal {shlex.quote(str(journal))} --tables {shlex.quote(str(tables))}"
    click.echo(f"\nthe report: {report.resolve()}")
    click.echo("\nwhat to try next:")
    for line in (
        f"{program} story {timed_out} {where}",
        f"{program} story {link}:2 {where}",
        f"{program} journal cat {shlex.quote(str(journal))} --limit 20",
        f"{program} journal check {shlex.quote(str(journal))}",
        f"{program} pipeline run {shlex.quote(str(journal))} {shlex.quote(str(tables))}",
    ):
        click.echo(f"  {line}")


def _wait(gateway: "subprocess.Popen[str]", url: str, report: Path, say: Console) -> None:
    program = os.environ.get("FRAMEHUB_COMMAND", "framehub")
    hello = shlex.quote('{"room": "lobby", "text": "hi"}')
    file = shlex.quote(str(report))
    click.echo(f"\nthe gateway stays up at {url}; Ctrl-C ends it. From another terminal:")
    for line in (
        f"{program} request chat {hello} --url {url}",
        f"{program} request files.store --file {file} --out received --url {url}",
        f"{program} stream files.upload --file {file} --wait upload.done --url {url}",
        f"{program} ping --count 5 --url {url}",
    ):
        click.echo(f"  {line}")
    try:
        gateway.wait()
    except KeyboardInterrupt:
        say.print("stopping")
