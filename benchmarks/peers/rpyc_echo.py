"""RPyC: a service over TCP, without a proxy between; calls in flight are its asynchronous ones."""

import sys
from collections import deque
from time import perf_counter
from typing import Any

import rpyc
from rpyc.utils.server import ThreadedServer

from benchmarks.driving import Order, obey_at_once, serve_at_once


class Echo(rpyc.Service):  # type: ignore[misc]
    def exposed_echo(self, data: bytes) -> bytes:
        return data


def serve() -> None:
    server = ThreadedServer(Echo, hostname="127.0.0.1", port=0)
    serve_at_once(str(server.port), server.start)


def client(port: str) -> None:
    connection = rpyc.connect("127.0.0.1", int(port))
    echo = connection.root.echo
    later = rpyc.async_(echo)
    assert echo(b"hello") == b"hello"

    def one_at_a_time(data: bytes, until: float) -> int:
        done = 0
        while perf_counter() < until:
            echo(data)
            done += 1
        return done

    def act(order: Order) -> dict[str, Any]:
        data, flight = bytes(order["size"]), order["flight"]
        began = perf_counter()
        until = began + order["seconds"]
        if flight == 1:
            return {"calls": one_at_a_time(data, until), "seconds": perf_counter() - began}
        waiting = deque(later(data) for _ in range(flight))
        done = 0
        while waiting:
            waiting.popleft().wait()
            done += 1
            if perf_counter() < until:
                waiting.append(later(data))
        return {"calls": done, "seconds": perf_counter() - began}

    obey_at_once(act)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "serve":
        serve()
    else:
        client(*words)
