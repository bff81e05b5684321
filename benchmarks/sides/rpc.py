"""Our own proxy, worker and client of remote functions.

``serve`` is the proxy alone; ``serve journal`` writes down every message; ``gateway`` is a whole gateway,
whose MFP clients reach functions too. ``worker`` runs ``echo`` in a process, ``worker threads`` in a thread.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import uvloop

import framehub
from benchmarks.driving import Order, drive, obey, serve_at_once, serving
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings
from framehub.journal.writer import JournalWriter
from framehub.runtime.rpc_proxy import RpcProxy
from framehub.runtime.rpc_tap import RpcTap
from framehub.runtime.tap import Tap

FREE = "127.0.0.1:0"
worker = framehub.Worker(processes=1)


@worker.function(coders=("bytes", "bytes"))
def echo(data: bytes) -> bytes:
    return data


@worker.function
def echo_json(value: Any) -> Any:
    return value


@worker.function(coders=("arrow", "arrow"))
def total_arrow(rows: Any) -> Any:
    import pyarrow.compute as pc

    return {"total": pc.add(rows["a"], rows["b"])}


@worker.function
def total_json(a: list[float], b: list[float]) -> list[float]:
    return [x + y for x, y in zip(a, b, strict=True)]


@worker.function
def total_row(a: float, b: float) -> float:
    return a + b


async def proxy(*words: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        tap = RpcTap(Tap(JournalWriter(Path(folder)))) if "journal" in words else None
        ours = RpcProxy(clients=f"tcp://{FREE}", workers=f"tcp://{FREE}", tap=tap)
        await ours.start()
        await serving(f"{port_of(ours.clients_address)} {port_of(ours.workers_address)}")


async def gateway() -> None:
    settings = GatewaySettings(listen=FREE, services=None, clients=FREE, workers=FREE, journal=None)
    async with Gateway(settings) as ours:
        assert ours.functions is not None
        back = port_of(ours.functions.workers_address)
        await serving(f"{port_of(ours.url.removesuffix('/mfp'))} {back}")


def port_of(address: str) -> str:
    return address.rpartition(":")[2]


def work(port: str, *words: str) -> None:
    if "threads" in words:
        worker.processes, worker.threads = None, 1
    address = f"tcp://127.0.0.1:{port}"
    serve_at_once("working", lambda: uvloop.run(worker.serve(address, source="benchmarks.sides.rpc:worker")))


async def client(port: str) -> None:
    async with framehub.Functions(f"tcp://127.0.0.1:{port}") as functions:
        while not await functions.list():  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # the worker is on its way

        async def act(order: Order) -> dict[str, Any]:
            if "rows" in order:
                return await drive(columns(functions, order["as"], order["rows"]), order)
            payload = bytes(order["size"])

            async def call() -> None:
                assert len(await functions.call_bytes("echo", payload)) == len(payload)

            return await drive(call, order)

        await obey(act)


def columns(functions: framehub.Functions, way: str, rows: int) -> Any:
    """A call that adds two columns: as Arrow, as JSON, or row by row."""
    a, b = [n / 7 for n in range(rows)], [n / 3 for n in range(rows)]
    want = a[-1] + b[-1]
    if way == "arrow":
        import pyarrow as pa

        table = pa.table({"a": a, "b": b})

        async def call_arrow() -> None:
            assert (await functions.call("total_arrow", table))["total"][-1].as_py() == want

        return call_arrow

    async def call_json() -> None:
        assert (await functions.call("total_json", a, b))[-1] == want

    async def call_rows() -> None:
        found = await asyncio.gather(*(functions.call("total_row", *row) for row in zip(a, b, strict=True)))
        assert found[-1] == want

    return call_json if way == "json" else call_rows


async def mfp_client(port: str) -> None:
    """Calls ``echo_json`` over MFP, with as many bytes of data."""
    async with framehub.connect(f"ws://127.0.0.1:{port}/mfp") as peer:
        while (await peer.request("echo_json", "x", raise_on_error=False)).is_error:  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # the worker is on its way

        async def act(order: Order) -> dict[str, Any]:
            data = "x" * order["size"]

            async def call() -> None:
                await peer.request("echo_json", data)

            return await drive(call, order)

        await obey(act)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "worker":
        work(*words)
    elif what == "gateway":
        uvloop.run(gateway())
    elif what == "serve":
        uvloop.run(proxy(*words))
    else:
        uvloop.run(mfp_client(*words) if what == "mfp" else client(*words))
