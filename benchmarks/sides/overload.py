"""A gateway with handlers and a worker that can only do so much, and clients that ask for more.

What is asked for takes its time by sleeping, so that what can be done in a second does not depend on the
machine. ``worker`` sleeps in two processes, the handlers in the gateway itself, where nothing else goes on
meanwhile. ``client`` asks at a rate, whatever has become of what it asked before: as crowds do.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from time import perf_counter
from typing import Any, Final

import uvloop

import framehub
from benchmarks.driving import Order, obey, serve_at_once, serving
from framehub.gateway.gateway import Gateway
from framehub.gateway.settings import GatewaySettings

FREE: Final = "127.0.0.1:0"
NAP: Final = 0.01
"""Seconds that the function takes."""
BLINK: Final = 0.005
"""Seconds that a handler takes, in which the gateway does nothing else."""
PROCESSES: Final = 2
FUNCTIONS: Final = ("mfp", "mfp_1", "mfp_10", "zmq", "zmq_1", "zmq_10")
"""All the same; what is known of one says nothing of another."""
CONNECTIONS: Final = 8

app = framehub.Endpoints()
worker = framehub.Worker(processes=PROCESSES)


def nap(number: int) -> int:
    time.sleep(NAP)
    return number


for name in FUNCTIONS:
    worker.function(name=name)(nap)


@app.on("blink")
def blink(call: framehub.Call) -> Any:
    time.sleep(BLINK)
    return call.data


@app.on("blink_later")
async def blink_later(call: framehub.Call) -> Any:
    time.sleep(BLINK)  # noqa: ASYNC251
    return call.data


async def gateway() -> None:
    settings = GatewaySettings(
        listen=FREE, services=None, clients=FREE, workers=FREE, journal=None, app=f"{__spec__.name}:app"
    )
    async with Gateway(settings) as ours:
        assert ours.functions is not None
        ports = [
            address.rpartition(":")[2]
            for address in (
                ours.url.removesuffix("/mfp"),
                ours.functions.clients_address,
                ours.functions.workers_address,
            )
        ]
        await serving(" ".join(ports))


def work(port: str) -> None:
    address = f"tcp://127.0.0.1:{port}"
    source = "benchmarks.sides.overload:worker"
    serve_at_once("working", lambda: uvloop.run(worker.serve(address, source=source)))


class Crowd:
    """Calls at a rate, and what became of them."""

    def __init__(self, calls: list[Callable[[int], Awaitable[Any]]]) -> None:
        self._calls = calls
        self.ends: Counter[str] = Counter()
        self.refused_after: list[float] = []
        self.answered_at: list[float] = []
        self.answered_after: list[float] = []

    async def one(self, number: int) -> None:
        began = perf_counter()
        try:
            await self._calls[number % len(self._calls)](number)
        except framehub.RemoteBusy:
            self._refused(began)
        except framehub.EndpointError as exc:
            if not isinstance(exc.value, dict) or exc.value.get("code") != "busy":
                raise
            self._refused(began)
        except (framehub.RemoteTimeout, framehub.RequestTimeout):
            self.ends["late"] += 1
        except framehub.ConnectionClosed:
            self.ends["cut off"] += 1
        except framehub.RequestAborted:
            self.ends["aborted"] += 1
        except framehub.LimitExceeded:
            self.ends["not sent"] += 1
        else:
            self.ends["answered"] += 1
            now = perf_counter()
            self.answered_at.append(now)
            self.answered_after.append(now - began)

    def _refused(self, began: float) -> None:
        self.ends["busy"] += 1
        self.refused_after.append(perf_counter() - began)

    async def at_rate(self, rate: float, seconds: float) -> dict[str, Any]:
        """Ask ``rate`` times a second."""
        running: set[asyncio.Task[None]] = set()
        began, asked = perf_counter(), 0
        while (passed := perf_counter() - began) < seconds:
            for asked in range(asked + 1, int(passed * rate) + 1):  # noqa: B020
                task = asyncio.create_task(self.one(asked))
                running.add(task)
                task.add_done_callback(running.discard)
            await asyncio.sleep(0.005)
        await asyncio.gather(*running)
        return {
            "asked": asked,
            "rate": self._rate(began, seconds),
            "ends": dict(self.ends),
            "refused_p50": at(self.refused_after, 0.5),
            "refused_p99": at(self.refused_after, 0.99),
            "answered_p50": at(self.answered_after, 0.5),
            "answered_p99": at(self.answered_after, 0.99),
        }

    async def in_turn(self, flight: int, seconds: float) -> dict[str, Any]:
        """Keep so many under way."""
        began = perf_counter()
        until = began + seconds

        async def on_and_on(first: int) -> None:
            number = first
            while perf_counter() < until:
                await self.one(number)
                number += flight

        await asyncio.gather(*(on_and_on(first) for first in range(flight)))
        return {"rate": self._rate(began, seconds), "ends": dict(self.ends)}

    def _rate(self, began: float, seconds: float) -> float:
        """Answers in a second; what came later does not count, whoever still waited for it."""
        return sum(at <= began + seconds for at in self.answered_at) / seconds


def at(values: list[float], part: float) -> float:
    return sorted(values)[int(len(values) * part)] if values else 0.0


async def client(mfp: str, zmq: str) -> None:
    async with AsyncExitStack() as stack:
        peers = [
            await stack.enter_async_context(framehub.connect(f"ws://127.0.0.1:{mfp}/mfp", reconnect=True))
            for _ in range(CONNECTIONS)
        ]
        functions = [
            await stack.enter_async_context(framehub.Functions(f"tcp://127.0.0.1:{zmq}"))
            for _ in range(CONNECTIONS)
        ]
        while not await functions[0].list():  # noqa: ASYNC110
            await asyncio.sleep(0.05)  # the worker is on its way

        def over_mfp(peer: Any, endpoint: str, timeout: float) -> Callable[[int], Awaitable[Any]]:
            return lambda number: peer.request(endpoint, number, timeout=timeout)

        def over_zmq(
            ours: framehub.Functions, function: str, timeout: float
        ) -> Callable[[int], Awaitable[Any]]:
            return lambda number: ours.call(function, number, timeout=timeout)

        async def act(order: Order) -> dict[str, Any]:
            if order["what"].startswith("zmq"):
                calls = [over_zmq(one, order["what"], order["timeout"]) for one in functions]
            else:
                calls = [over_mfp(one, order["what"], order["timeout"]) for one in peers]
            crowd = Crowd(calls)
            if "flight" in order:
                return await crowd.in_turn(order["flight"], order["seconds"])
            return await crowd.at_rate(order["at"], order["seconds"])

        await obey(act)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "worker":
        work(*words)
    else:
        uvloop.run(gateway() if what == "serve" else client(*words))
