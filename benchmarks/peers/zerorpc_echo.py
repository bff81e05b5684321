"""zerorpc: a server over TCP, without a proxy between; each call in flight is a greenlet."""

import sys
from time import perf_counter
from typing import Any

import gevent
import zerorpc

from benchmarks.driving import Order, obey_at_once, serve_at_once


class Echo:
    def echo(self, data: bytes) -> bytes:
        return data


def serve() -> None:
    server = zerorpc.Server(Echo(), heartbeat=None, pool_size=1_000)
    server.bind("tcp://127.0.0.1:*")
    address = server._events._socket.getsockopt_string(zerorpc.zmq.LAST_ENDPOINT)
    serve_at_once(address.rpartition(":")[2], server.run)


def client(port: str) -> None:
    peer = zerorpc.Client(f"tcp://127.0.0.1:{port}", heartbeat=None, timeout=60)
    assert peer.echo(b"hello") == b"hello"

    def act(order: Order) -> dict[str, Any]:
        data = bytes(order["size"])
        began = perf_counter()
        until = began + order["seconds"]
        done = 0

        def calls() -> None:
            nonlocal done
            while perf_counter() < until:
                peer.echo(data)
                done += 1

        gevent.joinall([gevent.spawn(calls) for _ in range(order["flight"])], raise_error=True)
        return {"calls": done, "seconds": perf_counter() - began}

    obey_at_once(act)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "serve":
        serve()
    else:
        client(*words)
