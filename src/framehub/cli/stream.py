"""``framehub stream``: send files or stdin as a stream."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, BinaryIO

import click

from framehub.cli.progress import Progress, progress_of
from framehub.cli.reach import (
    STDIN,
    BadInput,
    Input,
    Seconds,
    as_text,
    connection,
    connection_options,
    open_input,
    parse,
    run,
)
from framehub.errors import RequestTimeout, StreamAborted
from framehub.runtime.calls import Call
from framehub.runtime.connect import connect
from framehub.runtime.endpoints import Endpoints
from framehub.runtime.peer import Peer


@click.command()
@click.argument("endpoint")
@click.argument("data", metavar="[JSON|@FILE|-]", required=False)
@click.option(
    "--file",
    "files",
    multiple=True,
    metavar="PATH|-",
    help="What to send, one after the other; stdin by default.",
)
@click.option("--wait", metavar="ENDPOINT", help="Wait for a message back to ENDPOINT and print its data.")
@click.option(
    "--timeout",
    type=Seconds(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="How long the other side may take, once all is sent.",
)
@connection_options
def stream(
    endpoint: str,
    data: str | None,
    files: tuple[str, ...],
    wait: str | None,
    timeout: float,
    url: str,
    checksum: str | None,
    token: str | None,
    token_file: BinaryIO | None,
) -> None:
    """Send files, or stdin, to ENDPOINT as one stream of any size.

    JSON is what the message that opens the stream says: given as it is, read from @FILE, or from stdin for -.
    Returns when the other side has received everything; whether it kept it, only a message of its own can say
    (--wait).
    """
    names = files or (STDIN,)
    if [*names, data].count(STDIN) > 1:
        raise BadInput("stdin can be used only once: for the data, or for one file")
    value = parse(data)
    where = connection(url, checksum, token, token_file)
    with ExitStack() as stack:
        opened = [stack.enter_context(open_input(name)) for name in names]
        if STDIN in names and sys.stdin.isatty():
            click.echo("reading from the terminal; Ctrl-D ends it", err=True)
        progress = stack.enter_context(progress_of(opened))
        inputs = [Input(file, progress.sent) for file in opened]
        run(_stream(where, endpoint, value, inputs, progress, wait=wait, timeout=timeout))


async def _stream(
    where: Mapping[str, Any],
    endpoint: str,
    data: Any,
    inputs: Sequence[Input],
    progress: Progress,
    *,
    wait: str | None,
    timeout: float,
) -> None:
    mine = Endpoints()
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    if wait is not None:
        mine.on(wait)(lambda call: _keep(answer, call))
    try:
        async with connect(**where, endpoints=mine) as peer:
            peer.closed.add_done_callback(lambda _: _stop(inputs))  # nobody is there to send to
            async with peer.stream(endpoint, data) as out:
                for key, source in enumerate(inputs):
                    await out.write(source, key=key)
                await _arrived(peer, timeout)  # if nobody reads it we know by now
            await _arrived(peer, timeout)
            progress.done()
            if wait is not None:
                click.echo(as_text(await _answer(answer, peer.closed, wait, timeout), indent=2))
    except StreamAborted:
        raise StreamAborted(f"{endpoint}: the other side does not take it, or no more of it") from None
    finally:
        _stop(inputs)


def _stop(inputs: Sequence[Input]) -> None:
    for source in inputs:
        source.stop()


async def _arrived(peer: Peer, timeout: float) -> None:
    """Wait until the other side has received everything before this."""
    try:
        await peer.ping(timeout=timeout)
    except RequestTimeout:
        raise RequestTimeout(f"all is sent, but the other side did not take it in {timeout:g} s") from None


def _keep(answer: "asyncio.Future[Any]", call: Call) -> None:
    if not answer.done():
        answer.set_result(call.data)


async def _answer(
    answer: "asyncio.Future[Any]", closed: "asyncio.Future[Any]", wait: str, timeout: float
) -> Any:
    await asyncio.wait([answer, closed], timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    if answer.done():
        return answer.result()
    if closed.done():
        raise closed.result()
    raise RequestTimeout(f"all is sent, but no message came to {wait} in {timeout:g} s")
