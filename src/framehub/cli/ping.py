"""``framehub ping``: how long a round trip takes."""

import asyncio
import signal
from collections import deque
from collections.abc import Mapping
from statistics import median
from typing import Any, BinaryIO

import click

from framehub.cli.reach import Seconds, as_text, connection, connection_options, run
from framehub.cli.rows import printable
from framehub.errors import ConnectionClosed, RequestTimeout
from framehub.runtime.connect import connect
from framehub.runtime.peer import Peer

KEPT = 100_000
"""Round trips that the summary looks back on."""


@click.command()
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="How many; without end by default.")
@click.option(
    "--interval",
    type=Seconds(min=0),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="From one to the next.",
)
@click.option(
    "--timeout",
    type=Seconds(min=0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="SECONDS",
    help="When one counts as lost.",
)
@click.option("--json", "as_json", is_flag=True, help="Only the summary, as one object.")
@connection_options
def ping(
    count: int | None,
    interval: float,
    timeout: float,
    as_json: bool,
    url: str,
    checksum: str | None,
    token: str | None,
    token_file: BinaryIO | None,
) -> None:
    """Measure round trips to a gateway; Ctrl-C ends it with a summary.

    Exits with 1 if none came back.
    """
    tally = Tally(url, quiet=as_json)
    where = connection(url, checksum, token, token_file)
    try:
        run(_ping(where, tally, count=count, interval=interval, timeout=timeout))
    finally:
        if tally.sent:
            click.echo(as_text(tally.summary()) if as_json else str(tally))
    if not tally.trips:
        raise click.exceptions.Exit(1)


async def _ping(
    where: Mapping[str, Any], tally: "Tally", *, count: int | None, interval: float, timeout: float
) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)
    async with connect(**where) as peer:
        going = asyncio.create_task(_rounds(peer, tally, count=count, interval=interval, timeout=timeout))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait([going, stopping], return_when=asyncio.FIRST_COMPLETED)
            if going.done():
                going.result()
        finally:
            going.cancel()
            stopping.cancel()


async def _rounds(peer: Peer, tally: "Tally", *, count: int | None, interval: float, timeout: float) -> None:
    while True:
        tally.sent += 1
        try:
            tally.came(await peer.ping(timeout=timeout))
        except RequestTimeout as exc:
            tally.lost(str(exc))
        if tally.sent == count:
            return
        if interval:
            await asyncio.wait([peer.closed], timeout=interval)
        if peer.closed.done():
            raise ConnectionClosed(peer.closed.result().code, peer.closed.result().reason)


class Tally:
    """What came back, and how fast."""

    def __init__(self, url: str, *, quiet: bool) -> None:
        self.sent = 0
        self.answered = 0
        self.trips: deque[float] = deque(maxlen=KEPT)
        self._url = url
        self._quiet = quiet

    def came(self, seconds: float) -> None:
        """One came back."""
        self.answered += 1
        self.trips.append(seconds * 1000)
        self._say(f"{self._url}: {self.sent} in {seconds * 1000:.3f} ms")

    def lost(self, why: str) -> None:
        """One did not."""
        self._say(f"{self._url}: {self.sent} {why}")

    def summary(self) -> dict[str, Any]:
        """For programs; times in milliseconds."""
        times = {}
        if self.trips:
            times = {"min_ms": min(self.trips), "median_ms": median(self.trips), "max_ms": max(self.trips)}
        return {"url": self._url, "sent": self.sent, "answered": self.answered} | times

    def __str__(self) -> str:
        text = f"{self.sent} sent, {self.answered} answered"
        if self.trips:
            times = (min(self.trips), median(self.trips), max(self.trips))
            text += "; min/median/max " + "/".join(f"{time:.3f}" for time in times) + " ms"
        return printable(text)

    def _say(self, line: str) -> None:
        if not self._quiet:
            click.echo(printable(line))
