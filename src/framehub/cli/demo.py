"""``framehub demo``: a gateway, a worker, a service, some traffic, the pipeline, and what came of it.

The gateway keeps its rules, so an audit of it has nothing to show. A second node's journal is made up
beside it, with known faults: the audit must find these, and nothing else.
"""

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import click
import pyarrow.dataset as ds
from rich.console import Console
from rich.table import Table

from framehub.cli.demo_next import Links, Places, print_live, print_recorded
from framehub.cli.tables import show
from framehub.errors import FramehubError
from framehub.gateway.function_traffic import drive_functions
from framehub.gateway.service_traffic import drive_services
from framehub.gateway.settings import (
    DEFAULT_ADMIN,
    DEFAULT_CLIENTS,
    DEFAULT_LISTEN,
    DEFAULT_SERVICES,
    DEFAULT_WORKERS,
)
from framehub.gateway.traffic import drive
from framehub.private import FILE_MODE, make_directory, new_file
from framehub.runtime.signals import ending

MARKER = ".framehub-demo"
MADE_UP_FRAMES = 12_000
MADE_UP_NS = 7_300_000_000_000
"""About as long as they take: most of it is a pause."""
PORTS = {
    "listen": DEFAULT_LISTEN,
    "services": DEFAULT_SERVICES,
    "clients": DEFAULT_CLIENTS,
    "workers": DEFAULT_WORKERS,
    "admin": DEFAULT_ADMIN,
}
FUNCTIONS = "framehub.gateway.sample_functions:worker"
SERVICE = "framehub.gateway.sample_service:service"

Processes: TypeAlias = "list[subprocess.Popen[str]]"
"""Those that were started, in turn."""


@click.command()
@click.option("--keep", is_flag=True, help="Leave gateway, worker and service up until Ctrl-C.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out/demo"),
              show_default=True, metavar="DIR", help="Where the journal, tables and report go.")  # fmt: skip
def demo(keep: bool, out: Path) -> None:
    """Start a gateway, a worker and a service, send traffic, turn the journal into tables and a report."""
    for number in set(ending()) - {signal.SIGINT}:
        signal.signal(number, _end)
    say = Console(stderr=True, highlight=False, soft_wrap=True)
    _clear(out)
    journal, tables = out / "journal", out / "tables"
    started: Processes = []
    try:
        say.print("[bold]1[/] a gateway: ", end="")
        places = _gateway(journal / "demo", out, started)
        gateway = started[0]
        say.print(f"{places.mfp} for pages and programs, every frame into {journal}")
        say.print("[bold]2[/] a worker: ", end="")
        say.print(_worker(out, places.workers, started), end="")
        say.print(f"; a service: {_service(out, places.services, started)}")
        say.print("[bold]3[/] a chat with pictures, uploads, mistakes: ", end="")
        seen, link = asyncio.run(drive(places.mfp))
        say.print(_counted(seen))
        say.print("[bold]4[/] calls of functions: ", end="")
        seen, calls = asyncio.run(drive_functions(places.mfp, places.clients))
        say.print(_counted(seen))
        say.print("[bold]5[/] streams of the hub: ", end="")
        seen, streams = asyncio.run(drive_services(places.mfp, places.hub))
        say.print(_counted(seen))
        if not keep:
            _stop(started)
        say.print("[bold]6[/] a second gateway's journal, made up: ", end="")
        injected = _make_up(journal / "made-up")
        say.print(f"{MADE_UP_FRAMES:,} frames, {len(injected)} known faults among them")
        report = _pipeline(journal, tables, say)
        exchanges = _print_results(tables)
        _print_audit(tables, injected)
        timed_out = next(row["exchange"] for row in exchanges if row["outcome"] == "timeout")
        click.echo(f"\nthe report: {report.resolve().as_uri()}")
        print_recorded(journal, tables, Links(timed_out, calls, streams, link))
        print_live(places, report, keep=keep)
        if keep:
            _wait(gateway, say)
    finally:
        for number in ending():
            signal.signal(number, signal.SIG_IGN)  # it takes a moment, and a closed terminal is told of twice
        _stop(started)


def _end(number: int, _frame: object) -> NoReturn:
    """Asked to end, or its terminal was closed: what was started ends, too."""
    raise SystemExit(128 + number)


def _counted(seen: Counter[str]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(seen.items()))


def _clear(out: Path) -> None:
    """Begin afresh, but only where an earlier demo was."""
    if out.exists() and any(out.iterdir()):
        if not (out / MARKER).exists():
            raise FramehubError(f"{out} is not empty and not an earlier demo's; choose another with --out")
        shutil.rmtree(out)
    make_directory(out)
    (out / MARKER).touch(FILE_MODE)


def _gateway(journal: Path, out: Path, started: Processes) -> Places:
    """Start a gateway in a process of its own; where it listens."""
    command = [
        "serve",
        "--app",
        "framehub.gateway.sample:endpoints",
        "--journal",
        str(journal),
        "--node",
        "demo",
    ]
    for option, usual in PORTS.items():
        command += [f"--{option}", _free(usual)]
    line = _start("gateway", command, out, started)
    told = dict(word.split("=", 1) for word in line.split()[1:])
    return Places(**{name: told[name] for name in Places._fields})


