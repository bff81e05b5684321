"""Bare ZeroMQ: C++ ``zmq.proxy`` between dealers, and clients and workers that do nothing but speak.

They speak one of three ways, all through pyzmq's calls in C:

- ``echo``: one part, sent back as it is.
- ``query``: QUERY and RESPONSE_RESULT as remote functions have them, and nothing acknowledged.
- ``acks``: the same with every acknowledgement, and the worker registered. That needs a proxy of remote
  functions, so these are also the client and the worker that any such proxy is measured with.

Who speaks knows that the other side is sound: parts are counted by type and not checked.
"""

import sys
from time import perf_counter
from typing import Any
from uuid import uuid4

import zmq
from zmq.backend import Socket as Backend

from benchmarks.driving import Order, obey_at_once, serve_at_once

MORE = int(zmq.SNDMORE)
NAME, CODER = b"echo", b"bytes"
QUERY, RESULT = b"QUERY", b"RESPONSE_RESULT"
QUERY_RECEIVED, RESPONSE_RECEIVED = b"QUERY_RECEIVED", b"RESPONSE_RECEIVED"
REGISTER = (b"WORKER_REGISTER", (1).to_bytes(4, "big"), NAME, CODER, CODER)
ID_BYTES = 16


def proxy() -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    front, back = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    ports = [one.bind_to_random_port("tcp://127.0.0.1") for one in (front, back)]
    serve_at_once("{} {}".format(*ports), lambda: zmq.proxy(front, back))


def dealer(port: str) -> tuple[zmq.Socket[bytes], Any, Any]:
    """A socket, and its ``recv`` and ``send``."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.set(zmq.IDENTITY, b"b" + uuid4().bytes[1:])
    socket.connect(f"tcp://127.0.0.1:{port}")
    return socket, Backend.recv.__get__(socket), Backend.send.__get__(socket)


# --- the worker --------------------------------------------------------------------------------------------


def worker(port: str, way: str) -> None:
    _socket, recv, send = dealer(port)
    works = {"echo": work_echo, "query": work_query, "acks": work_acks}
    if way == "acks":
        for part in REGISTER[:-1]:
            send(part, MORE)
        send(REGISTER[-1])
    serve_at_once("working", lambda: works[way](recv, send))


def work_echo(recv: Any, send: Any) -> None:
    while True:
        send(recv(), MORE)  # to whom
        send(recv())


def work_query(recv: Any, send: Any) -> None:
    while True:
        send(recv(), MORE)  # to whom
        recv()
        send(RESULT, MORE)
        send(recv(), MORE)
        send(recv())
        recv()


def work_acks(recv: Any, send: Any) -> None:
    while True:
        kind, number = recv(), recv()
        if kind != QUERY:
            continue  # the acknowledgement of a result
        argument = recv()
        recv()
        send(QUERY_RECEIVED, MORE)
        send(number)
        send(RESULT, MORE)
        send(number, MORE)
        send(argument)


# --- the client --------------------------------------------------------------------------------------------


def client(port: str, way: str) -> None:
    _socket, recv, send = dealer(port)
    asks = {"echo": ask_echo, "query": ask_query, "acks": ask_acks}
    ask, take = asks[way](recv, send)

    def act(order: Order) -> dict[str, Any]:
        """Keep ``flight`` calls going for ``seconds``, and wait for the last answers."""
        payload, flight = bytes(order["size"]), order["flight"]
        began = perf_counter()
        until = began + order["seconds"]
        for _ in range(flight):
            ask(payload)
        done = 0
        while perf_counter() < until:
            assert take() == len(payload)
            ask(payload)
            done += 1
        for _ in range(flight):
            take()
        return {"calls": done + flight, "seconds": perf_counter() - began}

    obey_at_once(act)


def ask_echo(recv: Any, send: Any) -> tuple[Any, Any]:
    return send, lambda: len(recv())


def asking(send: Any) -> Any:
    last = int.from_bytes(uuid4().bytes) >> 1

    def ask(payload: bytes) -> None:
        nonlocal last
        last += 1
        send(QUERY, MORE)
        send(last.to_bytes(ID_BYTES, "big"), MORE)
        send(payload, MORE)
        send(NAME)

    return ask


def ask_query(recv: Any, send: Any) -> tuple[Any, Any]:
    def take() -> int:
        recv()
        recv()
        return len(recv())

    return asking(send), take


def ask_acks(recv: Any, send: Any) -> tuple[Any, Any]:
    def take() -> int:
        while True:
            kind, number = recv(), recv()
            if kind == QUERY_RECEIVED:
                continue
            result = recv()
            if kind != RESULT:
                raise RuntimeError(f"{kind!r}: {result!r}")
            send(RESPONSE_RECEIVED, MORE)
            send(number)
            return len(result)

    return asking(send), take


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "proxy":
        proxy()
    elif what == "worker":
        worker(*words)
    else:
        client(*words)
