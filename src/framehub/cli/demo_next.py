"""What to try after ``framehub demo``: commands to paste, each with what it shows."""

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import click

from framehub.gateway.settings import DEFAULT_CLIENTS, DEFAULT_LISTEN

ASKED: Final = "SELECT endpoint, outcome, count(*) FROM exchanges GROUP BY ALL ORDER BY 3 DESC"


class Places(NamedTuple):
    """Where the gateway listens: MFP, callers, workers, the hub's clients and services, its page."""

    mfp: str
    clients: str
    workers: str
    hub: str
    services: str
    admin: str


class Links(NamedTuple):
    """What stories can be told of: an exchange that timed out, and connections of the traffic."""

    timed_out: str
    functions: str
    services: str
    endpoints: str


def print_recorded(journal: Path, tables: Path, links: Links) -> None:
    """What to try with the journal and the tables."""
    where = f"--journal {_quoted(journal)} --tables {_quoted(tables)}"
    click.echo("\nwhat to try next:")
    _print(
        (
            ("a request that timed out, from its frames to its row", f"story {links.timed_out} {where}"),
            ("a request that became a call, and the worker's answer", f"story {links.functions}:2 {where}"),
            ("a request that became a stream of the hub", f"story {links.services}:2 {where}"),
            ("a request that a handler in the gateway answered", f"story {links.endpoints}:2 {where}"),
            ("the first frames, decoded", f"journal cat {_quoted(journal)} --limit 20"),
            ("is every byte of the journal sound?", f"journal check {_quoted(journal / 'demo')}"),
            ("which rules were broken, and by which frames?", f"pipeline audit {_quoted(journal)}"),
            ("SQL over the tables", f"pipeline explore {_quoted(tables)} {shlex.quote(ASKED)}"),
            ("the files that were sent", f"pipeline files {_quoted(tables)}"),
            ("only what is new is worked on", f"pipeline run {_quoted(journal)} {_quoted(tables)}"),
        )
    )


def print_live(places: Places, report: Path, *, keep: bool) -> None:
    """What to try while the gateway is up."""
    item = shlex.quote('{"item": "pear", "days": 5}')
    hello = shlex.quote('{"room": "lobby", "text": "hi"}')
    file = _quoted(report)
    proxy = "" if places.clients == f"tcp://{DEFAULT_CLIENTS}" else f" --connect {places.clients}"
    url = "" if places.mfp == f"ws://{DEFAULT_LISTEN}/mfp" else f" --url {places.mfp}"
    if keep:
        click.echo(f"\nthe gateway stays up, Ctrl-C ends it. Its page, live: {places.admin}/")
        click.echo("\nfrom another terminal:")
    else:
        proxy = url = ""
        click.echo(f"\nand with `{_program()} demo --keep`, which leaves the page up, from another terminal:")
    _print(
        (
            ("which functions are there?", f"ls{proxy}"),
            ("what does one take and give?", f"describe math.divide{proxy}"),
            ("call one", f"call math.factor 360{proxy}"),
            ("with a file there and one back", f"call files.sum --file {file} --out received{proxy}"),
            ("the same function as a web page calls it", f"request math.factor 360{url}"),
            ("a service of the hub, asked once", f"request quotes.history {item}{url}"),
            ("a handler in the gateway", f"request chat {hello}{url}"),
            ("files to a handler", f"request files.store --file {file} --out received{url}"),
            ("a file of any size, streamed", f"stream files.upload --file {file} --wait upload.done{url}"),
            ("how far away is it?", f"ping --count 5{url}"),
        )
    )


def _print(commands: Iterable[tuple[str, str]]) -> None:
    """Lines that a shell takes as they are."""
    for what, command in commands:
        click.echo(f"  # {what}\n  {_program()} {command}")


def _program() -> str:
    return os.environ.get("FRAMEHUB_COMMAND", "framehub")


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
