"""``framehub replay``: send recorded traffic again, and compare the answers."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final

import click
from click.core import ParameterSource
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from framehub.cli.journal import hex_prefix, warn
from framehub.cli.proxy import REACHED_IN, functions, key_options, timeout_option
from framehub.cli.reach import BadInput, Seconds, as_text, connection, peer_options, run
from framehub.cli.rows import printable
from framehub.cli.tables import show
from framehub.journal import reader
from framehub.journal.acts import COLUMNS, Acts, Lately, MfpActs, Row, RpcActs
from framehub.journal.answers import Answer
from framehub.journal.answers import Path as Place
from framehub.journal.compared import Count, Tally
from framehub.runtime.dial import dialer
from framehub.runtime.functions import Functions
from framehub.runtime.replay import Replay
from framehub.runtime.replay_doors import Door, MfpDoor, RpcDoor

_ROWS: Final = 256
"""Rows that are taken from the journal at once."""


@click.command()
@click.argument("journal", type=click.Path(path_type=Path))
@click.option("--to", required=True, metavar="URL", help="Where it goes, like ws://127.0.0.1:7400/mfp.")
@click.option(
    "--functions",
    "is_rpc",
    is_flag=True,
    help="Only calls of functions, whoever made them, to the proxy at --to, like tcp://127.0.0.1:7402.",
)
@click.option(
    "--endpoint",
    "names",
    multiple=True,
    metavar="NAME",
    help="Only what went to this endpoint or function; again for another one.",
)
@click.option("--exchange", metavar="HEX", help="Only this conversation (a prefix of its id will do).")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many conversations.")
@click.option(
    "--speed",
    type=Seconds(min=0),
    default=0.0,
    show_default=True,
    metavar="X",
    help="1: as it was recorded; 2: twice as fast; 0: as soon as answers come.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="PATH",
    help="Leave this out when answers are compared: data.time, data.*.id, error.message, files; repeatable.",
)
@timeout_option(30.0, "How long to wait for an answer.")
@click.option(
    "--show",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="Differences to show.",
)
@click.option("--json", "as_json", is_flag=True, help="One object, for other programs.")
@peer_options
@key_options
def replay(
    journal: Path,
    to: str,
    is_rpc: bool,
    names: tuple[str, ...],
    exchange: str | None,
    limit: int | None,
    speed: float,
    ignore: tuple[str, ...],
    timeout: float,
    show: int,
    as_json: bool,
    checksum: str | None,
    token: str | None,
    token_file: BinaryIO | None,
    curve_key: Path | None,
    server_key: Path | None,
) -> None:
    """Send the recorded traffic of JOURNAL again, and compare the answers with the recorded ones.

    Whatever it does there is done once more: mind where you point it. Requests, messages, their files and
    streams go to a gateway, by a connection for each recorded one, all as the user whose token is given.
    What was not recorded in full cannot be sent, and is counted. Ctrl-C ends it with what was found so far.
    Exits with 1 if an answer is not what it was, or not all was sent.
    """
    ignored = [_place(path) for path in ignore]
    wants = Wanted(names, exchange, limit)
    tally = Tally(keep=show)
    if is_rpc:
        _refuse(
            "token", "token_file", "checksum", why="a proxy takes none: it has --curve-key and --server-key"
        )
        client = functions(to, curve_key, server_key, timeout)
        acts: Callable[[], Acts] = partial(RpcActs, wants, ignored, Lately())
        door: Callable[[], Door] = partial(RpcDoor, client, timeout, ignored)
    else:
        _refuse("curve_key", "server_key", why="it goes with --functions")
        client = None
        where = connection(to, checksum, token, token_file)
        dialer(**where)  # what cannot be asked for is said at once
        acts = partial(MfpActs, wants, ignored)
        door = partial(MfpDoor, where, timeout, ignored)
    rows = _rows(journal, "rpc" if is_rpc else "mfp")
    found = Found(tally)
    try:
        run(_replay(rows, Replay(door, acts, tally, speed=speed), found, wants, client))
    finally:
        if tally.total.sent or tally.skipped:
            _report(found, as_json=as_json)
    if not tally.total.sent:
        raise click.ClickException(f"{journal}: nothing there that could be sent")
    if tally.total.different or not found.is_whole:
        raise click.exceptions.Exit(1)


@dataclass
class Found:
    """What was found, and whether that is all."""

    tally: Tally
    is_whole: bool = False


def _refuse(*names: str, why: str) -> None:
    """Options that would do nothing are not given by intent."""
    context = click.get_current_context()
    for name in names:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise BadInput(f"--{name.replace('_', '-')}: {why}")


class Wanted:
    """Which conversations are chosen; after ``limit`` of them, no more."""

    def __init__(self, names: tuple[str, ...], exchange: str | None, limit: int | None) -> None:
        self._names = frozenset(names)
        self._prefix = "" if exchange is None else hex_prefix(exchange)
        self._left = limit

    def __call__(self, name: str, exchange: bytes) -> bool:
        """Whether this one is wanted."""
        return (not self._names or name in self._names) and exchange.hex().startswith(self._prefix)

    def begin(self) -> bool:
        """Whether there may be one more."""
        if self._left is not None:
            self._left -= 1
        return self._left is None or self._left >= 0

    @property
    def is_enough(self) -> bool:
        """Whether there is no need to look for more."""
        return self._left is not None and self._left <= 0


def _place(text: str) -> Place:
    parts = tuple(text.split("."))
    if parts[0] not in ("data", "error", "files") or not all(parts):
        raise click.BadParameter(
            f"{text!r} is no place in an answer: those begin with data, error or files", param_hint="--ignore"
        )
    return parts


def _rows(journal: Path, protocol: str) -> Iterator[list[Row]]:
    for batch in reader.read(journal, columns=COLUMNS, on_damage=warn):
        for at in range(0, batch.num_rows, _ROWS):
            yield [row for row in batch.slice(at, _ROWS).to_pylist() if row["protocol"] == protocol]


async def _replay(
    rows: Iterator[list[Row]], replaying: Replay, found: Found, wants: Wanted, client: Functions | None
) -> None:
    loop, this = asyncio.get_running_loop(), asyncio.current_task()
    assert this is not None
    loop.add_signal_handler(signal.SIGINT, this.cancel)
    console = Console(stderr=True)
    async with AsyncExitStack() as stack:
        status = stack.enter_context(console.status("reading the journal")) if console.is_terminal else None
        try:
            if client is not None:
                await stack.enter_async_context(client)
                await client.reach(REACHED_IN)
            while (some := await asyncio.to_thread(next, rows, None)) is not None:
                for row in some:
                    await replaying.take(row)
                if wants.is_enough and not replaying.is_waiting:
                    break
                _tell(status, found.tally.total)
            await replaying.finish()
            found.is_whole = True
        except asyncio.CancelledError:
            click.echo("interrupted: what follows is what was found so far", err=True)
        finally:
            loop.remove_signal_handler(signal.SIGINT)
            await replaying.stop()


def _tell(status: Status | None, total: Count) -> None:
    if status is not None:
        status.update(f"{total.sent:,} sent, {total.same:,} the same, {total.different:,} different")


def _report(found: Found, *, as_json: bool) -> None:
    tally = found.tally
    if as_json:
        click.echo(as_text(_as_object(found)))
        return
    table = Table("endpoint or function")
    for column in ("sent", "the same", "different", "not compared"):
        table.add_column(column, justify="right")
    for name, count in sorted(tally.counts.items()):
        table.add_row(Text(printable(name)), *_figures(count))
    table.add_section()
    table.add_row("all", *_figures(tally.total))
    show(table)
    for one in tally.differences:
        click.echo(f"\n{one.exchange} {printable(one.name)}")
        click.echo(f"  was {_shown(one.was)}\n  is  {_shown(one.now)}")
    if (more := tally.total.different - len(tally.differences)) > 0:
        click.echo(f"\n{more:,} more are different; --show says how many are shown")
    for why, count_ in tally.skipped.most_common():
        click.echo(f"not sent: {count_:,} ({printable(why)})", err=True)


def _figures(count: Count) -> list[str]:
    figures = (count.sent, count.same, count.different, count.uncompared)
    return [f"{figure:,}" for figure in figures]


def _shown(answer: Answer) -> str:
    return f"{answer.kind} {printable(answer.text)}".rstrip()


def _as_object(found: Found) -> dict[str, Any]:
    tally = found.tally
    return {
        **asdict(tally.total),
        "whole": found.is_whole,
        "endpoints": {name: asdict(count) for name, count in sorted(tally.counts.items())},
        "skipped": dict(tally.skipped),
        "differences": [
            {
                "exchange": one.exchange,
                "endpoint": one.name,
                "was": {"kind": one.was.kind, "text": one.was.text},
                "now": {"kind": one.now.kind, "text": one.now.text},
            }
            for one in tally.differences
        ],
    }