def _worker(out: Path, address: str, started: Processes) -> str:
    """Start a worker with the sample functions; their names."""
    command = ["worker", FUNCTIONS, "--processes", "2", "--connect", address]
    line = _start("worker", command, out, started)
    return dict(word.split("=", 1) for word in line.split()[1:])["functions"].replace(",", ", ")


def _service(out: Path, address: str, started: Processes) -> str:
    """Start the sample service; what it offers."""
    line = _start("service", ["service", SERVICE, "--connect", address], out, started)
    told = dict(word.split("=", 1) for word in line.split()[1:])
    return ", ".join(f"{told['name']}.{name}" for name in told["functions"].split(","))


def _start(name: str, command: list[str], out: Path, started: Processes) -> str:
    """Start a process of ours; the line with which it said that it is ready."""
    # Its log goes to a file: the sample has handlers that fail on purpose.
    path = out / f"{name}.log"
    with new_file(path) as log:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "framehub", *command],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
            # What is set for another gateway is not for this one.
            env={name: value for name, value in os.environ.items() if not name.startswith("FRAMEHUB_")},
        )
    started.append(process)
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line.startswith("ready"):
        started.remove(process)
        process.wait()
        raise FramehubError(f"the {name} did not start: {path.read_text().strip()}")
    return line


def _free(usual: str) -> str:
    """The usual address where it is free, else any port."""
    host, _, port = usual.partition(":")
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, int(port)))
        except OSError:
            return f"{host}:0"
    return usual


def _stop(started: Processes) -> None:
    """End what is up, the gateway last."""
    codes = set()
    while started:
        process = started.pop()
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            codes.add(process.wait(timeout=30))
        except subprocess.TimeoutExpired:
            process.kill()
            codes.add(process.wait())
    if wrong := codes - {0}:
        raise FramehubError(f"a process of the demo ended with exit code {wrong.pop()}")


def _pipeline(journal: Path, tables: Path, say: Console) -> Path:
    """Run Spark over the journal; the report's path."""
    from framehub.pipeline.run import run
    from framehub.report.page import write_report

    say.print("[bold]7[/] Spark makes tables of both, which takes a minute or so: ", end="")
    if say.is_terminal:
        say.print()  # what Spark does comes and goes below it
    with say.status("starting") as status:
        result = run(journal, tables, progress=lambda step, *_: status.update(f"Spark: {step}"))
    counts = ", ".join(f"{rows:,} {name}" for name, rows in result.rows.items())
    say.print(f"{counts}, in {result.seconds:.0f} s")
    report = write_report(tables)
    say.print(f"[bold]8[/] a report: {report}\n")
    return report


Breach = tuple[str, str, tuple[int, ...]]
"""Node, rule and evidence."""


def _make_up(journal: Path) -> set[Breach]:
    """A journal with every fault; what an audit must find in it."""
    from framehub.journal.generate import generate

    start_ns = time.time_ns() - MADE_UP_NS
    generate(journal, frames=MADE_UP_FRAMES, seed=1, node=journal.name, faults="all", start_ns=start_ns)
    told = json.loads((journal / "truth.json").read_bytes())["faults"]
    every = [breach for fault in told for breach in (fault, *fault["companions"])]
    return {(journal.name, breach["rule"], tuple(breach["evidence"])) for breach in every}


def _print_audit(tables: Path, injected: set[Breach]) -> None:
    """How many of the known faults the audit found, and what it found beside."""
    source = ds.dataset(tables / "current" / "violations", format="parquet", partitioning="hive")
    rows = source.to_table(columns=["node", "rule", "evidence"]).to_pylist()
    found = {(row["node"], row["rule"], tuple(row["evidence"])) for row in rows}
    false = found - injected
    click.echo(
        f"\nthe audit: {len(injected)} faults injected, {len(injected & found)} found, {len(false)} false; "
        f"{sum(node == 'demo' for node, *_ in found)} in the gateway's own journal"
    )
    for node, rule, evidence in sorted(injected - found):
        click.echo(f"  not found: {rule} at {node} {evidence}")
    for node, rule, evidence in sorted(false):
        click.echo(f"  false: {rule} at {node} {evidence}")


def _print_results(tables: Path) -> list[dict[str, Any]]:
    """What happened to the gateway's exchanges, as a table; they themselves."""
    rows = ds.dataset(tables / "current" / "exchanges", format="parquet", partitioning="hive").to_table()
    exchanges: list[dict[str, Any]] = [row for row in rows.to_pylist() if row["node"] == "demo"]
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in exchanges:
        counts[row["endpoint"] or "-", row["kind"], row["outcome"]] += 1
    outcomes = sorted({outcome for _, _, outcome in counts})
    table = Table(title="exchanges, by endpoint, function or service and outcome", title_justify="left")
    table.add_column("endpoint")
    table.add_column("kind")
    for outcome in outcomes:
        table.add_column(outcome, justify="right")
    for endpoint, kind in sorted({(endpoint, kind) for endpoint, kind, _ in counts}):
        cells = [str(counts[endpoint, kind, outcome] or "") for outcome in outcomes]
        table.add_row(endpoint, kind, *cells)
    show(table)
    return exchanges


def _wait(gateway: "subprocess.Popen[str]", say: Console) -> None:
    try:
        gateway.wait()
    except KeyboardInterrupt:
        say.print("stopping")
